"""The device plugin's side: extended resources of a node and who holds which of its devices."""

from dataclasses import dataclass

from simulator.fleet.cards import Card
from simulator.fleet.scenario import NodeSpec, Sick

_GPU = "nvidia.com/gpu"


@dataclass(frozen=True, slots=True)
class PluginDevice:
    """One schedulable unit: a card, a share of one (uuid::n) or a MIG instance."""

    resource: str
    device_id: str
    card: int
    memory_mib: int
    fraction: float


def plugin_devices(node: NodeSpec, cards: tuple[Card, ...]) -> list[PluginDevice]:
    return [device for card in cards for device in _of_card(node, card)]


def _of_card(node: NodeSpec, card: Card) -> list[PluginDevice]:
    if card.instances:
        return [
            PluginDevice(
                resource=_GPU
                if node.mig == "single"
                else f"nvidia.com/mig-{instance.profile.name.replace('+', '.')}",
                device_id=instance.uuid,
                card=card.index,
                memory_mib=instance.profile.memory_mib,
                fraction=instance.profile.multiprocessors / card.model.multiprocessors,
            )
            for instance in card.instances
        ]
    if node.replicas == 1:
        return [PluginDevice(_GPU, card.uuid, card.index, card.model.memory_mib, 1.0)]
    name = f"{_GPU}.shared" if node.renamed else _GPU
    return [
        # Time slices share the whole memory: nothing divides it, so each sees all of it.
        PluginDevice(
            name, f"{card.uuid}::{n}", card.index, card.model.memory_mib, 1 / node.replicas
        )
        for n in range(node.replicas)
    ]


def extended_resources(
    node: NodeSpec, cards: tuple[Card, ...], sick: dict[int, Sick]
) -> tuple[dict[str, str], dict[str, str]]:
    """capacity and allocatable; a sick card stays in the first and leaves the second."""
    if not node.has_plugin:
        return {}, {}
    capacity: dict[str, int] = {_GPU: 0}
    allocatable: dict[str, int] = {_GPU: 0}
    for device in plugin_devices(node, cards):
        capacity[device.resource] = capacity.get(device.resource, 0) + 1
        healthy = int(device.card not in sick)
        allocatable[device.resource] = allocatable.get(device.resource, 0) + healthy
    return (
        {name: str(count) for name, count in capacity.items()},
        {name: str(count) for name, count in allocatable.items()},
    )


class Holdings:
    """Which pod holds which device of one node, as the kubelet's device manager keeps it."""

    def __init__(self, devices: list[PluginDevice]) -> None:
        self._devices = devices
        self._held: dict[str, str] = {}

    def take(self, pod: str, wants: dict[str, int], sick: dict[int, Sick]) -> list[PluginDevice]:
        """The pod's devices; the same again when it holds some already.

        Shares spread over the cards, fewest holders first. Raises LookupError when too few are
        free, which is what the kubelet answers with UnexpectedAdmissionError.
        """
        mine = [device for device in self._devices if self._held.get(device.device_id) == pod]
        if mine:
            return mine
        for resource, count in wants.items():
            for _ in range(count):
                try:
                    mine.append(self._next(resource, sick))
                except LookupError:
                    self.release(pod)
                    raise
                self._held[mine[-1].device_id] = pod
        return mine

    def _next(self, resource: str, sick: dict[int, Sick]) -> PluginDevice:
        load: dict[int, int] = {}
        for device in self._devices:
            load[device.card] = load.get(device.card, 0) + (device.device_id in self._held)
        free = [
            device
            for device in self._devices
            if device.resource == resource
            and device.device_id not in self._held
            and device.card not in sick
        ]
        if not free:
            raise LookupError(resource)
        return min(free, key=lambda device: load[device.card])

    def adopt(self, pod: str, device_ids: set[str]) -> None:
        """What the pod held before this process started, as far as nobody else holds it now."""
        for device in self._devices:
            if device.device_id in device_ids:
                self._held.setdefault(device.device_id, pod)

    def release(self, pod: str) -> None:
        self._held = {device: holder for device, holder in self._held.items() if holder != pod}
