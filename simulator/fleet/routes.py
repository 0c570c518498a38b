"""The gateway's data path: which pool a request goes to, and which of its pods the picker chooses.

Weights are chances, as in Envoy's weighted clusters. A pool without a ready picker refuses its
requests with 500 (FailClose, and FailOpen just the same once bodies are streamed); one without a
ready pod with 503.
"""

import random
from collections.abc import Sequence
from typing import Any

from simulator.fleet.cache import Store
from simulator.fleet.pod import PodWorker
from simulator.fleet.programs import Picker
from simulator.fleet.serving.engine import Request
from simulator.fleet.serving.server import ModelServer

type Json = dict[str, Any]

_CACHE, _LOAD = 3.0, 2.0  # prefix-cache-scorer; queue and KV use


class Routes:
    """Reads routes and pools as the stores have them; nothing here waits."""

    def __init__(self, routes: Store, pools: Store, services: Store) -> None:
        self._routes, self._pools, self._services = routes, pools, services

    def rule_of(self, service: Json, behind: Sequence[PodWorker]) -> Json | None:
        """The rule that carries the callers of a Service; None when they use the Service itself.

        It is one that has a pool with one of the pods `behind` the Service.
        """
        namespace = service["metadata"]["namespace"]
        for route in self._routes.within(namespace):
            for rule in (route.get("spec") or {}).get("rules") or []:
                for ref in rule.get("backendRefs") or []:
                    pool = self._pools.get(namespace, ref.get("name", ""))
                    labels = _labels(pool) if pool else None
                    if labels and any(selects(labels, one) for one in behind):
                        found: Json = rule
                        return found
        return None

    def choose(self, namespace: str, rule: Json, dice: random.Random) -> Json | None:
        """The pool of one request, by weight; None if nothing has any or the pool is missing."""
        refs = rule.get("backendRefs") or []
        weights = [int(ref.get("weight", 1)) for ref in refs]
        if not sum(weights):
            return None
        [ref] = dice.choices(refs, weights)
        return self._pools.get(namespace, ref["name"])

    def picker(self, pool: Json, workers: Sequence[PodWorker]) -> Picker | None:
        """A ready picker of the pool."""
        namespace = pool["metadata"]["namespace"]
        ref = (pool.get("spec") or {}).get("endpointPickerRef") or {}
        service = self._services.get(namespace, ref.get("name", ""))
        selector = ((service or {}).get("spec") or {}).get("selector")
        if not selector:
            return None
        for worker in workers:
            if not selects(selector, worker) or not is_taking(worker):
                continue
            for container in worker.containers:
                if isinstance(container.program, Picker):
                    return container.program
        return None

    def servers(self, pool: Json, workers: Sequence[PodWorker]) -> list[PodWorker]:
        labels = _labels(pool)
        return [one for one in workers if labels and selects(labels, one) and is_taking(one)]


def pick(servers: Sequence[ModelServer], request: Request) -> ModelServer:
    """As the default profile does: most of the prompt cached, least load; the first of equals."""

    def score(server: ModelServer) -> float:
        engine = server.engine
        blocks = sum(blocks for _, blocks in request.prompt)
        cached = engine.pool.hits(request.prompt) / blocks if blocks else 0.0
        full = engine.pool.used / max(engine.pool.total, 1)
        queue = len(engine.waiting) / (1 + max(len(one.engine.waiting) for one in servers))
        return _CACHE * cached + _LOAD * (1 - queue) + _LOAD * (1 - full)

    best = max(score(one) for one in servers)
    even = [one for one in servers if score(one) >= best - 1e-9]
    return min(even, key=lambda one: one.engine.load)


def selects(selector: Json, worker: PodWorker) -> bool:
    labels = worker.pod["metadata"].get("labels") or {}
    return all(labels.get(key) == value for key, value in selector.items())


def is_taking(worker: PodWorker) -> bool:
    """Ready, and not on its way out."""
    ready = all(container.ready for container in worker.containers)
    return ready and "deletionTimestamp" not in worker.pod["metadata"]


def _labels(pool: Json) -> Json:
    return ((pool.get("spec") or {}).get("selector") or {}).get("matchLabels") or {}
