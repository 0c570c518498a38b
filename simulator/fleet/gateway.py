"""Ways into pods: an HTTP gateway for the simulated API server, a CONNECT proxy for a real one.

Pod addresses exist in here only. The gateway answers `/pods/IP/PORT/path` and the kubelet's
`/containerLogs/NAMESPACE/POD/CONTAINER`. The proxy answers `CONNECT IP:PORT` on a unix socket, as
kube-apiserver's egress selector dials it: pods in plain HTTP, a node's port 10250 with TLS.
"""

import asyncio
import datetime
import os
import ssl
import tempfile
import weakref
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any

from aiohttp import web

from simulator.fleet.container import Container
from simulator.fleet.kubelet import Kubelet
from simulator.fleet.pod import PodWorker
from simulator.fleet.programs import Picker, Serving
from simulator.fleet.serving.http import respond

type Json = dict[str, Any]
type Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]

KUBELET_PORT = 10250


class Refused(Exception):
    """Nothing listens there."""


class Pods:
    """Finds running containers by pod address or name."""

    def __init__(self, kubelets: Iterable[Kubelet]) -> None:
        self._kubelets = list(kubelets)

    def workers(self) -> Iterable[PodWorker]:
        for kubelet in self._kubelets:
            if not kubelet.machine.silent:
                yield from kubelet.workers.values()

    def at(self, address: str) -> PodWorker:
        for worker in self.workers():
            if worker.address == address:
                return worker
        raise Refused(f"no route to {address}")

    def named(self, namespace: str, name: str) -> PodWorker:
        for worker in self.workers():
            if (worker.namespace, worker.name) == (namespace, name):
                return worker
        raise Refused(f'pod "{name}" not found')

    def listening(self, address: str, port: int) -> Container:
        for container in self.at(address).containers:
            program = container.program
            if container.is_running and program and program.answers(port, "/") is not None:
                return container
        raise Refused(f"dial tcp {address}:{port}: connect: connection refused")

    def has_node(self, address: str) -> bool:
        """By InternalIP or by the host name that the API server prefers."""
        return any(
            address in {k.machine.address, k.machine.name} and not k.machine.silent
            for k in self._kubelets
        )


async def answer(
    pods: Pods, request: web.BaseRequest, address: str, port: int, path: str
) -> web.StreamResponse:
    """The pod's own answer. Raises Refused."""
    program = pods.listening(address, port).program
    if isinstance(program, Serving) and program.server:
        return await respond(program.server, request, path)
    if isinstance(program, Picker) and path == "/metrics":
        return web.Response(text=program.page())
    if path == "/metrics":
        return web.Response(status=404, text="404 page not found\n")
    return web.Response(text=f"hello from {address}:{port}{path}\n")


async def logs(pods: Pods, request: web.BaseRequest, path: str) -> web.StreamResponse:
    """`/containerLogs/NAMESPACE/POD/CONTAINER` with the kubelet's parameters."""
    parts = path.strip("/").split("/")
    if len(parts) != 4 or parts[0] != "containerLogs":
        return web.Response(status=404, text="404 page not found\n")
    worker = pods.named(parts[1], parts[2])
    container = next((c for c in worker.containers if c.name == parts[3]), None)
    if container is None:
        return web.Response(status=404, text=f"container {parts[3]} not found\n")
    query = request.query
    log = container.log
    if query.get("previous") == "true":
        if container.previous is None:
            text = f'previous terminated container "{container.name}" in pod "{worker.name}" '
            return web.Response(status=400, text=text + "not found\n")
        log = container.previous
    if not container.container_id:
        text = f'container "{container.name}" in pod "{worker.name}" is waiting to start'
        return web.Response(status=400, text=f"{text}: ContainerCreating\n")
    stamps = query.get("timestamps") == "true"
    text = log.tail(_whole(query.get("tailLines")), since=_since(query), stamps=stamps)
    limit = _whole(query.get("limitBytes"))
    if query.get("follow") != "true":
        return web.Response(body=text.encode()[:limit], content_type="text/plain")
    out = web.StreamResponse(headers={"Content-Type": "text/plain"})
    await out.prepare(request)
    await out.write(text.encode())
    async for line in log.follow(stamps=stamps):
        await out.write(line.encode())
    await out.write_eof()
    return out


def _whole(text: str | None) -> int | None:
    return int(text) if text and text.isdigit() else None


def _since(query: Any) -> float | None:
    seconds = _whole(query.get("sinceSeconds"))
    if seconds is not None:
        return float(seconds)
    stamp = query.get("sinceTime")
    if not stamp:
        return None
    try:
        since = datetime.datetime.fromisoformat(stamp)
    except ValueError:
        return None
    return (datetime.datetime.now(datetime.UTC) - since).total_seconds()


class Gateway:
    """The HTTP listener on a free loopback port."""

    def __init__(self) -> None:
        self._pods = Pods(())
        self._runner = web.ServerRunner(web.Server(self._handle, access_log=None))
        self.url = ""

    def serve(self, pods: Pods) -> None:
        """Kubelets name the gateway's address, so it has to listen before there are any."""
        self._pods = pods

    async def start(self) -> None:
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        port = self._runner.addresses[0][1]
        self.url = f"http://127.0.0.1:{port}"

    async def stop(self) -> None:
        await self._runner.cleanup()

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            if request.path.startswith("/containerLogs/"):
                return await logs(self._pods, request, request.path)
            parts = request.path.split("/", 4)
            if len(parts) < 4 or parts[1] != "pods" or not parts[3].isdigit():
                return web.Response(status=404, text="404 page not found\n")
            path = "/" + (parts[4] if len(parts) > 4 else "")
            return await answer(self._pods, request, parts[2], int(parts[3]), path)
        except Refused as error:
            return web.Response(status=502, text=f"{error}\n", headers={"X-Refused": "true"})


class Egress:
    """The CONNECT proxy on a unix socket."""

    def __init__(self, pods: Pods, path: Path) -> None:
        self._pods = pods
        self._path = path
        self._server: asyncio.Server | None = None
        self._tls = _self_signed()
        self.open: weakref.WeakSet[asyncio.BaseTransport] = weakref.WeakSet()

    async def start(self) -> None:
        self._path.unlink(missing_ok=True)
        loop = asyncio.get_running_loop()
        self._server = await loop.create_unix_server(lambda: _Connect(self), str(self._path))

    async def stop(self) -> None:
        """Also the connections that the API server keeps open for the next request."""
        if self._server:
            self._server.close()
        for transport in list(self.open):
            transport.close()
        await asyncio.sleep(0)
        self._path.unlink(missing_ok=True)

    def handler(self, address: str, port: int) -> tuple[Handler, ssl.SSLContext | None]:
        """What serves `address:port`. Raises Refused."""
        if self._pods.has_node(address) and port == KUBELET_PORT:
            return self._kubelet, self._tls
        self._pods.listening(address, port)

        async def pod(request: web.BaseRequest) -> web.StreamResponse:
            try:
                return await answer(self._pods, request, address, port, request.path)
            except Refused as error:
                return web.Response(status=502, text=f"{error}\n")

        return pod, None

    async def _kubelet(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            return await logs(self._pods, request, request.path)
        except Refused as error:
            return web.Response(status=404, text=f"{error}\n")


class _Connect(asyncio.Protocol):
    """Reads one CONNECT, then hands the connection over to an HTTP server of its own."""

    def __init__(self, egress: Egress) -> None:
        self._egress = egress
        self._head = b""
        self._transport: asyncio.Transport | None = None
        self._work: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._egress.open.add(transport)

    def data_received(self, data: bytes) -> None:
        self._head += data
        if b"\r\n\r\n" in self._head and self._work is None:
            self._work = asyncio.create_task(self._open())
        elif len(self._head) > 65536 and self._transport:
            self._transport.abort()

    async def _open(self) -> None:
        transport = self._transport
        assert transport
        head, _, early = self._head.partition(b"\r\n\r\n")
        words = head.split(b"\r\n")[0].decode("latin-1").split()
        try:
            if len(words) != 3 or words[0] != "CONNECT":
                raise Refused("expected CONNECT")
            host, _, port = words[1].rpartition(":")
            handler, tls = self._egress.handler(host.strip("[]"), int(port))
        except (Refused, ValueError) as error:
            body = str(error).encode()
            status = b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: %d\r\n\r\n" % len(body)
            transport.write(status + body)
            transport.close()
            return
        transport.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        server = web.Server(handler, access_log=None)()
        if tls:
            loop = asyncio.get_running_loop()
            try:
                secured = await loop.start_tls(transport, server, tls, server_side=True)
            except (OSError, ssl.SSLError):
                transport.abort()
                return
            if secured:
                self._egress.open.add(secured)
                server.connection_made(secured)
            return
        transport.set_protocol(server)
        server.connection_made(transport)
        if early:
            server.data_received(early)


def _self_signed() -> ssl.SSLContext:
    """kube-apiserver does not check a kubelet's certificate unless told to."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "simulated-kubelet")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=3650))
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    descriptor, path = tempfile.mkstemp()
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(certificate.public_bytes(serialization.Encoding.PEM) + private)
        context.load_cert_chain(path)
    finally:
        Path(path).unlink()
    return context
