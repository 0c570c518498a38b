"""A large cluster as bytes, and a server that sends them: `python -m bench.replay FOLDER`.

It answers lists in pages and holds watches open; what is posted to /replay/<kind> goes to the
watchers of that kind. Nothing else: what is measured is the portal, not a cluster.
"""

import base64
import contextlib
import http.server
import json
import queue
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import orjson
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.workers import fleet

Json = dict[str, Any]
PAGE = 500
CARDS = 8
EMPTY = (
    "deviceclasses",
    "resourceclaimtemplates",
    "devicetaintrules",
    "deployments",
    "statefulsets",
    "jobs",
    "events",
    "namespaces",
)


@dataclass(frozen=True, slots=True)
class Size:
    nodes: int = 10_000
    claims: int = 20_000
    pods: int = 20_000


# --- Objects
def stamped(raw: Json, number: int) -> Json:
    """With what a server adds to an object, managedFields included."""
    metadata = {
        "uid": f"00000000-0000-4000-8000-{number:012}",
        "resourceVersion": str(number + 1),
        "creationTimestamp": "2026-11-30T09:00:00Z",
        "managedFields": [
            {
                "manager": "kubelet",
                "operation": "Update",
                "apiVersion": "v1",
                "time": "2026-11-30T09:00:00Z",
                "fieldsType": "FieldsV1",
                "fieldsV1": {"f:metadata": {f"f:label-{n}": {} for n in range(12)}},
            }
        ],
        **raw["metadata"],
    }
    return {"metadata": metadata, **{k: v for k, v in raw.items() if k not in _LEFT_OUT}}


_LEFT_OUT = ("metadata", "apiVersion", "kind")


def node_name(number: int) -> str:
    return f"gpu-node-{number:05}"


def nodes(size: Size) -> Iterator[Json]:
    for number in range(size.nodes):
        name = node_name(number)
        raw = fleet.node(
            name,
            **{
                "kubernetes.io/hostname": name,
                "nvidia.com/gpu.present": "true",
                "nvidia.com/gpu.count": str(CARDS),
                "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3",
                "nvidia.com/gpu.memory": "81559",
                "topology.kubernetes.io/zone": f"zone-{number % 3}",
                **{f"feature.node.kubernetes.io/cpu-{n}": "true" for n in range(25)},
            },
        )
        raw["status"]["images"] = [
            {"names": [f"registry.example/team/image-{n}@sha256:{n:064}"], "sizeBytes": n}
            for n in range(12)
        ]
        raw["status"]["nodeInfo"] = {"kubeletVersion": "v1.37.0", "osImage": "Linux"}
        yield stamped(raw, number)


def slices(size: Size) -> Iterator[Json]:
    for number in range(size.nodes):
        yield stamped(fleet.resource_slice(node_name(number), CARDS), 1_000_000 + number)


def claims(size: Size) -> Iterator[Json]:
    for number in range(size.claims):
        place, card = number % size.nodes, number // size.nodes
        labels = {"claimyard.dev/tenant": f"tenant-{number % 500}", "claimyard.dev/pool": "main"}
        raw = fleet.claim(f"claim-{number:05}", f"team-{number % 500}", **labels)
        if card < CARDS:
            raw["status"] = fleet.allocation(node_name(place), f"gpu-{card}")
            raw["status"]["reservedFor"] = [
                {"resource": "pods", "name": f"pod-{number:05}", "uid": f"p{number}"}
            ]
        yield stamped(raw, 2_000_000 + number)


def pods(size: Size) -> Iterator[Json]:
    for number in range(size.pods):
        yield stamped(pod(number, size), 3_000_000 + number)


def pod(number: int, size: Size) -> Json:
    raw = fleet.pod(f"pod-{number:05}", node_name(number % size.nodes), f"team-{number % 500}")
    raw["metadata"]["labels"] = {"claimyard.dev/tenant": f"tenant-{number % 500}", "app": "model"}
    spec = raw["spec"]
    spec["resourceClaims"] = [{"name": "gpu", "resourceClaimName": f"claim-{number:05}"}]
    spec["containers"][0]["env"] = [{"name": f"NAME_{n}", "value": "x" * 30} for n in range(20)]
    spec["tolerations"] = [
        {"key": f"node.kubernetes.io/{n}", "operator": "Exists", "effect": "NoExecute"}
        for n in ("not-ready", "unreachable")
    ]
    spec["volumes"] = [
        {"name": f"volume-{n}", "configMap": {"name": f"settings-{n}"}} for n in range(8)
    ]
    raw["status"]["containerStatuses"] = [
        {
            "name": "main",
            "ready": True,
            "restartCount": 0,
            "image": "x",
            "state": {"running": {"startedAt": "2026-11-30T10:00:05Z"}},
        }
    ]
    return raw


MAKERS = {"nodes": nodes, "resourceslices": slices, "resourceclaims": claims, "pods": pods}
KINDS = {
    "nodes": ("", "Node", False),
    "namespaces": ("", "Namespace", False),
    "pods": ("", "Pod", True),
    "events": ("", "Event", True),
    "resourceslices": ("resource.k8s.io", "ResourceSlice", False),
    "deviceclasses": ("resource.k8s.io", "DeviceClass", False),
    "devicetaintrules": ("resource.k8s.io", "DeviceTaintRule", False),
    "resourceclaims": ("resource.k8s.io", "ResourceClaim", True),
    "resourceclaimtemplates": ("resource.k8s.io", "ResourceClaimTemplate", True),
    "deployments": ("apps", "Deployment", True),
    "statefulsets": ("apps", "StatefulSet", True),
    "jobs": ("batch", "Job", True),
}


def pages(kind: str, size: Size) -> list[bytes]:
    """The list answers of a kind, one for each page."""
    items = [orjson.dumps(one) for one in MAKERS[kind](size)] if kind in MAKERS else []
    chunks = [items[at : at + PAGE] for at in range(0, len(items), PAGE)] or [[]]
    found = []
    for number, chunk in enumerate(chunks):
        more = str(number + 1) if number + 1 < len(chunks) else ""
        head = orjson.dumps({"resourceVersion": "9000000", "continue": more})
        found.append(b'{"metadata":' + head + b',"items":[' + b",".join(chunk) + b"]}")
    return found


# --- The server
class Replay:
    """What is served, and who watches."""

    def __init__(self, size: Size) -> None:
        self.pages = {kind: pages(kind, size) for kind in (*MAKERS, *EMPTY)}
        self.watchers: dict[str, list[queue.Queue[bytes]]] = {}
        self.lock = threading.Lock()

    def send(self, kind: str, line: bytes) -> None:
        with self.lock:
            for one in self.watchers.get(kind, ()):
                one.put(line)

    def watch(self, kind: str) -> "queue.Queue[bytes]":
        mine: queue.Queue[bytes] = queue.Queue()
        with self.lock:
            self.watchers.setdefault(kind, []).append(mine)
        return mine


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    replay: Replay

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        query = parse_qs(url.query)
        kind = url.path.rpartition("/")[2]
        if url.path in ("/api", "/apis"):
            self._answer(_discovery("" if url.path == "/api" else None))
        elif kind == "version":
            self._answer(b'{"gitVersion":"v1.37.0"}')
        elif "watch" in query:
            self._watch(kind)
        else:
            self._answer(self.replay.pages[kind][int(query.get("continue", ["0"])[0])])

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path.startswith("/replay/"):
            self.replay.send(self.path.rpartition("/")[2], body)
        self._answer(b"{}")

    def _answer(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _watch(self, kind: str) -> None:
        mine = self.replay.watch(kind)
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.flush()
        with contextlib.suppress(OSError):  # the reader went away
            while True:
                line = mine.get() + b"\n"
                self.wfile.write(b"%x\r\n%b\r\n" % (len(line), line))
                self.wfile.flush()


def _discovery(group: str | None) -> bytes:
    groups: dict[str, list[Json]] = {}
    for plural, (its_group, kind, namespaced) in KINDS.items():
        if (its_group == "") == (group == ""):
            scope = "Namespaced" if namespaced else "Cluster"
            entry = {"resource": plural, "responseKind": {"kind": kind}, "scope": scope}
            groups.setdefault(its_group, []).append(entry)
    items = [
        {"metadata": {"name": name}, "versions": [{"version": "v1", "resources": entries}]}
        for name, entries in groups.items()
    ]
    return orjson.dumps({"kind": "APIGroupDiscoveryList", "items": items})


def certificate(folder: Path) -> Path:
    """A certificate for 127.0.0.1 with its key, in one file."""
    import ipaddress

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "replay")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]),
            critical=False,
        )
        .sign(key, hashes.SHA256())
    )
    path = folder / "replay.pem"
    path.write_bytes(
        made.public_bytes(serialization.Encoding.PEM)
        + key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return path


def serve(folder: Path, size: Size) -> None:
    pem = certificate(folder)
    Handler.replay = Replay(size)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    ca = pem.read_text().partition("-----BEGIN PRIVATE")[0]
    address = f"https://127.0.0.1:{server.server_port}"
    ready = {"server": address, "ca": base64.b64encode(ca.encode()).decode()}
    print(json.dumps(ready), flush=True)
    server.serve_forever()


def started(folder: Path, size: Size) -> tuple["subprocess.Popen[str]", dict[str, str]]:
    """The server in a process of its own, and how to reach it."""
    words = [str(size.nodes), str(size.claims), str(size.pods)]
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.replay", str(folder), *words],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    return process, json.loads(process.stdout.readline())


if __name__ == "__main__":
    serve(Path(sys.argv[1]), Size(*(int(word) for word in sys.argv[2:5])))
