"""The control plane that other tests rely on is a whole one."""

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from embedded.controlplane import ControlPlane

pytestmark = pytest.mark.cluster
Kubectl = Callable[..., str]

CLAIMING_POD = """
apiVersion: v1
kind: Node
metadata: {name: plane-node}
status: {allocatable: {cpu: 8, memory: 8Gi, pods: 10}}
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: plane.example.com}
spec:
  selectors: [{cel: {expression: 'device.driver == "plane.example.com"'}}]
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: plane-node-slice}
spec:
  driver: plane.example.com
  nodeName: plane-node
  pool: {name: plane-node, generation: 1, resourceSliceCount: 1}
  devices: [{name: gpu-0}]
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: one, namespace: plane}
spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: plane.example.com}}]}}}
---
apiVersion: v1
kind: Pod
metadata: {name: server, namespace: plane}
spec:
  resourceClaims: [{name: gpu, resourceClaimTemplateName: one}]
  containers: [{name: server, image: example.com/x, resources: {claims: [{name: gpu}]}}]
"""


def served(kubectl: Kubectl, kubeconfig: Path) -> set[str]:
    found = json.loads(kubectl(kubeconfig, "get", "--raw", "/apis/resource.k8s.io/v1"))
    return {resource["name"] for resource in found["resources"]}


def eventually(seen: Callable[[], Any], seconds: float = 30) -> Any:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := seen():
            return found
        time.sleep(0.1)
    return seen()


def test_it_serves_the_resource_api_of_the_newest_release(
    control_plane: ControlPlane, kubectl: Kubectl
) -> None:
    names = served(kubectl, control_plane.kubeconfig)
    assert {"deviceclasses", "resourceclaims", "resourceslices", "devicetaintrules"} <= names


def test_emulating_an_older_release_it_serves_no_taint_rules(
    old_control_plane: ControlPlane, kubectl: Kubectl
) -> None:
    names = served(kubectl, old_control_plane.kubeconfig)
    assert "resourceclaims" in names and "devicetaintrules" not in names


def test_the_real_scheduler_allocates_a_device_to_a_pod(
    control_plane: ControlPlane, kubectl: Kubectl
) -> None:
    kubeconfig = control_plane.kubeconfig
    kubectl(kubeconfig, "create", "namespace", "plane")
    kubectl(kubeconfig, "apply", "--server-side", "-f", "-", stdin=CLAIMING_POD)
    path = "jsonpath={.items[*].status.allocation.devices.results[*].device}"
    device = eventually(
        lambda: kubectl(kubeconfig, "-n", "plane", "get", "resourceclaims", "-o", path)
    )
    assert device == "gpu-0"


class Greeting(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"hello from a pod")

    def log_message(self, format: str, *arguments: object) -> None:
        pass


def pump(source: socket.socket, target: socket.socket) -> None:
    while data := source.recv(65_536):
        target.sendall(data)
    target.close()


@pytest.fixture
def pod_proxy(control_plane: ControlPlane) -> Iterator[list[str]]:
    """An HTTP CONNECT proxy that leads every address to one server; yields what was asked for."""
    if control_plane.pod_proxy is None:
        pytest.skip("an existing cluster reaches its pods by itself")
    asked: list[str] = []
    with HTTPServer(("127.0.0.1", 0), Greeting) as web, socket.socket(socket.AF_UNIX) as door:
        threading.Thread(target=web.serve_forever, daemon=True).start()
        door.bind(str(control_plane.pod_proxy))
        door.listen()

        def serve() -> None:
            with closing(door.accept()[0]) as caller:
                asked.append(caller.recv(4096).decode().split()[1])
                server = socket.create_connection(("127.0.0.1", web.server_port))
                caller.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
                back = threading.Thread(target=pump, args=(server, caller), daemon=True)
                back.start()
                data = caller.recv(65_536)
                server.sendall(data)
                back.join(10)
                server.close()

        once = threading.Thread(target=serve, daemon=True)
        once.start()
        yield asked
        once.join(10)
        web.shutdown()
    control_plane.pod_proxy.unlink()


def test_a_pod_is_reached_through_the_proxy_that_a_fleet_serves(
    control_plane: ControlPlane, kubectl: Kubectl, pod_proxy: list[str]
) -> None:
    kubeconfig = control_plane.kubeconfig
    kubectl(kubeconfig, "create", "namespace", "plane-proxy")
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web", "namespace": "plane-proxy"},
        "spec": {
            "nodeName": "plane-proxy-node",
            "containers": [{"name": "web", "image": "example.com/web"}],
        },
    }
    kubectl(kubeconfig, "create", "-f", "-", stdin=json.dumps(pod))
    address = {"status": {"podIP": "10.244.7.7", "podIPs": [{"ip": "10.244.7.7"}]}}
    kubectl(
        kubeconfig,
        "-n",
        "plane-proxy",
        "patch",
        "pod",
        "web",
        "--subresource=status",
        "--type=merge",
        f"--patch={json.dumps(address)}",
    )
    path = "/api/v1/namespaces/plane-proxy/pods/web:8000/proxy/metrics"
    assert kubectl(kubeconfig, "get", "--raw", path) == "hello from a pod"
    assert pod_proxy == ["10.244.7.7:8000"]
