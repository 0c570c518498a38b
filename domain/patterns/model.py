"""What a pattern is made of."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Values = Mapping[str, int | str]
ParameterKind = Literal["count", "memory", "choice"]
Operator = Literal["equals", "at-least"]


@dataclass(frozen=True, slots=True)
class Parameter:
    """Something that a tenant fills in.

    `count` is a whole number of devices, `memory` a quantity; both lie within `least` and `most`.
    `choice` is one of `choices`; when it is optional, "" leaves the terms that use it out.
    """

    name: str
    kind: ParameterKind
    default: int | str
    label: str = ""
    least: int | str = ""
    most: int | str = ""
    choices: tuple[str, ...] = ()
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Term:
    """One condition on a device: an attribute that equals, or a capacity that is at least.

    `key` is a fully qualified name such as gpu.nvidia.com/productName. Either `value` is fixed or
    `parameter` names what fills it.
    """

    op: Operator
    key: str
    value: str = ""
    parameter: str = ""


@dataclass(frozen=True, slots=True)
class Request:
    """Devices of one class, all in one claim. `count_parameter` overrides `count`."""

    name: str
    device_class: str
    count: int = 1
    count_parameter: str = ""
    terms: tuple[Term, ...] = ()


@dataclass(frozen=True, slots=True)
class NodeLabel:
    """A node label that stands for a term where devices are not published one by one.

    `equals` compares text as the label has it; `at-least` compares MiB, as GPU feature discovery
    writes nvidia.com/gpu.memory. `spelling` maps a parameter's choice to the label's own spelling.
    """

    op: Operator
    label: str
    value: str = ""
    parameter: str = ""
    spelling: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class DevicePlugin:
    """The same request on the device-plugin path: an extended resource and node labels.

    `resource_by_choice` picks the resource by the value of `parameter`, as MIG strategy mixed has
    one resource per profile.
    """

    resource: str = ""
    parameter: str = ""
    resource_by_choice: Mapping[str, str] | None = None
    node_labels: tuple[NodeLabel, ...] = ()


@dataclass(frozen=True, slots=True)
class Pattern:
    """`match_attributes` must be equal on all devices of a claim, such as the PCIe root."""

    parameters: tuple[Parameter, ...]
    requests: tuple[Request, ...]
    match_attributes: tuple[str, ...] = ()
    device_plugin: DevicePlugin | None = None

    def parameter(self, name: str) -> Parameter | None:
        return next((one for one in self.parameters if one.name == name), None)

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes it draws on, once each, in the order of its requests."""
        return tuple(dict.fromkeys(request.device_class for request in self.requests))
