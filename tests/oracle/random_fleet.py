"""Random clusters: what drivers publish, what administrators taint, what is in use already.

Every object stays within what the API server checks; odd is only what it cannot check: stale or
incomplete pools, unknown counter sets, duplicate names, devices that are allocated but gone.
"""

from dataclasses import dataclass, field
from typing import Any

from tests.oracle.dice import Dice

Raw = dict[str, Any]
DRIVERS = ("gpu.example.com", "nic.example.com", "dev.acme.io")
MODELS = ("a100", "h100", "l4")
TAINTED_AT = "2026-11-01T00:00:00Z"


@dataclass(slots=True)
class KnownPool:
    driver: str
    name: str
    devices: list[Raw] = field(default_factory=list)


class RandomFleet:
    """`extended` adds what only alpha features read; `size` bounds the devices of a slice."""

    def __init__(
        self, dice: Dice, *, extended: bool, size: int, most_nodes: int, pools: int
    ) -> None:
        self.dice, self.extended, self.size = dice, extended, size
        self.nodes = [self._node(i) for i in range(dice.number(1, most_nodes))]
        self.names = [one["metadata"]["name"] for one in self.nodes]
        self.drivers: list[str] = dice.some(DRIVERS, 1, 2)
        self.pools: list[KnownPool] = []
        self.slices = [one for i in range(pools) for one in self._pool(i)]
        dice.rng.shuffle(self.slices)
        self.taint_rules = [self._rule(i) for i in range(dice.weighted((0, 1, 2), (90, 8, 2)))]

    def _node(self, i: int) -> Raw:
        labels = {"zone": f"z{i % 2}", "kubernetes.io/hostname": f"node-{i}", "size": str(i)}
        if self.dice.chance(0.5):
            labels["rack"] = "r1"
        found: Raw = {"metadata": {"name": f"node-{i}", "labels": labels}}
        if self.extended and self.dice.chance(0.7):
            found["status"] = {"declaredFeatures": ["DRAOptionalNodeOperations"]}
        return found

    def _selector(self) -> Raw:
        expression = self.dice.pick(
            {"key": "zone", "operator": "In", "values": self.dice.some(("z0", "z1"), 1)},
            {"key": "rack", "operator": "Exists"},
            {"key": "rack", "operator": "DoesNotExist"},
            {"key": "zone", "operator": "NotIn", "values": ["z0"]},
            {"key": "size", "operator": "Gt", "values": ["0"]},
            {"key": "size", "operator": "Lt", "values": ["2"]},
        )
        term: Raw = {"matchExpressions": [expression]}
        if self.dice.chance(0.15):
            name = self.dice.rng.choice(self.names)
            fields = {"key": "metadata.name", "operator": "NotIn", "values": [name]}
            term = {"matchFields": [fields]} | (term if self.dice.chance(0.5) else {})
        return {"nodeSelectorTerms": [term]}

    def _target(self) -> Raw:
        kind = self.dice.weighted(("nodeName", "allNodes", "nodeSelector"), (7, 3, 2))
        if kind == "nodeName":
            return {kind: self.dice.rng.choice(self.names)}
        return {kind: True if kind == "allNodes" else self._selector()}

    def _pool(self, i: int) -> list[Raw]:
        dice = self.dice
        pool = KnownPool(dice.rng.choice(self.drivers), self._pool_name(i))
        per_device = dice.chance(0.12)
        scope = {"perDeviceNodeSelection": True} if per_device else self._target()
        several_nodes = not per_device and dice.chance(0.1)
        counters = self._counter_sets() if dice.chance(0.25) else {}
        shared = dice.chance(0.25)
        bodies = []
        for _ in range(dice.weighted((1, 2, 3), (6, 3, 1))):
            least = 0 if dice.odd(0.1) else 1
            devices = [
                self._device(f"dev-{len(pool.devices) + j}", counters, shared, per_device)
                for j in range(dice.number(least, self.size))
            ]
            pool.devices += devices
            bodies.append((self._target() if several_nodes else scope, {"devices": devices}))
        if counters:
            bodies.append((scope, {"sharedCounters": _shared_counters(counters)}))
        self.pools.append(pool)
        return self._slices(i, pool, bodies, per_device)

    def _pool_name(self, i: int) -> str:
        name: str = self.dice.pick(f"pool-{i}", f"pool-{i}", self.dice.rng.choice(self.names))
        return f"pool-{i}" if any(name == pool.name for pool in self.pools) else name

    def _counter_sets(self) -> dict[str, dict[str, int]]:
        return {
            f"set-{i}": {
                name: self.dice.pick(2, 4, 8) for name in self.dice.some(("slots", "mem"), 1)
            }
            for i in range(self.dice.number(1, 2))
        }

    def _slices(
        self, i: int, pool: KnownPool, bodies: list[tuple[Raw, Raw]], per_device: bool
    ) -> list[Raw]:
        dice, generation = self.dice, self.dice.pick(1, 1, 1, 7)
        count = len(bodies) + (1 if dice.odd(0.08) else 0)  # the driver still publishes
        if dice.odd(0.04) and all(body.get("devices") for _, body in bodies[:2]) and bodies[1:]:
            bodies[1][1]["devices"][0]["name"] = bodies[0][1]["devices"][0]["name"]
        prefix = f"{pool.driver[:3]}-{i}"
        found = [
            _slice(f"{prefix}-{k}-g{generation}", pool, generation, count, scope, body)
            for k, (scope, body) in enumerate(bodies)
        ]
        if self.extended and dice.chance(0.08):
            both = ["NodePrepareResources", "NodeUnprepareResources"]
            found[0]["spec"]["skipNodeOperations"] = dice.pick(both, both[1:])
        if dice.odd(0.15):
            stale = [self._device(f"dev-{j}", {}, False, False) for j in range(2)]
            scope = {"allNodes": True} if per_device else bodies[0][0]
            name = f"{prefix}-old"
            found.append(_slice(name, pool, generation - 1, 1, scope, {"devices": stale}))
        return found

    def _device(
        self, name: str, counters: dict[str, dict[str, int]], shared: bool, per_device: bool
    ) -> Raw:
        dice = self.dice
        found: Raw = {"name": name, "attributes": self._attributes()}
        if dice.chance(0.7):
            found["capacity"] = {"memory": {"value": dice.pick("10Gi", "40Gi", "80Gi")}}
        if shared and dice.chance(0.7):
            found["allowMultipleAllocations"] = True
            found["capacity"] = {"memory": self._shared_capacity()}
            if dice.chance(0.3):
                found["capacity"]["bw"] = {"value": "10"}
            if dice.chance(0.4):
                found["capacity"]["share"] = self._fraction()
        if counters and dice.chance(0.85):
            found["consumesCounters"] = self._consumption(counters)
        if dice.chance(0.15):
            effects = dice.some(("NoSchedule", "NoExecute", "None"), 1, 2)
            found["taints"] = [self._taint(effect) for effect in effects]
        if dice.chance(0.06):
            found["bindingConditions"] = ["example.com/ready"]
            found["bindingFailureConditions"] = ["example.com/failed"]
            found |= {"bindsToNode": True} if dice.chance(0.5) else {}
        return found | (self._target() if per_device else {})

    def _attributes(self) -> Raw:
        dice = self.dice
        found: Raw = {
            "model": {"string": dice.rng.choice(MODELS)},
            "index": {"int": dice.number(0, 3)},
        }
        if dice.chance(0.6):
            root = f"pci0000:0{dice.number(0, 2)}"
            found["resource.kubernetes.io/pcieRoot"] = {"string": root}
        if dice.chance(0.5):
            found["driverVersion"] = {"version": dice.pick("1.2.3", "2.0.0", "2.0.0-rc.1")}
        if dice.chance(0.4):
            found["mig"] = {"bool": dice.chance(0.5)}
        if dice.chance(0.4):
            odd = {"string": "1"}
            found["example.com/group"] = {"int": dice.number(0, 1)} if dice.chance(0.8) else odd
        if self.extended and dice.chance(0.5):
            found["example.com/links"] = {"strings": dice.some(("l0", "l1", "l2"), 1)}
        if self.extended and dice.chance(0.2):
            found["example.com/levels"] = {"ints": dice.some((1, 2, 3), 1)}
        return found

    def _taint(self, effect: str) -> Raw:
        key, value = self.dice.pick("bad", "slow"), self.dice.pick("x", "y")
        return {"key": key, "value": value, "effect": effect, "timeAdded": TAINTED_AT}

    def _consumption(self, counters: dict[str, dict[str, int]]) -> list[Raw]:
        dice = self.dice
        found: list[Raw] = []
        for name in dice.some(list(counters), 1, 2):
            use = {
                counter: {"value": str(dice.number(0, 4))}
                for counter in dice.some(list(counters[name]), 1)
            }
            if dice.odd(0.02):
                use["nosuch"] = {"value": "1"}
            one: Raw = {"counterSet": "nosuch" if dice.odd(0.02) else name, "counters": use}
            if self.extended and dice.chance(0.3):
                one["compatibilityGroups"] = dice.some(("g0", "g1"), 1)
            if one["counterSet"] not in [other["counterSet"] for other in found]:
                found.append(one)
        return found

    def _shared_capacity(self) -> Raw:
        dice = self.dice
        total = dice.pick(8, 16)
        found: Raw = {"value": f"{total}Gi"}
        match dice.weighted(("none", "default", "range", "values"), (3, 1, 3, 2)):
            case "default":
                found["requestPolicy"] = {"default": "2Gi"}
            case "range":
                bounds = {"min": "1Gi"}
                if dice.chance(0.5):
                    bounds["max"] = f"{total // 2}Gi"
                if dice.chance(0.5):
                    bounds["step"] = "1Gi"
                found["requestPolicy"] = {"default": "2Gi", "validRange": bounds}
            case "values":
                values = ["1Gi", "2Gi", "4Gi"]
                found["requestPolicy"] = {"default": "2Gi", "validValues": values}
        return found

    def _fraction(self) -> Raw:
        """Thousandths count with DRAFractionalCapacityRange only."""
        bounds = {"min": "250m", "step": self.dice.pick("250m", "500m"), "max": "2"}
        policy = {"default": "750m" if bounds["step"] == "500m" else "500m", "validRange": bounds}
        return {"value": self.dice.pick("2", "2500m"), "requestPolicy": policy}

    def _rule(self, i: int) -> Raw:
        pool = self.dice.rng.choice(self.pools)
        selector = {"driver": pool.driver}
        if self.dice.chance(0.6):
            selector["pool"] = pool.name
        if self.dice.chance(0.2):
            selector["device"] = "dev-0"
        effect = self.dice.pick("NoSchedule", "NoExecute")
        taint = {"key": "ruled", "effect": effect, "timeAdded": TAINTED_AT}
        spec = {"deviceSelector": {} if self.dice.chance(0.05) else selector, "taint": taint}
        return {"metadata": {"name": f"rule-{i}"}, "spec": spec}

    def allocated(self) -> list[Raw]:
        """Claims that hold a share of the devices, and now and then one that is gone."""
        dice, busy, results = self.dice, self.dice.pick(0, 0.1, 0.3, 0.6), []
        for pool in self.pools:
            for device in pool.devices:
                if dice.chance(busy):
                    results += [self._holding(pool, device) for _ in range(dice.pick(1, 1, 2))]
        if dice.odd(0.06):
            gone = KnownPool(self.drivers[0], "gone")
            results.append(self._holding(gone, {"name": "dev-0"}))
        unique = {str(sorted(one.items(), key=lambda item: item[0])): one for one in results}
        rows = list(unique.values())
        return [_held(i, rows[i : i + 4]) for i in range(0, len(rows), 4)]

    def _holding(self, pool: KnownPool, device: Raw) -> Raw:
        found: Raw = {
            "request": "r0",
            "driver": pool.driver,
            "pool": pool.name,
            "device": device["name"],
        }
        if device.get("allowMultipleAllocations"):
            found["shareID"] = f"{self.dice.rng.getrandbits(32):08x}-0000-4000-8000-000000000000"
            amounts = {"memory": "1Gi", "bw": "3", "share": "500m"}
            found["consumedCapacity"] = {name: amounts[name] for name in device["capacity"]}
        if self.dice.chance(0.05):
            found["adminAccess"] = True
        return found


def _shared_counters(counters: dict[str, dict[str, int]]) -> list[Raw]:
    return [
        {"name": name, "counters": {key: {"value": str(value)} for key, value in one.items()}}
        for name, one in counters.items()
    ]


def _slice(name: str, pool: KnownPool, generation: int, count: int, scope: Raw, body: Raw) -> Raw:
    place = {"name": pool.name, "generation": generation, "resourceSliceCount": count}
    return {
        "metadata": {"name": name},
        "spec": {"driver": pool.driver, "pool": place, **scope, **body},
    }


def _held(i: int, results: list[Raw]) -> Raw:
    exactly = {"deviceClassName": "any", "allocationMode": "ExactCount", "count": 4}
    return {
        "metadata": {"namespace": "default", "name": f"held-{i}", "uid": f"held-{i}"},
        "spec": {"devices": {"requests": [{"name": "r0", "exactly": exactly}]}},
        "status": {"allocation": {"devices": {"results": results}}},
    }
