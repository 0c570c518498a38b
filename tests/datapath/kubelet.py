"""The nodes of the data path: a pod of a model server is a fake vLLM, a picker's is a real one.

Pods get loopback addresses, since pickers and Envoy run on this machine. One node offers its cards
by the device plugin, one by DRA.
"""

import contextlib
import json
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import yaml

from domain.manifests.labels import DEPLOYMENT, PICKER, POOL
from embedded import gobuild
from embedded.processes import Command, spawn, stop
from kube import kinds
from kube.client import Cluster
from kube.errors import AlreadyExists, Conflict, NotFound
from kube.watch import Changed, Deleted, Listed, follow
from tests.workers import fleet

Json = dict[str, Any]
HERE = Path(__file__).parent
PLUGIN_NODE, DRA_NODE, OTHER_NODE = "path-plugin", "path-dra", "path-cpu"
NODES = (PLUGIN_NODE, DRA_NODE, OTHER_NODE)
DRAIN_SECONDS = 5.0


class Kubelet(threading.Thread):
    """Starts and ends what pods on its nodes stand for, and tells their status."""

    def __init__(self, cluster: Cluster, kubeconfig: Path, folder: Path, home: str) -> None:
        super().__init__(daemon=True, name="data-path-kubelet")
        self._cluster, self._kubeconfig, self._folder = cluster, kubeconfig, folder
        self._net = home.split(".")[1]
        self.control = f"{home}:7070"
        self._addresses = self._free_addresses()
        self._over = threading.Event()
        self._running: dict[str, tuple[Json, str]] = {}  # uid -> the pod, its address
        self._pickers: dict[str, subprocess.Popen[bytes]] = {}
        self._lock = threading.RLock()
        self.defaults: Json = {}
        self.failure: BaseException | None = None

    def _free_addresses(self) -> Iterator[str]:
        while True:
            for third in range(1, 200):
                for fourth in range(1, 250):
                    yield f"127.{self._net}.{third}.{fourth}"

    def prepare(self) -> None:
        """Nodes and their devices; repeatable."""
        made = [
            _labelled(fleet.plugin_node(PLUGIN_NODE, 8), **{"nvidia.com/gpu.memory": "81559"}),
            fleet.node(DRA_NODE),
            fleet.node(OTHER_NODE),
            fleet.resource_slice(DRA_NODE, 8),
        ]
        for one in made:
            status = one.pop("status", None)
            try:
                self._cluster.create(one)
            except AlreadyExists:
                continue
            if status:
                name = one["metadata"]["name"]
                self._cluster.patch_merge(kinds.NODES, None, name, {"status": status}, sub="status")

    def run(self) -> None:
        for step in follow(self._cluster, kinds.PODS, stop=self._over, watch_seconds=30):
            items = step.items if isinstance(step, Listed) else []
            if isinstance(step, Changed):
                items = [step.item]
            try:
                for item in items:
                    self._saw(item.object())
                if isinstance(step, Deleted):
                    self._forget(step.item.object())
            except (Conflict, NotFound):
                continue  # it changed again, so it comes again
            except Exception as error:  # noqa: BLE001 - told by Rig.check
                self.failure = error
                return

    def stop(self) -> None:
        self._over.set()
        self.join(10)
        with self._lock:
            for picker in self._pickers.values():
                stop(picker, signal.SIGKILL)
            self._pickers.clear()

    def _saw(self, pod: Json) -> None:
        if (pod.get("spec") or {}).get("nodeName") not in NODES:
            return
        uid = pod["metadata"]["uid"]
        if pod["metadata"].get("deletionTimestamp"):
            threading.Thread(target=self._end, args=(pod,), daemon=True).start()
            return
        with self._lock:
            if uid in self._running:
                return
            address = next(self._addresses)
            self._running[uid] = (pod, address)
        labels = pod["metadata"].get("labels") or {}
        if PICKER in labels:
            self._start_picker(pod, address)
        elif POOL in labels:
            name = f"{labels[POOL]}/{pod['metadata']['name']}"
            self.ask("PUT", address, self.defaults | {"name": name, "model": labels[DEPLOYMENT]})
        self.tell(pod, address, ready=True)

    def tell(self, pod: Json, address: str, *, ready: bool) -> None:
        status = {
            "phase": "Running",
            "podIP": address,
            "podIPs": [{"ip": address}],
            "conditions": [
                {"type": "PodScheduled", "status": "True"},
                {"type": "Ready", "status": str(ready)},
            ],
            "containerStatuses": [
                {
                    "name": one["name"],
                    "image": one["image"],
                    "imageID": "",
                    "restartCount": 0,
                    "ready": ready,
                    "started": True,
                    "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}},
                }
                for one in pod["spec"]["containers"]
            ],
        }
        meta = pod["metadata"]
        body = {"status": status}
        self._cluster.patch_merge(kinds.PODS, meta["namespace"], meta["name"], body, sub="status")

    def _end(self, pod: Json) -> None:
        """Streams under way finish first, as a model server's own drain has it."""
        meta = pod["metadata"]
        with self._lock:
            found = self._running.pop(meta["uid"], None)
            picker = self._pickers.pop(meta["name"], None)
        if found is not None and picker is None and POOL in (meta.get("labels") or {}):
            deadline = time.monotonic() + DRAIN_SECONDS
            time.sleep(0.2)  # gateways and pickers drop it first
            while self.busy(found[1]) and time.monotonic() < deadline:
                time.sleep(0.05)
            with contextlib.suppress(urllib.error.HTTPError):  # a test has closed it already
                self.ask("DELETE", found[1])
        if picker is not None:
            stop(picker, patience=DRAIN_SECONDS)
        self._cluster.delete(
            kinds.PODS, meta["namespace"], meta["name"], missing_ok=True, grace_seconds=0
        )

    def _forget(self, pod: Json) -> None:
        with self._lock:
            self._running.pop(pod["metadata"]["uid"], None)

    # --- Model servers
    def ask(self, method: str, address: str, body: Json | None = None) -> None:
        url = f"http://{self.control}/replicas/{address}:8000"
        data = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(urllib.request.Request(url, data, method=method), timeout=5):
            pass

    def busy(self, address: str) -> int:
        with urllib.request.urlopen(f"http://{self.control}/replicas", timeout=5) as answer:
            found = json.loads(answer.read()).get(f"{address}:8000") or {}
        return int(found.get("running", 0))

    def servers(self, pool: str) -> list[tuple[Json, str]]:
        """The pods of a pool with their addresses, by name."""
        with self._lock:
            found = [
                one
                for one in self._running.values()
                if (one[0]["metadata"].get("labels") or {}).get(POOL) == pool
                and PICKER not in one[0]["metadata"]["labels"]
            ]
        return sorted(found, key=lambda one: str(one[0]["metadata"]["name"]))

    def fault(self, pool: str, *, only: int | None = None, **settings: Any) -> None:
        """Make the pool's servers, or one of them, behave like this from now on."""
        for number, (_, address) in enumerate(self.servers(pool)):
            if only in (None, number):
                self.ask("PUT", address, settings)

    def close(self, pool: str, number: int) -> None:
        """The server's port refuses connections while its pod stays Ready."""
        self.ask("DELETE", self.servers(pool)[number][1])

    # --- Pickers
    def picker(self, pool: str) -> tuple[str, subprocess.Popen[bytes]]:
        """Pod and process of a pool's picker."""
        with self._lock:
            [found] = [
                (name, process) for name, process in self._pickers.items() if f"-{pool}-" in name
            ]
        return found

    def kill_picker(self, pool: str) -> None:
        """Its pod stays Ready: nobody but its callers knows."""
        stop(self.picker(pool)[1], signal.SIGKILL)

    def _start_picker(self, pod: Json, address: str) -> None:
        meta = pod["metadata"]
        folder = self._folder / meta["name"]
        folder.mkdir(parents=True, exist_ok=True)
        account = pod["spec"]["serviceAccountName"]
        self._credentials(folder, meta["namespace"], account)
        [volume] = [one for one in pod["spec"]["volumes"] if "configMap" in one]
        config = self._cluster.get(
            kinds.CONFIG_MAPS, meta["namespace"], volume["configMap"]["name"]
        )
        for name, text in config["data"].items():
            (folder / name).write_text(text)
        [container] = pod["spec"]["containers"]
        arguments = [one.replace("/config/", f"{folder}/") for one in container["args"]]
        # Envoy here speaks plain HTTP/2 to it, and tests want figures that are fresh.
        extra = ["--secure-serving=false", "--refresh-prometheus-metrics-interval=250ms"]
        program = gobuild.binary(HERE / "epp")
        environment = {"EPP_BIND_ADDRESS": address, "KUBECONFIG": str(folder / "kubeconfig")}
        command = Command("epp", (str(program), *arguments, *extra), environment)
        with (folder / "log").open("ab") as log:
            process = spawn(command, output=log)
        with self._lock:
            self._pickers[meta["name"]] = process
        until(lambda: _answers(f"http://{address}:9090/metrics"))

    def _credentials(self, folder: Path, namespace: str, account: str) -> None:
        """The rights of the picker's own account, as the portal bound them."""
        kubectl = str(Path(sys.executable).with_name("kubectl"))
        where = (f"--kubeconfig={self._kubeconfig}", f"--namespace={namespace}")
        token = subprocess.run(
            [kubectl, *where, "create", "token", account],
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()
        content = yaml.safe_load(self._kubeconfig.read_text())
        user = content["contexts"][0]["context"]["user"]
        content["users"] = [{"name": user, "user": {"token": token}}]
        (folder / "kubeconfig").write_text(yaml.safe_dump(content))


def _labelled(node: Json, **labels: str) -> Json:
    node["metadata"]["labels"] |= labels
    return node


def until[T](
    found: Callable[[], T], seconds: float = 150.0, why: Callable[[], object] = lambda: ""
) -> T:
    """What `found` gives once it is true; the deadline is for broken code only."""
    deadline = time.monotonic() + seconds
    while True:
        value = found()
        if value:
            return value
        assert time.monotonic() < deadline, f"it did not happen {why()}"
        time.sleep(0.05)


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2):
            return True
    except OSError:
        return False
