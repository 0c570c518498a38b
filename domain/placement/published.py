"""Reads what drivers and administrators publish: slices, taint rules, nodes."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from domain.placement.cel.device import DeviceView
from domain.placement.devices import (
    Attribute,
    Capacity,
    CounterSet,
    CounterUse,
    Device,
    DeviceID,
    Node,
    PoolID,
    Reach,
    RequestPolicy,
    Slice,
    Taint,
    TaintRule,
)
from domain.placement.faults import Malformed
from domain.placement.nodeselectors import NodeSelector, Requirement, Term
from domain.placement.reading import (
    Raw,
    amount,
    each,
    flag,
    named,
    number,
    optional_amount,
    required,
    rows,
    table,
    text,
    texts,
)

# Read in this order, as upstream does: the first field that is set decides.
ATTRIBUTE_KINDS = ("ints", "bools", "strings", "versions", "int", "bool", "string", "version")

_PLAIN_KINDS: dict[str, type] = {"string": str, "version": str, "int": int, "bool": bool}
_PLAIN_DEVICE = frozenset({"name", "attributes", "capacity"})


def read_slice(raw: Raw) -> Slice:
    name = named(raw)[1]
    spec = table(raw.get("spec"), "spec")
    pool = table(spec.get("pool"), "spec.pool")
    pool_id = PoolID(required(spec, "driver", "spec"), required(pool, "name", "spec.pool"))

    def device(entry: Raw, path: str) -> Device:
        return _device(entry, path, pool_id)

    return Slice(
        name=name,
        pool=pool_id,
        generation=number(pool.get("generation"), "spec.pool.generation"),
        slice_count=number(pool.get("resourceSliceCount"), "spec.pool.resourceSliceCount"),
        reach=_reach(spec, "spec"),
        per_device=flag(spec.get("perDeviceNodeSelection"), "spec.perDeviceNodeSelection"),
        devices=each(spec.get("devices"), "spec.devices", device),
        counter_sets=each(spec.get("sharedCounters"), "spec.sharedCounters", _counter_set),
        skipped_operations=texts(spec.get("skipNodeOperations"), "spec.skipNodeOperations"),
    )


def read_taint_rule(raw: Raw) -> TaintRule:
    name = named(raw)[1]
    spec = table(raw.get("spec"), "spec")
    selector = spec.get("deviceSelector")
    wanted = table(selector, "spec.deviceSelector")
    return TaintRule(
        name=name,
        taint=_taint(table(spec.get("taint"), "spec.taint"), "spec.taint"),
        selects=selector is not None,
        driver=_optional(wanted, "driver"),
        pool=_optional(wanted, "pool"),
        device=_optional(wanted, "device"),
    )


def read_node(raw: Raw) -> Node:
    meta = table(raw.get("metadata"), "metadata")
    labels = table(meta.get("labels"), "metadata.labels")
    status = table(raw.get("status"), "status")
    return Node(
        name=named(raw)[1],
        labels={key: text(value, f"metadata.labels.{key}") for key, value in labels.items()},
        declared_features=frozenset(
            texts(status.get("declaredFeatures"), "status.declaredFeatures")
        ),
        raw=raw,
    )


def read_node_selector(raw: object, path: str) -> NodeSelector | None:
    if raw is None:
        return None
    terms = table(raw, path).get("nodeSelectorTerms")
    return NodeSelector(each(terms, f"{path}.nodeSelectorTerms", read_term))


def read_term(raw: Raw, path: str) -> Term:
    return Term(
        expressions=each(raw.get("matchExpressions"), f"{path}.matchExpressions", _requirement),
        fields=each(raw.get("matchFields"), f"{path}.matchFields", _requirement),
    )


def _requirement(raw: Raw, path: str) -> Requirement:
    return Requirement(
        key=text(raw.get("key"), f"{path}.key"),
        operator=text(raw.get("operator"), f"{path}.operator"),
        values=texts(raw.get("values"), f"{path}.values"),
    )


def _reach(raw: Raw, path: str) -> Reach:
    return Reach(
        node_name=text(raw.get("nodeName"), f"{path}.nodeName"),
        all_nodes=bool(flag(raw.get("allNodes"), f"{path}.allNodes")),
        selector=read_node_selector(raw.get("nodeSelector"), f"{path}.nodeSelector"),
    )


def _device(raw: Raw, path: str, pool: PoolID) -> Device:
    device_id = DeviceID(*pool, required(raw, "name", path))
    view = DeviceView(pool.driver, raw)
    attributes = _attributes(raw.get("attributes"), path)
    capacity = _capacities(raw.get("capacity"), path)
    if raw.keys() <= _PLAIN_DEVICE:
        return Device(device_id, view, attributes, capacity)
    shared = flag(raw.get("allowMultipleAllocations"), f"{path}.allowMultipleAllocations")
    return Device(
        id=device_id,
        view=view,
        attributes=attributes,
        capacity=capacity,
        shared=shared,
        consumes=each(raw.get("consumesCounters"), f"{path}.consumesCounters", _counter_use),
        taints=each(raw.get("taints"), f"{path}.taints", _taint),
        reach=_reach(raw, path),
        binds_to_node=bool(flag(raw.get("bindsToNode"), f"{path}.bindsToNode")),
        binding_conditions=texts(raw.get("bindingConditions"), f"{path}.bindingConditions"),
        binding_failure_conditions=texts(
            raw.get("bindingFailureConditions"), f"{path}.bindingFailureConditions"
        ),
    )


def _attributes(raw: object, path: str) -> dict[str, Attribute]:
    """A fleet has a million of them, so the common form is read without naming where it stands."""
    return {
        name: _plain_attribute(value)
        or _attribute(table(value, f"{path}.attributes.{name}"), f"{path}.attributes.{name}")
        for name, value in table(raw, f"{path}.attributes").items()
    }


def _plain_attribute(raw: object) -> Attribute | None:
    """One value of the type that its kind says; None for anything else."""
    if type(raw) is not dict or len(raw) != 1:
        return None
    ((kind, value),) = raw.items()
    return Attribute(kind, value) if _PLAIN_KINDS.get(kind) is type(value) else None


def _capacities(raw: object, path: str) -> dict[str, Capacity]:
    return {
        name: _plain_capacity(value)
        or _capacity(table(value, f"{path}.capacity.{name}"), f"{path}.capacity.{name}")
        for name, value in table(raw, f"{path}.capacity").items()
    }


def _plain_capacity(raw: object) -> Capacity | None:
    """A value without a policy; None for anything else."""
    if type(raw) is not dict or len(raw) != 1 or type(raw.get("value")) is not str:
        return None
    return _known_capacity(raw["value"])


@lru_cache(maxsize=4096)
def _known_capacity(value: str) -> Capacity | None:
    try:
        return Capacity(amount(value, ""))
    except Malformed:
        return None


def _attribute(raw: Raw, path: str) -> Attribute:
    for kind in ATTRIBUTE_KINDS:
        if raw.get(kind) is not None:
            return Attribute(kind, _attribute_value(kind, raw[kind], f"{path}.{kind}"))
    return Attribute("", None)


def _attribute_value(kind: str, raw: Any, path: str) -> Any:
    if kind.endswith("s"):
        values = rows(raw, path)
        return tuple(_attribute_value(kind[:-1], item, path) for item in values)
    if kind == "bool":
        return bool(flag(raw, path))
    return number(raw, path) if kind == "int" else text(raw, path)


def _capacity(raw: Raw, path: str) -> Capacity:
    policy = raw.get("requestPolicy")
    return Capacity(
        value=amount(raw.get("value"), f"{path}.value"),
        policy=None
        if policy is None
        else _policy(table(policy, f"{path}.requestPolicy"), f"{path}.requestPolicy"),
    )


def _policy(raw: Raw, path: str) -> RequestPolicy:
    valid_range = raw.get("validRange")
    bounds = table(valid_range, f"{path}.validRange")
    values = rows(raw.get("validValues"), f"{path}.validValues")
    step = optional_amount(bounds.get("step"), f"{path}.validRange.step")
    if step is not None and step.nanos <= 0:
        raise Malformed(f"{path}.validRange.step: must be above zero")
    return RequestPolicy(
        default=optional_amount(raw.get("default"), f"{path}.default"),
        valid_values=tuple(amount(value, f"{path}.validValues") for value in values),
        has_range=valid_range is not None,
        minimum=optional_amount(bounds.get("min"), f"{path}.validRange.min"),
        maximum=optional_amount(bounds.get("max"), f"{path}.validRange.max"),
        step=step,
    )


def _counters(raw: object, path: str) -> dict[str, int]:
    return {
        name: amount(table(counter, f"{path}.{name}").get("value"), f"{path}.{name}.value").nanos
        for name, counter in table(raw, path).items()
    }


def _counter_use(raw: Raw, path: str) -> CounterUse:
    return CounterUse(
        counter_set=required(raw, "counterSet", path),
        counters=_counters(raw.get("counters"), f"{path}.counters"),
        groups=frozenset(texts(raw.get("compatibilityGroups"), f"{path}.compatibilityGroups")),
    )


def _counter_set(raw: Raw, path: str) -> CounterSet:
    return CounterSet(
        name=required(raw, "name", path),
        counters=_counters(raw.get("counters"), f"{path}.counters"),
    )


def _taint(raw: Raw, path: str) -> Taint:
    return Taint(
        key=text(raw.get("key"), f"{path}.key"),
        value=text(raw.get("value"), f"{path}.value"),
        effect=text(raw.get("effect"), f"{path}.effect"),
    )


def _optional(raw: Mapping[str, Any], key: str) -> str | None:
    found = raw.get(key)
    if found is not None and not isinstance(found, str):
        raise Malformed(f"spec.deviceSelector.{key}: must be text")
    return found
