"""Scenario files: fleet, tenants' workloads, traffic and timed faults as one YAML document."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from zlib import crc32

import yaml

from simulator.fleet.hardware import MODELS, CardModel
from simulator.fleet.serving.regression import PAGES, Regression
from simulator.fleet.settings import BadScenario, Table

FOLDER = Path(__file__).resolve().parent.parent / "scenarios"


@dataclass(frozen=True, slots=True)
class Sick:
    """A card with a fault. xid 0 stands for a card that fell off the bus."""

    card: int
    xid: int


@dataclass(frozen=True, slots=True)
class NodeSpec:
    """One machine. `layout` lists per card the MIG instances by profile; () is a whole card."""

    name: str
    model: CardModel
    cards: int
    allocation: str
    mig: str
    layout: tuple[tuple[str, ...], ...]
    replicas: int
    renamed: bool
    driver_version: str
    cuda_version: str
    dra_version: str
    plugin_version: str
    cpu: str
    memory: str
    pool: str
    labels: dict[str, str]
    sick: tuple[Sick, ...]

    @property
    def publishes_slices(self) -> bool:
        return self.allocation in {"dra", "both"}

    @property
    def has_plugin(self) -> bool:
        return self.allocation in {"device-plugin", "both"}


@dataclass(frozen=True, slots=True)
class Traffic:
    """Requests to every Service that matches; rates are per second and Service, at daily mean."""

    namespace: str
    service: str
    rate: float
    swing: float
    day_seconds: float
    prompt_tokens: int
    prompt_sigma: float
    output_tokens: int
    output_sigma: float
    prefixes: int
    prefix_tokens: int
    follow_ups: float


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that happens `at` seconds after the start and ends `lasts` later (0: stays)."""

    at: float
    lasts: float
    kind: str
    node: str
    card: int
    xid: int
    api: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Affliction:
    """A regression of the pods with these labels; `share` of them, chosen by their names."""

    namespace: str
    labels: dict[str, str]
    share: float
    regression: Regression

    def is_meant(self, namespace: str, name: str, labels: dict[str, str]) -> bool:
        if self.namespace not in ("*", namespace):
            return False
        if any(labels.get(key) != value for key, value in self.labels.items()):
            return False
        return self.share >= 1 or crc32(name.encode()) % 100 < self.share * 100


@dataclass(frozen=True, slots=True)
class Scenario:
    """`gateway` is NAMESPACE/NAME of a Gateway that carries requests; "": there is no Gateway API.
    `node_grace`: seconds without a Lease after which a node counts as lost."""

    name: str
    seed: int
    speed: float
    kubernetes: str
    node_grace: float
    nodes: tuple[NodeSpec, ...]
    manifests: tuple[dict[str, Any], ...]
    traffic: tuple[Traffic, ...]
    faults: tuple[Fault, ...]
    gateway: str = ""
    regressions: tuple[Affliction, ...] = ()

    def node(self, name: str) -> NodeSpec | None:
        return next((node for node in self.nodes if node.name == name), None)


def names() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def load(name: str, *, seed: int | None = None, speed: float | None = None) -> Scenario:
    """A scenario by name, or by the path of a file that ends in .yaml. Raises BadScenario."""
    path = Path(name) if name.endswith((".yaml", ".yml")) else FOLDER / f"{name}.yaml"
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise BadScenario(f"no scenario {name!r}; there are: {', '.join(names())}") from None
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise BadScenario(f"{path}: {error}") from None
    return parse(document, path.stem, seed=seed, speed=speed)


def parse(
    document: object, name: str, *, seed: int | None = None, speed: float | None = None
) -> Scenario:
    top = Table(document, name)
    top.text("description", "")
    scenario = Scenario(
        name=name,
        seed=_seed(top, seed),
        speed=top.number("speed", 1, least=0.01),
        kubernetes=top.text("kubernetes", "v1.37.2"),
        node_grace=top.seconds("node-grace", 40),
        nodes=tuple(node for table in top.tables("nodes") for node in _nodes(table)),
        manifests=tuple(_manifest(item, name) for item in top.raw("manifests", [])),
        traffic=tuple(_traffic(table) for table in top.tables("traffic")),
        faults=tuple(_fault(table) for table in top.tables("faults")),
        gateway=top.text("gateway", ""),
        regressions=tuple(_affliction(table) for table in top.tables("regressions")),
    )
    top.done()
    _check(scenario)
    if speed is not None:
        if speed <= 0:
            raise BadScenario(f"speed must be above 0, not {speed}")
        scenario = replace(scenario, speed=speed)
    return scenario


def _seed(top: Table, given: int | None) -> int:
    written = top.whole("seed", 1)
    return written if given is None else given


def _check(scenario: Scenario) -> None:
    seen: set[str] = set()
    for node in scenario.nodes:
        if node.name in seen:
            raise BadScenario(f"{scenario.name}: two nodes are called {node.name}")
        seen.add(node.name)
    for number, fault in enumerate(scenario.faults):
        if fault.node and fault.node not in seen:
            raise BadScenario(f"{scenario.name}.faults[{number}]: there is no node {fault.node}")


def _nodes(table: Table) -> list[NodeSpec]:
    """A table with `count: n` stands for n machines; `{n}` in its name counts from 1."""
    pattern, count = table.text("name"), table.whole("count", 1, least=1)
    if count > 1 and "{n}" not in pattern:
        raise BadScenario(f"{table.where}.name: with count {count} it needs {{n}}")
    spec = _node(table)
    table.done()
    return [_named(spec, pattern.replace("{n}", str(n))) for n in range(1, count + 1)]


def _named(spec: dict[str, Any], name: str) -> NodeSpec:
    return NodeSpec(name=name, **spec)


def _node(table: Table) -> dict[str, Any]:
    model = MODELS[table.text("model", among=tuple(MODELS))]
    cards = table.whole("cards", 1, least=1)
    mig = table.text("mig", "none", among=("none", "partitions", "mixed", "single"))
    if mig != "none" and not model.profiles:
        raise BadScenario(f"{table.where}.mig: {model.product} has no MIG")
    allocation = table.text("allocation", among=("dra", "device-plugin", "both", "none"))
    return {
        "model": model,
        "cards": cards,
        "allocation": allocation,
        "mig": mig,
        "layout": _layout(table, model, cards, mig),
        "replicas": table.whole("time-slices", 1, least=1),
        "renamed": table.flag("rename-shares", False),
        "driver_version": table.text("driver", "580.95.05"),
        "cuda_version": table.text("cuda", "13.0"),
        "dra_version": table.text("dra-driver", "v0.4.1"),
        "plugin_version": table.text("device-plugin", "v0.20.0"),
        "cpu": table.text("cpu", "64"),
        "memory": table.text("memory", "512Gi"),
        "pool": table.text("pool", ""),
        "labels": table.texts("labels"),
        "sick": tuple(_sick(item, cards) for item in table.tables("sick")),
    }


def _layout(table: Table, model: CardModel, cards: int, mig: str) -> tuple[tuple[str, ...], ...]:
    layout = table.raw("layout", [])
    if mig in {"none", "partitions"}:
        if layout:
            raise BadScenario(f"{table.where}.layout: only with mig mixed or single")
        return ((),) * cards
    if not isinstance(layout, list) or len(layout) != cards:
        raise BadScenario(f"{table.where}.layout: needs one list of profiles for each card")
    known = {profile.name for profile in model.profiles}
    for number, instances in enumerate(layout):
        unknown = [name for name in instances if name not in known]
        if unknown:
            raise BadScenario(
                f"{table.where}.layout[{number}]: {unknown[0]!r} is not one of "
                f"{', '.join(sorted(known))}"
            )
    return tuple(tuple(instances) for instances in layout)


def _sick(table: Table, cards: int) -> Sick:
    sick = Sick(card=table.whole("card"), xid=table.whole("xid", 79))
    table.done()
    if sick.card >= cards:
        raise BadScenario(f"{table.where}.card: the node has cards 0 to {cards - 1}")
    return sick


def _traffic(table: Table) -> Traffic:
    prompt, output = table.table("prompt", {}), table.table("output", {})
    prefix = table.table("prefixes", {})
    traffic = Traffic(
        namespace=table.text("namespace", "*"),
        service=table.text("service", "*"),
        rate=table.number("rate"),
        swing=min(table.number("swing", 0.5), 1.0),
        day_seconds=table.seconds("day", "1d") or 86400.0,
        prompt_tokens=prompt.whole("tokens", 600, least=1),
        prompt_sigma=prompt.number("sigma", 0.6),
        output_tokens=output.whole("tokens", 160, least=1),
        output_sigma=output.number("sigma", 0.7),
        prefixes=prefix.whole("count", 4, least=1),
        prefix_tokens=prefix.whole("tokens", 512),
        follow_ups=min(table.number("follow-ups", 0.3), 0.95),
    )
    for part in (prompt, output, prefix, table):
        part.done()
    return traffic


FAULTS = (
    "card-sick",
    "card-lost",
    "node-silent",
    "node-removed",
    "driver-down",
    "slices-half",
    "api",
)


def _fault(table: Table) -> Fault:
    kind = table.text("kind", among=FAULTS)
    fault = Fault(
        at=table.seconds("at"),
        lasts=table.seconds("for", 0),
        kind=kind,
        node=table.text("node", "" if kind == "api" else ...),
        card=table.whole("card", 0),
        xid=table.whole("xid", 79),
        api=dict(table.raw("fault", {})),
    )
    table.done()
    return fault


def _affliction(table: Table) -> Affliction:
    found = Affliction(
        namespace=table.text("namespace", "*"),
        labels=table.texts("labels"),
        share=min(table.number("share", 1.0), 1.0),
        regression=Regression(
            slow=table.number("slow", 1.0, least=0.01),
            errors=min(table.number("errors", 0.0), 1.0),
            cache=min(table.number("cache", 1.0), 1.0),
            metrics=table.text("metrics", PAGES[0], among=PAGES),
        ),
    )
    table.done()
    return found


def _manifest(item: object, where: str) -> dict[str, Any]:
    if not isinstance(item, dict) or not {"apiVersion", "kind", "metadata"} <= item.keys():
        raise BadScenario(f"{where}.manifests: each needs apiVersion, kind and metadata")
    return item
