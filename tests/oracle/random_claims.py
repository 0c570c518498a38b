"""Random classes and claims for a random cluster."""

from typing import Any

from tests.oracle.cel_grammar import Grammar, Known
from tests.oracle.dice import Dice
from tests.oracle.random_fleet import MODELS, RandomFleet

Raw = dict[str, Any]
ALWAYS_PUBLISHED = ("model", "index")
"""By every device, so that a selector that reads nothing else cannot miss a key."""


class RandomClaims:
    """Selectors come half from the CEL grammar, half from what people really write."""

    def __init__(self, dice: Dice, fleet: RandomFleet) -> None:
        self.dice, self.fleet, self.extended = dice, fleet, fleet.extended
        self.driver_of = {f"class-{i}": name for i, name in enumerate(fleet.drivers)}
        self.classes = self._classes()

    def claims(self, count: int) -> list[Raw]:
        return [self._claim(i) for i in range(count)]

    def _classes(self) -> list[Raw]:
        found = []
        for name, driver in self.driver_of.items():
            selectors = [f'device.driver == "{driver}"']
            if self.dice.chance(0.2):
                selectors.append(self._expression(driver))
            spec: Raw = {"selectors": [{"cel": {"expression": text}} for text in selectors]}
            if self.dice.chance(0.2):
                spec["config"] = [self._config()]
            found.append({"metadata": {"name": name}, "spec": spec})
        return [*found, {"metadata": {"name": "any"}, "spec": {}}]

    def _expression(self, driver: str) -> str:
        if self.dice.odd(0.06):
            return self._failing(driver)
        if self.dice.chance(0.5):
            return self._usual(driver)
        known = _known(driver)
        if self.dice.chance(0.7):
            known = tuple(one for one in known if one.name in ALWAYS_PUBLISHED)
        grammar = Grammar(self.dice.rng, known, oddness=0.02 * self.dice.oddness)
        return grammar.boolean(self.dice.pick(1, 2, 2, 3))

    def _usual(self, driver: str) -> str:
        device = f'device.attributes["{driver}"]'
        memory = f'device.capacity["{driver}"].memory'
        model, index = self.dice.rng.choice(MODELS), self.dice.number(1, 4)
        options = (
            f'device.driver == "{driver}"',
            f'{device}.model == "{model}"',
            f'{device}.model in ["a100", "h100"]',
            f"{device}.index < {index}",
            f"{device}.?mig.orValue(false) == false",
            f"!has({device}.mig) || {device}.mig",
            f'"memory" in device.capacity["{driver}"] && {memory}.compareTo(quantity("40Gi")) >= 0',
            f'has({device}.driverVersion) && {device}.driverVersion.isGreaterThan(semver("1.9.0"))',
            f'{device}.model.lowerAscii().matches("^[ah]100$")',
            'device.attributes["resource.kubernetes.io"].?pcieRoot.orValue("") != "pci0000:00"',
            "device.allowMultipleAllocations != true",
            f'cel.bind(m, {device}, m.index >= 1 && m.model != "l4")',
            f'["a100", "l4"].exists(x, x == {device}.model)',
            "true",
        )
        text: str = self.dice.pick(*options)
        return "false" if self.dice.odd(0.05) else text

    def _failing(self, driver: str) -> str:
        device = f'device.attributes["{driver}"]'
        text: str = self.dice.pick(
            f"{device}.nosuch == 1",
            f"{device}.mig",
            f"{device}.model > 3",
            f'device.capacity["{driver}"].memory.isGreaterThan(quantity("1Gi"))',
            f"{device}.driverVersion.major() >= 2",
            'device.attributes["other.example"].x == "y"',
            f"{device}.index",
        )
        return text

    def _selectors(self, driver: str, likely: float) -> Raw:
        if not self.dice.chance(likely):
            return {}
        texts = [self._expression(driver) for _ in range(self.dice.number(1, 2))]
        return {"selectors": [{"cel": {"expression": text}} for text in texts]}

    def _config(self) -> Raw:
        parameters = {"mode": self.dice.pick("x", "y")}
        return {"opaque": {"driver": self.fleet.drivers[0], "parameters": parameters}}

    def _claim(self, i: int) -> Raw:
        requests: list[Raw] = []
        names: list[str] = []
        for k in range(self.dice.weighted((1, 2, 3), (6, 3, 1))):
            names.append(f"r{k}")
            if self.dice.chance(0.22):
                alternatives = [
                    {"name": f"s{j}", **self._ask(alternative=True)}
                    for j in range(self.dice.number(1, 3))
                ]
                requests.append({"name": f"r{k}", "firstAvailable": alternatives})
                names += [f"r{k}/s{j}" for j in range(len(alternatives))]
            else:
                requests.append({"name": f"r{k}", "exactly": self._ask(alternative=False)})
        devices: Raw = {"requests": requests}
        if self.dice.chance(0.4):
            devices["constraints"] = [self._constraint(requests, names)]
        if self.dice.chance(0.15):
            refs = {"requests": self._refs(names)} if self.dice.chance(0.6) else {}
            devices["config"] = [{**self._config(), **refs}]
        meta = {"namespace": "default", "name": f"claim-{i}", "uid": f"uid-{i}"}
        return {"metadata": meta, "spec": {"devices": devices}}

    def _ask(self, *, alternative: bool) -> Raw:
        dice, classes = self.dice, [*self.driver_of, "any"]
        weights = [5] * len(self.driver_of) + [1]
        name = "gone" if dice.odd(0.025) else dice.weighted(classes, weights)
        driver = self.driver_of.get(name, self.fleet.drivers[0])
        found: Raw = {"deviceClassName": name, **self._selectors(driver, 0.4)}
        if dice.chance(0.15):
            found["allocationMode"] = "All"
        else:
            count = dice.weighted((1, 2, 3, 4, 6), (10, 4, 2, 1, 1))
            found |= {"allocationMode": "ExactCount", "count": count}
        if not alternative and dice.chance(0.06):
            found["adminAccess"] = True
        if dice.chance(0.25):
            found["tolerations"] = [self._toleration()]
        if dice.chance(0.2):
            names = ("nosuch",) if dice.odd(0.1) else ("memory", "memory", "bw", "share")
            amount = dice.pick("1Gi", "3Gi", "1536Mi", "8Gi", "5", "300m", "750m")
            found["capacity"] = {"requests": {dice.pick(*names): amount}}
        return found

    def _toleration(self) -> Raw:
        found: Raw = self.dice.pick(
            {"operator": "Exists"},
            {"key": "bad", "operator": "Exists"},
            {"key": "slow", "operator": "Equal", "value": "x", "effect": "NoSchedule"},
            {"key": "ruled", "operator": "Exists", "effect": "NoSchedule"},
            {"key": "bad", "value": "y"},
        )
        return found

    def _constraint(self, requests: list[Raw], names: list[str]) -> Raw:
        driver = self.fleet.drivers[0]
        known = [
            "resource.kubernetes.io/pcieRoot",
            f"{driver}/model",
            f"{driver}/index",
            "example.com/group",
            f"{driver}/driverVersion",
        ]
        if self.extended:
            known += ["example.com/links"] * 3 + ["example.com/levels"]
        attribute = self.dice.rng.choice(known)
        if self.extended and self.dice.chance(0.3):
            attribute = "derived.example/value"
            for request in requests:
                for ask in request.get("firstAvailable") or [request["exactly"]]:
                    ask["derivedAttributes"] = [
                        {"name": attribute, "expression": self._derived(driver)}
                    ]
        kind = "matchAttribute" if self.dice.chance(0.65) else "distinctAttribute"
        refs = {"requests": self._refs(names)} if self.dice.chance(0.5) else {}
        return {kind: attribute, **refs}

    def _derived(self, driver: str) -> str:
        device = f'device.attributes["{driver}"]'
        text: str = self.dice.pick(
            "device.driver",
            f'{device}.?model.orValue("")',
            f"{device}.?index.orValue(0) / 2",
            f'["x", {device}.?model.orValue("none")]',
            f"{device}.?mig.orValue(false)",
            f"{device}.nosuch" if self.dice.odd(0.2) else "1 + 1",
        )
        return text

    def _refs(self, names: list[str]) -> list[str]:
        """A request and one of its alternatives may not be named together."""
        picked = self.dice.some(names, 1, 2)
        return [one for one in picked if "/" not in one or one.split("/")[0] not in picked]


def _known(driver: str) -> tuple[Known, ...]:
    return (
        Known(driver, "model", "string"),
        Known(driver, "index", "int"),
        Known(driver, "mig", "bool"),
        Known(driver, "driverVersion", "version"),
        Known("resource.kubernetes.io", "pcieRoot", "string"),
        Known("example.com", "group", "int"),
        Known("example.com", "links", "strings"),
        Known(driver, "memory", "quantity", "capacity"),
    )
