"""One node's hardware and what the kubelet remembers of it; no API in here."""

from collections.abc import Mapping
from dataclasses import replace

from simulator.fleet.cards import Card, cards_of, partitions
from simulator.fleet.labels import DEPLOY_DRA, DEPLOY_PLUGIN
from simulator.fleet.plugin import Holdings, PluginDevice, extended_resources, plugin_devices
from simulator.fleet.programs import Held
from simulator.fleet.scenario import NodeSpec, Sick
from simulator.fleet.serving.model import Share
from simulator.fleet.slices import DRIVER
from simulator.fleet.troubles import CARD_KINDS, Trouble


class Machine:
    """`silent`: the kubelet does nothing. `driver_down`: the DRA driver's plugin is not there."""

    def __init__(self, seed: int, spec: NodeSpec, number: int) -> None:
        self.spec = spec
        self.name = spec.name
        self.number = number
        self.cards: tuple[Card, ...] = cards_of(seed, spec)
        self.removed = False
        self._troubles: dict[str, frozenset[Trouble]] = {
            "hardware": frozenset(Trouble("card-sick", s.card, s.xid) for s in spec.sick)
        }
        self.sick: dict[int, Sick] = {}
        self._kinds: set[str] = set()
        self._judge()
        self.holdings = Holdings(plugin_devices(spec, self.cards))
        self.images: set[str] = set()
        self._models: set[str] = set()
        self._memory: dict[str, dict[str, int]] = {}
        self._addresses: set[str] = set()
        self._devices = self._index()

    def troubles(self, source: str) -> frozenset[Trouble]:
        return self._troubles.get(source, frozenset())

    def suffer(self, source: str, troubles: frozenset[Trouble]) -> bool:
        """All that `source` says is wrong from now on; whether that is anything new."""
        if troubles == self.troubles(source):
            return False
        self._troubles[source] = troubles
        self._judge()
        return True

    def deploy(self, labels: Mapping[str, str]) -> bool:
        """Run the drivers that the node's labels say, missing ones as they are; whether that is
        anything new."""
        plugin = labels.get(DEPLOY_PLUGIN, str(self.spec.has_plugin).lower()) == "true"
        dra = labels.get(DEPLOY_DRA, str(self.spec.publishes_slices).lower()) == "true"
        if (plugin, dra) == (self.spec.has_plugin, self.spec.publishes_slices):
            return False
        allocation = {(True, True): "both", (True, False): "device-plugin", (False, True): "dra"}
        self.spec = replace(self.spec, allocation=allocation.get((plugin, dra), "none"))
        return True

    def _judge(self) -> None:
        every = frozenset[Trouble]().union(*self._troubles.values())
        self.sick = {t.card: Sick(t.card, t.xid) for t in every if t.kind in CARD_KINDS}
        self._kinds = {t.kind for t in every}

    @property
    def silent(self) -> bool:
        return "node-silent" in self._kinds

    @property
    def driver_down(self) -> bool:
        return "driver-down" in self._kinds

    @property
    def half_published(self) -> bool:
        return "slices-half" in self._kinds

    @property
    def address(self) -> str:
        return f"10.0.{self.number // 200}.{10 + self.number % 200}"

    @property
    def pod_network(self) -> str:
        """The first three numbers of its pods' addresses: 10.244.0 for the first node."""
        return f"10.{244 + self.number // 256}.{self.number % 256}"

    def pod_address(self) -> str:
        """A free one of the node's /24; the numbers of ended pods come round again."""
        for last in range(2, 255):
            address = f"{self.pod_network}.{last}"
            if address not in self._addresses:
                self._addresses.add(address)
                return address
        raise LookupError(f"{self.name} has no pod address left")

    def adopt_address(self, address: str) -> None:
        self._addresses.add(address)

    def free_address(self, address: str) -> None:
        self._addresses.discard(address)

    def resources(self) -> tuple[dict[str, str], dict[str, str]]:
        """capacity and allocatable."""
        base = {
            "cpu": self.spec.cpu,
            "memory": self.spec.memory,
            "ephemeral-storage": "3500Gi",
            "pods": "110",
        }
        capacity, allocatable = extended_resources(self.spec, self.cards, self.sick)
        return base | capacity, base | allocatable

    def held(self, driver: str, pool: str, device: str) -> Held | None:
        """What an allocated device gives a container; None when this node has no such device."""
        return self._devices.get(device) if (driver, pool) == (DRIVER, self.name) else None

    def plugin_held(self, device: PluginDevice) -> Held:
        model = self.spec.model
        share = Share(
            device.memory_mib,
            model.tflops * device.fraction,
            model.bandwidth_gbps * device.fraction,
        )
        return Held(device.device_id.partition("::")[0], share)

    def is_healthy(self, device: str) -> bool:
        """By the device's name in its pool, or the id that the plugin gives."""
        for card in self.cards:
            mine = {card.uuid, *(instance.uuid for instance in card.instances)}
            name = device.partition("-mig-")[0]
            if name == card.name or device.partition("::")[0] in mine:
                return card.index not in self.sick
        return False

    def _index(self) -> dict[str, Held]:
        devices: dict[str, Held] = {}
        for card in self.cards:
            model = card.model
            whole = Share(model.memory_mib, model.tflops, model.bandwidth_gbps)
            devices[card.name] = Held(card.uuid, whole)
            instances = card.instances or (
                partitions(card) if self.spec.mig == "partitions" else ()
            )
            for instance in instances:
                compute = instance.profile.multiprocessors / model.multiprocessors
                share = Share(
                    instance.profile.memory_mib,
                    model.tflops * compute,
                    model.bandwidth_gbps * instance.profile.size / 8,
                )
                name = instance.name(card)
                devices[name] = Held(f"{card.uuid}/{name}", share)
        return devices

    # The memory of cards, for programs.

    def take(self, device: str, owner: str, mib: int, total: int) -> int:
        """0 when taken; otherwise the MiB that are free and too few."""
        holders = self._memory.setdefault(device, {})
        free = total - sum(used for holder, used in holders.items() if holder != owner)
        if mib > free:
            return max(free, 1)
        holders[owner] = mib
        return 0

    def release(self, owner: str) -> None:
        for holders in self._memory.values():
            holders.pop(owner, None)

    def downloaded(self, model: str) -> bool:
        known = model in self._models
        self._models.add(model)
        return known
