"""The real kubectl judges the simulated API server."""

import itertools
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from simulator import apiserver
from tests.contract.client import STRATEGIC, Client
from tests.contract.objects import claim, deployment, deployments, node, nodes, pod, pods

NUMBERS = itertools.count(1)
KUBECTL = Path(sys.executable).with_name("kubectl")


class Kubectl:
    """Runs kubectl in a namespace of its own."""

    def __init__(self, kubeconfig: str, namespace: str, cache: Path) -> None:
        self.base = [str(KUBECTL), f"--kubeconfig={kubeconfig}", f"--namespace={namespace}"]
        self.base.append(f"--cache-dir={cache}")
        self.api = Client(kubeconfig)
        self.namespace = namespace

    def run(self, *words: str, stdin: Any = None) -> subprocess.CompletedProcess[str]:
        text = json.dumps(stdin) if stdin is not None else None
        return subprocess.run(
            [*self.base, *words],
            input=text,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def __call__(self, *words: str, stdin: Any = None) -> str:
        done = self.run(*words, stdin=stdin)
        assert not done.returncode, done.stderr
        return done.stdout

    def refused(self, *words: str, stdin: Any = None) -> str:
        done = self.run(*words, stdin=stdin)
        assert done.returncode
        return done.stderr


@pytest.fixture
def kubectl(simulated: apiserver.Server, tmp_path_factory: pytest.TempPathFactory) -> Kubectl:
    cache = tmp_path_factory.mktemp("kubectl")
    name = f"kubectl-{next(NUMBERS)}"
    api = Client(simulated.kubeconfig)
    api.create(
        "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    )
    return Kubectl(simulated.kubeconfig, name, cache)


def test_get_prints_tables_and_documents(kubectl: Kubectl) -> None:
    kubectl.api.create(deployments(kubectl.namespace), deployment("web", replicas=2))
    header, row = kubectl("get", "deployments").splitlines()
    assert header.split() == ["NAME", "READY", "UP-TO-DATE", "AVAILABLE", "AGE"]
    assert row.split()[:4] == ["web", "0/2", "0", "0"]
    assert "example/main:1" in kubectl("get", "deploy", "web", "-o", "wide")
    assert json.loads(kubectl("get", "deploy/web", "-o", "json"))["spec"]["replicas"] == 2
    assert "replicas: 2" in kubectl("get", "deploy/web", "-o", "yaml")
    assert "deployment.apps/web" in kubectl("get", "all")
    assert kubectl("get", "deploy", "-o", "name") == "deployment.apps/web\n"


def test_get_watches(kubectl: Kubectl) -> None:
    kubectl.api.create(pods(kubectl.namespace), pod("one"))
    words = [*kubectl.base, "get", "pods", "--watch", "--output-watch-events"]
    watching = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    killer = threading.Timer(30, watching.kill)
    killer.start()
    try:
        assert watching.stdout
        lines = [watching.stdout.readline() for _ in range(2)]
        kubectl.api.create(pods(kubectl.namespace), pod("two"))
        kubectl.api.delete(pods(kubectl.namespace, "one"))
        lines += [watching.stdout.readline() for _ in range(2)]
    finally:
        killer.cancel()
        watching.kill()
        watching.wait()
        watching.stdout and watching.stdout.close()
    assert [line.split()[:2] for line in lines] == [
        ["EVENT", "NAME"],
        ["ADDED", "one"],
        ["ADDED", "two"],
        ["DELETED", "one"],
    ]


def test_apply_server_side_diff_and_conflict(kubectl: Kubectl) -> None:
    made = deployment("web", replicas=1)
    apply = ("apply", "--server-side", "-f", "-")
    assert kubectl(*apply, stdin=made) == "deployment.apps/web serverside-applied\n"
    assert not kubectl("diff", "--server-side", "-f", "-", stdin=made)
    kubectl("scale", "deployment/web", "--replicas=3")
    made["spec"]["replicas"] = 2
    refused = kubectl.refused(*apply, stdin=made)
    assert 'conflict with "kubectl" with subresource "scale" using apps/v1' in refused
    shown = kubectl.run("diff", "--server-side", "--force-conflicts", "-f", "-", stdin=made)
    assert shown.returncode == 1
    assert "-  replicas: 3" in shown.stdout and "+  replicas: 2" in shown.stdout
    kubectl(*apply, "--force-conflicts", stdin=made)
    assert kubectl("get", "deploy/web", "-o", "jsonpath={.spec.replicas}") == "2"


def test_apply_names_a_misspelt_field(kubectl: Kubectl) -> None:
    made = deployment("web")
    made["spec"]["replica"] = 3
    assert "field not declared in schema" in kubectl.refused(
        "apply", "--server-side", "-f", "-", stdin=made
    )


def test_client_side_apply_is_refused_with_a_hint(kubectl: Kubectl) -> None:
    refused = kubectl.refused("apply", "-f", "-", stdin=deployment("web"))
    assert "use `kubectl apply --server-side`" in refused


def test_labels_annotations_patches_and_images(kubectl: Kubectl) -> None:
    kubectl.api.create(deployments(kubectl.namespace), deployment("web"))
    kubectl("label", "deploy/web", "team=a")
    kubectl("annotate", "deploy/web", "note=b")
    kubectl("patch", "deploy/web", "-p", '{"spec":{"paused":true}}')
    kubectl("patch", "deploy/web", "--type=json", "-p", '[{"op":"remove","path":"/spec/paused"}]')
    kubectl("patch", "deploy/web", "--type=merge", "-p", '{"spec":{"minReadySeconds":5}}')
    kubectl("set", "image", "deploy/web", "main=example/main:2")
    found = kubectl.api.get(deployments(kubectl.namespace, "web")).body
    assert found["metadata"]["labels"]["team"] == "a"
    assert found["metadata"]["annotations"]["note"] == "b"
    assert "paused" not in found["spec"] and found["spec"]["minReadySeconds"] == 5
    assert found["spec"]["template"]["spec"]["containers"][0]["image"] == "example/main:2"


def test_describe_tells_of_objects_and_their_events(kubectl: Kubectl) -> None:
    kubectl.api.create(pods(kubectl.namespace), pod("web"))
    about = {"kind": "Pod", "name": "web", "namespace": kubectl.namespace}
    uid = kubectl.api.get(pods(kubectl.namespace, "web")).body["metadata"]["uid"]
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "web.1"},
        "involvedObject": about | {"uid": uid},
        "reason": "FailedScheduling",
        "message": "no device is free",
        "type": "Warning",
    }
    kubectl.api.create(f"/api/v1/namespaces/{kubectl.namespace}/events", event)
    assert "no device is free" in kubectl("describe", "pod", "web")
    assert "no device is free" in kubectl("events")
    kubectl.api.create(
        f"/apis/resource.k8s.io/v1/namespaces/{kubectl.namespace}/resourceclaims", claim("gpu")
    )
    assert "Device Class Name:" in kubectl("describe", "resourceclaim", "gpu")
    assert kubectl("get", "resourceclaims").splitlines()[1].split()[:2] == ["gpu", "pending"]


def test_nodes_are_cordoned_tainted_and_drained(kubectl: Kubectl) -> None:
    kubectl.api.create(nodes(), node("worker"))
    ready = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    kubectl.api.patch(nodes("worker") + "/status", ready, STRATEGIC)
    kubectl("cordon", "worker")
    assert kubectl("get", "nodes", "worker").splitlines()[1].split()[:2] == [
        "worker",
        "Ready,SchedulingDisabled",
    ]
    kubectl("uncordon", "worker")
    kubectl("taint", "nodes", "worker", "key=value:NoSchedule")
    kubectl.api.create(pods(kubectl.namespace), pod("web", nodeName="worker"))
    assert "web" in kubectl("describe", "node", "worker")
    kubectl("delete", "pod", "web", "--grace-period=0", "--force")
    assert kubectl("get", "pods", "-o", "name") == ""


def test_create_speaks_protobuf(kubectl: Kubectl) -> None:
    kubectl("create", "configmap", "made", "--from-literal=key=value")
    found = kubectl.api.get(f"/api/v1/namespaces/{kubectl.namespace}/configmaps/made").body
    assert found["data"] == {"key": "value"}
    assert "creationTimestamp" in found["metadata"] and "labels" not in found["metadata"]
    words = ("--image=example/main:1", "--replicas=0", "--port=8000")
    kubectl("create", "deployment", "web", *words)
    spec = kubectl.api.get(deployments(kubectl.namespace, "web")).body["spec"]
    assert spec["replicas"] == 0
    (main,) = spec["template"]["spec"]["containers"]
    assert main["ports"] == [{"containerPort": 8000, "protocol": "TCP"}]
    assert "nodeName" not in spec["template"]["spec"]
    kubectl("create", "quota", "limits", "--hard=cpu=1,pods=2")
    quota = f"/api/v1/namespaces/{kubectl.namespace}/resourcequotas/limits"
    assert kubectl.api.get(quota).body["spec"] == {"hard": {"cpu": "1", "pods": "2"}}
    secret = ("create", "secret", "generic", "hidden", "--from-literal=key=value")
    kubectl(*secret)
    path = f"/api/v1/namespaces/{kubectl.namespace}/secrets/hidden"
    assert kubectl.api.get(path).body["data"] == {"key": "dmFsdWU="}


def test_access_is_always_granted(kubectl: Kubectl) -> None:
    assert kubectl("auth", "can-i", "delete", "nodes") == "yes\n"
    assert kubectl("create", "token", "default").count(".") == 2
    assert "kubernetes-admin" in kubectl("auth", "whoami")


def test_drain_evicts_within_the_budget(kubectl: Kubectl) -> None:
    name = f"drained-{kubectl.namespace}"
    kubectl.api.create(nodes(), node(name))
    kubectl.api.create(pods(kubectl.namespace), pod("web", nodeName=name))
    running = {"status": {"phase": "Running"}}
    kubectl.api.patch(pods(kubectl.namespace, "web") + "/status", running)
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}},
    }
    path = f"/apis/policy/v1/namespaces/{kubectl.namespace}/poddisruptionbudgets"
    kubectl.api.create(path, budget)
    refused = kubectl.refused("drain", name, "--force", "--timeout=1s")
    assert "Cannot evict pod as it would violate the pod's disruption budget" in refused
    kubectl.api.patch(f"{path}/web/status", {"status": {"disruptionsAllowed": 1}})
    kubectl.api.patch(pods(kubectl.namespace, "web") + "/status", {"status": {"phase": "Failed"}})
    assert "drained" in kubectl("drain", name, "--force", "--timeout=20s")
    assert kubectl("get", "pods", "-o", "name") == ""


def test_a_rollout_is_followed_to_its_end(kubectl: Kubectl) -> None:
    path = deployments(kubectl.namespace, "web")
    kubectl.api.create(deployments(kubectl.namespace), deployment("web"))
    refused = kubectl.refused("rollout", "status", "deploy/web", "--timeout=1s")
    assert "timed out" in refused
    done = {"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1, "availableReplicas": 1}
    kubectl.api.patch(f"{path}/status", {"status": done})
    assert "successfully rolled out" in kubectl("rollout", "status", "deploy/web", "--timeout=10s")
    assert "restarted" in kubectl("rollout", "restart", "deploy/web")


def test_wait_returns_when_a_condition_holds(kubectl: Kubectl) -> None:
    kubectl.api.create(pods(kubectl.namespace), pod("web"))
    ready = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    kubectl.api.patch(pods(kubectl.namespace, "web") + "/status", ready, STRATEGIC)
    assert "condition met" in kubectl("wait", "--for=condition=Ready", "pod/web", "--timeout=10s")
    assert "deleted" in kubectl("delete", "pod", "web")


def test_explain_knows_the_fields(kubectl: Kubectl) -> None:
    told = kubectl("explain", "resourceclaim.spec.devices.requests.exactly")
    assert "deviceClassName\t<string>" in told


def test_unknown_words_are_refused_as_everywhere(kubectl: Kubectl) -> None:
    assert 'pods "none" not found' in kubectl.refused("get", "pod", "none")
    assert "the server doesn't have a resource type" in kubectl.refused("get", "nothings")


@pytest.fixture
def gateway() -> Iterator[Callable[[], str]]:
    """A node's way into its pods, which answers everything with what it was asked."""
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

    class Echo(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = f"{self.command} {self.path}\n".encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/plain")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nothing on standard error."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield lambda: f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_logs_and_proxies_go_to_the_pods_node(kubectl: Kubectl, gateway: Callable[[], str]) -> None:
    name = f"node-of-{kubectl.namespace}"
    made = node(name)
    made["metadata"]["annotations"] = {"simulator.claimyard.dev/gateway": gateway()}
    kubectl.api.create(nodes(), made)
    kubectl.api.create(pods(kubectl.namespace), pod("web", nodeName=name))
    address = {"status": {"podIP": "10.244.0.9"}}
    kubectl.api.patch(pods(kubectl.namespace, "web") + "/status", address, STRATEGIC)
    assert kubectl("logs", "web", "--tail=5") == (
        f"GET /containerLogs/{kubectl.namespace}/web/main?tailLines=5\n"
    )
    answer = kubectl.api.get(f"{pods(kubectl.namespace, 'web:8000')}/proxy/metrics?x=1")
    assert answer.body == "GET /pods/10.244.0.9/8000/metrics?x=1\n"
