"""Which optional parts of the allocator a scheduler runs with."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Literal, Self

Mode = Literal["first", "all", "sequence"]
Channel = Literal["stable", "incubating", "experimental"]


@dataclass(frozen=True, slots=True)
class Features:
    """One switch per control flow change of the upstream allocator, off unless stated.

    The names are those of the Go structure that the scheduler fills from its feature gates;
    `device_taint_rules` is the one that acts before the allocator (in the slice tracker), and
    `extended_resources` the one that acts around it.

    The `fixed_…` switches are off in every preset: the engine decides as the running release
    does, its faults included. On, they show what is right: "all devices" with an unfinished pool
    concerns one node (k/k#141898), a broken node selector concerns its slice (k/k#141214), and
    counters of a device that is in use but no longer published stay taken (k/k#140802).
    """

    admin_access: bool = False
    compatibility_groups: bool = False
    consumable_capacity: bool = False
    derived_attributes: bool = False
    device_binding_and_status: bool = False
    device_taints: bool = False
    device_taint_rules: bool = False
    fractional_capacity_range: bool = False
    list_type_attributes: bool = False
    optional_node_operations: bool = False
    partitionable_devices: bool = False
    prioritized_list: bool = False
    extended_resources: bool = False
    fixed_all_devices: bool = False
    fixed_node_selectors: bool = False
    fixed_vanished_devices: bool = False

    @classmethod
    def preset(cls, name: str) -> Self:
        """The defaults of a Kubernetes release ("1.34" … "1.37"), or "none", or "all".

        Raises ValueError for any other name.
        """
        if name not in _PRESETS:
            known = ", ".join(sorted(_PRESETS))
            raise ValueError(f"unknown feature preset {name!r}; known are {known}")
        return cls.from_names(_PRESETS[name])

    @classmethod
    def from_names(cls, names: Mapping[str, bool] | frozenset[str]) -> Self:
        """From field names as the Go structure spells them ("AdminAccess") or as here.

        Raises ValueError for a name that is no feature.
        """
        switched = names if isinstance(names, Mapping) else dict.fromkeys(names, True)
        unknown = sorted(set(switched) - set(_FIELD_OF))
        if unknown:
            raise ValueError(f"unknown feature {', '.join(unknown)}")
        return cls(**{_FIELD_OF[name]: bool(on) for name, on in switched.items()})

    def fixed(self) -> Self:
        """The same, without the known faults of the running release."""
        return replace(
            self,
            fixed_all_devices=True,
            fixed_node_selectors=True,
            fixed_vanished_devices=True,
        )

    @property
    def channel(self) -> Channel:
        """The upstream variant that a scheduler with these features runs: the first that can."""
        if self.list_type_attributes or self.derived_attributes or self.compatibility_groups:
            return "experimental"
        if self.optional_node_operations:
            return "experimental"
        if self.consumable_capacity or self.device_binding_and_status:
            return "incubating"
        return "incubating" if self.fractional_capacity_range else "stable"

    @property
    def knows_which_device(self) -> bool:
        """False where the running variant walks pools in random order.

        The stable variant iterates a Go map: it tells whether a claim fits, never which device
        it takes.
        """
        return self.channel != "stable"

    @property
    def knows_skipped_operations(self) -> bool:
        """Whether the running variant looks at `skipNodeOperations` at all, gate or no gate."""
        return self.channel == "experimental"


def _spelled(field: str) -> str:
    return "".join(part.capitalize() for part in field.split("_"))


_FIELD_OF = {_spelled(field.name): field.name for field in fields(Features)} | {
    field.name: field.name for field in fields(Features)
}
_BASE = frozenset({"admin_access", "prioritized_list"})
_BETA = frozenset(
    {
        "consumable_capacity",
        "device_binding_and_status",
        "device_taints",
        "extended_resources",
        "partitionable_devices",
    }
)
_PRESETS: dict[str, frozenset[str]] = {
    "none": frozenset(),
    "1.34": _BASE,
    "1.35": _BASE,
    "1.36": _BASE | _BETA,
    # Fractional ranges are on by default only where the minimum compatibility version is 1.37;
    # a scheduler keeps to that of the release before unless it is told otherwise.
    "1.37": _BASE | _BETA | {"device_taint_rules"},
    "all": frozenset(
        field.name for field in fields(Features) if not field.name.startswith("fixed_")
    ),
}

DEFAULT = Features.preset("1.37")
