"""Derived attributes of a request (KEP-6080): values computed per device for constraints."""

from dataclasses import dataclass, field

from domain.placement.cel import CompileFailure, SelectorError, Unsupported, compile_derived
from domain.placement.cel.errors import NO_SUCH_KEY_HINT
from domain.placement.claims import Request
from domain.placement.devices import Attribute, Device, DeviceID
from domain.placement.faults import Fatal, Unknown


@dataclass(slots=True)
class Attributes:
    """Looks attributes up: what a request derives comes before what the driver publishes."""

    known: dict[tuple[DeviceID, str], Attribute] = field(default_factory=dict)

    def lookup(self, request: Request, device: Device, name: str) -> Attribute | None:
        """Raises Fatal if an expression fails, or Unknown."""
        for derived, expression in request.derived:
            if derived == name:
                return self._derive(device, name, expression)
        return device.attribute(name)

    def _derive(self, device: Device, name: str, expression: str) -> Attribute:
        key = (device.id, expression)
        found = self.known.get(key)
        if found is None:
            found = self.known[key] = _evaluate(device, name, expression)
        return found


def _evaluate(device: Device, name: str, expression: str) -> Attribute:
    program = compile_derived(expression)
    if isinstance(program, CompileFailure):
        raise Fatal(f"compile derived attribute {name} failed: {program.message}")
    if isinstance(program, Unsupported):
        raise Unknown(f"derived attribute {name}: {program.reason}")
    try:
        kind, value = program.evaluate(device.view)
    except SelectorError as problem:
        # Upstream gives its hint about missing keys for selectors only.
        text = problem.message.removesuffix(NO_SUCH_KEY_HINT)
        raise Fatal(
            f"evaluate derived attribute {name} on device {device.id} failed: {text}"
        ) from problem
    return Attribute(kind, value)
