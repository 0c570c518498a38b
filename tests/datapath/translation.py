"""One pure step of a gateway's controller: objects in; clusters, routes and conditions out."""

from dataclasses import dataclass, field
from typing import Any

from tests.datapath.envoyfiles import DUPLEX, HEADER, LIMITS, TYPE, assignment

Json = dict[str, Any]
Key = tuple[str, str]
GATEWAY_CLASS = "test-envoy"
GATEWAY_GROUP = "gateway.networking.k8s.io"


@dataclass(frozen=True, slots=True)
class State:
    """The objects by (namespace, name)."""

    gateways: dict[Key, Json]
    routes: dict[Key, Json]
    pools: dict[Key, Json]
    services: dict[Key, Json]
    pods: dict[Key, Json]


@dataclass(slots=True)
class Said:
    """Conditions of an object for some parents: (type, holds, reason, message)."""

    kind: str
    key: Key
    parents: list[Json]
    conditions: list[tuple[str, bool, str, str]]


@dataclass(slots=True)
class Translation:
    """`mode` is how a pool's cluster finds the endpoint that its picker chose.

    original_dst: by the header alone, as the inference extension's own tests do; override_host:
    among the ready pods, with round robin for a request without a picker.
    """

    state: State
    mode: str
    clusters: dict[str, Json] = field(default_factory=dict)
    hosts: dict[str, list[tuple[Any, Json]]] = field(default_factory=dict)
    said: list[Said] = field(default_factory=list)

    def run(self) -> "Translation":
        ours = {
            key
            for key, one in self.state.gateways.items()
            if one["spec"]["gatewayClassName"] == GATEWAY_CLASS
        }
        parents: dict[Key, set[Key]] = {}
        for key, route in sorted(self.state.routes.items()):
            refs = [
                ref
                for ref in route["spec"].get("parentRefs") or []
                if (ref.get("namespace", key[0]), ref["name"]) in ours
            ]
            if not refs:
                continue
            problems, used = self._route(key[0], route)
            text = "; ".join(problems)
            found = "BackendNotFound" if problems else "ResolvedRefs"
            conditions = [
                ("Accepted", True, "Accepted", ""),
                ("ResolvedRefs", not problems, found, text),
            ]
            self.said.append(Said("routes", key, refs, conditions))
            for pool in used:
                parents.setdefault(pool, set()).update(
                    (ref.get("namespace", key[0]), ref["name"]) for ref in refs
                )
        for key, gateways in sorted(parents.items()):
            self._of_pool(key, gateways)
        programmed = [("Accepted", True, "Accepted", ""), ("Programmed", True, "Programmed", "")]
        self.said += [Said("gateways", key, [], programmed) for key in sorted(ours)]
        return self

    def _of_pool(self, key: Key, gateways: set[Key]) -> None:
        ref = self.state.pools[key]["spec"].get("endpointPickerRef") or {}
        there = (key[0], ref.get("name")) in self.state.services
        reason = "ResolvedRefs" if there else "InvalidExtensionRef"
        text = "" if there else f"no Service {ref.get('name')}"
        conditions = [("Accepted", True, "Accepted", ""), ("ResolvedRefs", there, reason, text)]
        refs = [
            {"group": GATEWAY_GROUP, "kind": "Gateway", "namespace": space, "name": name}
            for space, name in sorted(gateways)
        ]
        self.said.append(Said("pools", key, refs, conditions))

    # --- Routes
    def _route(self, namespace: str, route: Json) -> tuple[list[str], set[Key]]:
        problems: list[str] = []
        used: set[Key] = set()
        for rule in route["spec"].get("rules") or []:
            weighted = []
            for ref in rule.get("backendRefs") or []:
                key = (ref.get("namespace", namespace), ref["name"])
                target = self._pool(key) if ref.get("kind") == "InferencePool" else None
                weight = ref.get("weight", 1)
                if target is None:
                    problems.append(f"no {ref.get('kind', 'Service')} {key[0]}/{key[1]}")
                    weighted.append({"name": "missing", "weight": weight})
                    continue
                used.add(key)
                name, filters = target
                weighted.append(
                    {"name": name, "weight": weight, "typed_per_filter_config": filters}
                )
            action = self._action(namespace, rule, weighted)
            for match in rule.get("matches") or [{}]:
                for host in route["spec"].get("hostnames") or ["*"]:
                    self.hosts.setdefault(host, []).append(_matched(match, action))
        return problems, used

    def _action(self, namespace: str, rule: Json, weighted: list[Json]) -> Json:
        if not sum(one["weight"] for one in weighted):
            return {"direct_response": {"status": 500}}
        route: Json = {
            "timeout": "0s",
            "weighted_clusters": {"clusters": weighted},
            "cluster_not_found_response_code": "INTERNAL_SERVER_ERROR",
        }
        if mirrors := self._mirrors(namespace, rule):
            route["request_mirror_policies"] = mirrors
        return {"route": route}

    def _mirrors(self, namespace: str, rule: Json) -> list[Json]:
        found = []
        for one in rule.get("filters") or []:
            if one["type"] != "RequestMirror":
                continue
            ref, percent = one["requestMirror"]["backendRef"], one["requestMirror"].get("percent")
            target = self._pool((ref.get("namespace", namespace), ref["name"]))
            if target:
                share = {"numerator": (percent or 100) * 100, "denominator": "TEN_THOUSAND"}
                fraction = {"default_value": share}
                found.append({"cluster": target[0], "runtime_fraction": fraction})
        return found

    def virtual_hosts(self) -> list[Json]:
        return [
            {
                "name": host,
                "domains": [host] if host == "*" else [host, f"{host}:*"],
                "routes": [one for _, one in sorted(found, key=lambda pair: pair[0])],
            }
            for host, found in sorted(self.hosts.items())
        ]

    # --- Pools
    def _pool(self, key: Key) -> tuple[str, Json] | None:
        """The pool's cluster and its picker's; the pool's name and filters for a route."""
        pool = self.state.pools.get(key)
        if pool is None:
            return None
        name, picker = f"pool/{key[0]}/{key[1]}", f"epp/{key[0]}/{key[1]}"
        self.clusters[name] = self._pool_cluster(name, self._endpoints(key[0], pool))
        ref = pool["spec"].get("endpointPickerRef") or {}
        pickers = self.pickers(key[0], ref)
        http2 = {
            "@type": TYPE + "extensions.upstreams.http.v3.HttpProtocolOptions",
            "explicit_http_config": {"http2_protocol_options": {}},
        }
        options = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions"
        self.clusters[picker] = _cluster(picker) | {
            "type": "STATIC",
            "load_assignment": assignment(picker, pickers),
            "typed_extension_protocol_options": {options: http2},
        }
        if self.mode == "override_host" and ref.get("failureMode") == "FailOpen" and not pickers:
            return name, {}  # Envoy cannot fail open once it streams bodies, so leave it out
        grpc = {"envoy_grpc": {"cluster_name": picker, "authority": picker}}
        overrides = {
            "processing_mode": DUPLEX,
            "grpc_service": grpc,
            "failure_mode_allow": ref.get("failureMode") == "FailOpen",
        }
        kind = TYPE + "extensions.filters.http.ext_proc.v3.ExtProcPerRoute"
        return name, {"envoy.filters.http.ext_proc": {"@type": kind, "overrides": overrides}}

    def _pool_cluster(self, name: str, endpoints: list[str]) -> Json:
        if self.mode == "original_dst":
            by_header = {"use_http_header": True, "http_header_name": HEADER}
            return _cluster(name) | {
                "type": "ORIGINAL_DST",
                "lb_policy": "CLUSTER_PROVIDED",
                "original_dst_lb_config": by_header,
            }
        fallback = _policy("round_robin", "RoundRobin")
        chosen = _policy(
            "override_host",
            "OverrideHost",
            override_host_sources=[{"header": HEADER}],
            fallback_policy={"policies": [fallback]},
        )
        return _cluster(name) | {
            "type": "STATIC",
            "load_assignment": assignment(name, endpoints),
            "load_balancing_policy": {"policies": [chosen]},
        }

    def _endpoints(self, namespace: str, pool: Json) -> list[str]:
        return [
            f"{pod['status']['podIP']}:{port['number']}"
            for pod in self.selected(namespace, pool["spec"]["selector"].get("matchLabels"))
            for port in pool["spec"]["targetPorts"]
        ]

    def pickers(self, namespace: str, ref: Json) -> list[str]:
        service = self.state.services.get((namespace, ref.get("name", "")))
        if service is None:
            return []
        wanted = (ref.get("port") or {}).get("number")
        [port] = [one for one in service["spec"]["ports"] if one["port"] == wanted] or [{}]
        return [
            f"{pod['status']['podIP']}:{_port_of(pod, port.get('targetPort', wanted))}"
            for pod in self.selected(namespace, service["spec"].get("selector"))
        ]

    def selected(self, namespace: str, labels: dict[str, str] | None) -> list[Json]:
        return [
            pod
            for (space, _), pod in sorted(self.state.pods.items())
            if space == namespace
            and labels
            and _is_ready(pod)
            and labels.items() <= (pod["metadata"].get("labels") or {}).items()
        ]

    def targets(self) -> dict[str, list[Json]]:
        """What Prometheus should scrape, for its discovery by files."""
        servers, pickers = [], []
        for (space, name), pool in sorted(self.state.pools.items()):
            about = {"namespace": space, "pool": name}
            labels = pool["spec"]["selector"].get("matchLabels")
            for pod in self.selected(space, labels):
                more = about | {"pod": pod["metadata"]["name"]}
                for port in pool["spec"]["targetPorts"]:
                    at = f"{pod['status']['podIP']}:{port['number']}"
                    servers.append({"targets": [at], "labels": more})
            for one in self.pickers(space, pool["spec"].get("endpointPickerRef") or {}):
                at = f"{one.rpartition(':')[0]}:9090"
                pickers.append({"targets": [at], "labels": about})
        return {"vllm": servers, "epp": pickers}


def _cluster(name: str) -> Json:
    kind = TYPE + "config.cluster.v3.Cluster"
    return {"@type": kind, "name": name, "connect_timeout": "1s", "circuit_breakers": LIMITS}


def _policy(name: str, kind: str, **config: Any) -> Json:
    package = f"extensions.load_balancing_policies.{name}.v3.{kind}"
    return {
        "typed_extension_config": {
            "name": f"envoy.load_balancing_policies.{name}",
            "typed_config": {"@type": TYPE + package, **config},
        }
    }


def _matched(match: Json, action: Json) -> tuple[Any, Json]:
    """A match of the API as Envoy's, with what sorts it: exact paths first, then longer ones."""
    path = match.get("path") or {"type": "PathPrefix", "value": "/"}
    if path["type"] == "Exact":
        found: Json = {"path": path["value"]}
    elif path["value"] == "/":
        found = {"prefix": "/"}
    else:
        found = {"path_separated_prefix": path["value"].rstrip("/")}
    headers = [
        {"name": one["name"].lower(), "string_match": {"exact": one["value"]}}
        for one in match.get("headers") or []
    ]
    if headers:
        found["headers"] = headers
    order = (path["type"] != "Exact", -len(path["value"]), -len(headers))
    return order, {"match": found, **action}


def _port_of(pod: Json, port: int | str) -> int:
    """A number, or the name of a container's port."""
    if isinstance(port, int):
        return port
    return next(
        int(one["containerPort"])
        for container in pod["spec"]["containers"]
        for one in container.get("ports") or []
        if one.get("name") == port
    )


def _is_ready(pod: Json) -> bool:
    status = pod.get("status") or {}
    is_ready = any(
        one["type"] == "Ready" and one["status"] == "True" for one in status.get("conditions") or []
    )
    return is_ready and bool(status.get("podIP")) and not pod["metadata"].get("deletionTimestamp")
