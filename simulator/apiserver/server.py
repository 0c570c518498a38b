"""The server: TLS, one event loop, one directory."""

import asyncio
import contextlib
import fcntl
import ssl
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO

from aiohttp import web

from simulator.apiserver.api import Api, WriteOptions
from simulator.apiserver.backends import Gateways, PodBackend
from simulator.apiserver.credentials import Credentials
from simulator.apiserver.deletion import Deleter
from simulator.apiserver.faults import Fault, Faults
from simulator.apiserver.kinds import Kind, Kinds
from simulator.apiserver.lists import Lister
from simulator.apiserver.requests import LARGEST_BODY, Requests, kind_of
from simulator.apiserver.store import Store
from simulator.apiserver.subresources import Subresources

NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")
TAINT_RULES = frozenset({"devicetaintrules.resource.k8s.io"})
SHUTDOWN_SECONDS = 0.2
EVENT_LIFE = timedelta(hours=1)
EXPIRY_SECONDS = 60.0


class InUse(Exception):
    """Somebody else has it; the message is for a person."""


def locked(directory: Path) -> IO[bytes]:
    """Keep the directory from other servers until the file that is given back is closed."""
    directory.mkdir(parents=True, exist_ok=True)
    lock = (directory / "lock").open("ab")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        raise InUse(f"another simulated cluster runs in {directory}") from None
    return lock


@dataclass(frozen=True, slots=True)
class Options:
    """`minor` is the emulated minor version; `history` counts changes of each kind."""

    port: int = 0
    history: int = 4096
    compact_bytes: int = 64 << 20
    minor: int = 37


class Server:
    """A simulated API server. `async with` it; the directory keeps everything.

    Raises InUse where another server has the directory, or the port that was asked for.
    """

    def __init__(self, directory: Path | str, options: Options | None = None) -> None:
        self.directory = Path(directory)
        self._lock = locked(self.directory)
        self.options = options or Options()
        self.credentials = Credentials(self.directory / "pki")
        self.faults = Faults()
        self.store = Store(
            self.directory / "objects",
            history=self.options.history,
            compact_bytes=self.options.compact_bytes,
        )
        withheld = TAINT_RULES if self.options.minor < 37 else frozenset()
        self.api = Api(self.store, Kinds(withheld))
        self.lister = Lister(self.store)
        deleter = Deleter(self.api)
        self._subresources = Subresources(
            self.api, self.credentials, deleter, Gateways(self.store, self.api.kinds)
        )
        self._requests = Requests(
            self.api,
            self.lister,
            self.faults,
            self.credentials,
            self._subresources,
            deleter,
            minor=self.options.minor,
        )
        self._runner: web.AppRunner | None = None
        self._expiry: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self.url = ""

    @property
    def kubeconfig(self) -> str:
        return str(self.directory / "kubeconfig")

    @property
    def token(self) -> str:
        return self.credentials.token

    @property
    def ca(self) -> str:
        return self.credentials.ca

    def serve_pods(self, backend: PodBackend) -> None:
        """Let `backend` answer pod logs and proxies instead of the nodes' own addresses."""
        self._subresources.pods = backend

    def forget_history(self) -> None:
        """Let every older resourceVersion and continue token be answered with 410.

        For other threads than the server's own; returns when it is done.
        """
        assert self._loop is not None

        async def forget() -> None:
            self.store.forget_history()
            self.lister.forget()

        asyncio.run_coroutine_threadsafe(forget(), self._loop).result()

    async def __aenter__(self) -> "Server":
        try:
            return await self._started()
        except BaseException:
            await self.__aexit__()
            raise

    async def _started(self) -> "Server":
        loop = self._loop = asyncio.get_running_loop()
        self.faults.added = lambda fault: _soon(loop, self._requests.strike_watches, fault)
        self._expiry = loop.create_task(self._expire_events())
        self._bootstrap()
        app = web.Application(client_max_size=LARGEST_BODY)
        app.router.add_route("*", "/{path:.*}", self._requests.respond)
        self._runner = web.AppRunner(
            app, handler_cancellation=True, access_log=None, shutdown_timeout=SHUTDOWN_SECONDS
        )
        await self._runner.setup()
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(self.credentials.certificate_file, self.credentials.key_file)
        port = await self._listen(self._runner, context)
        self.url = self._requests.url = f"https://127.0.0.1:{port}"
        Path(self.kubeconfig).write_text(self.credentials.kubeconfig(self.url))
        return self

    async def _listen(self, runner: web.AppRunner, context: ssl.SSLContext) -> int:
        """Open the port that was asked for; without one the last one again, if it is free."""
        known = self.directory / "port"
        last = int(known.read_text()) if known.exists() else 0
        for port in dict.fromkeys((self.options.port or last, self.options.port)):
            site = web.TCPSite(runner, "127.0.0.1", port, ssl_context=context, backlog=512)
            try:
                await site.start()
                break
            except OSError:
                await site.stop()
                if port == self.options.port:
                    raise InUse(f"port {port} of 127.0.0.1 is taken; name another one") from None
        found: int = runner.addresses[0][1]
        known.write_text(str(found))
        return found

    async def __aexit__(self, *_: object) -> None:
        if self._expiry is not None:
            self._expiry.cancel()
        if self._runner is not None:
            await self._runner.cleanup()
        await self._subresources.pods.close()
        self.store.close()
        self._lock.close()

    async def _expire_events(self) -> None:
        """Events live for an hour, as they do on a real server."""
        kind = kind_of(self.api, ("", "v1", "events"))
        while True:
            expire(self.store, kind, datetime.now(UTC) - EVENT_LIFE)
            await asyncio.sleep(EXPIRY_SECONDS)

    def _bootstrap(self) -> None:
        kind = kind_of(self.api, ("", "v1", "namespaces"))
        options = WriteOptions(manager="kube-apiserver")
        for name in NAMESPACES:
            if self.store.get(kind, "", name) is None:
                self.api.create(kind, "", {"metadata": {"name": name}}, options)


def _soon(loop: asyncio.AbstractEventLoop, strike: Callable[[Fault], None], fault: Fault) -> None:
    """Call `strike` on the server's loop, from whatever thread a fault was added in."""
    with contextlib.suppress(RuntimeError):  # the server has ended
        loop.call_soon_threadsafe(strike, fault)


def expire(store: Store, kind: Kind, before: datetime) -> None:
    """Remove the objects of a kind that were last written before a time."""
    limit = before.strftime("%Y-%m-%dT%H:%M:%SZ")
    for entry in list(store.shelf(kind).entries.values()):
        item = entry.parsed()
        meta = item["metadata"]
        written = [o["time"] for o in meta.get("managedFields", ()) if o.get("time")]
        if max([*written, meta["creationTimestamp"]]) < limit:
            store.remove(kind, item)


@contextlib.contextmanager
def running(directory: Path | str, options: Options | None = None) -> Iterator[Server]:
    """A server in a thread; `url`, `kubeconfig`, `token`, `ca` and `faults` are on it."""
    server = Server(directory, options)
    loop = asyncio.new_event_loop()
    started = threading.Event()
    failure: list[BaseException] = []
    stop = asyncio.Event()

    async def serve() -> None:
        try:
            async with server:
                started.set()
                await stop.wait()
            # Connections that were just closed let go of their sockets a turn later.
            await asyncio.sleep(0.05)
        except BaseException as error:
            failure.append(error)
            raise
        finally:
            started.set()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),), daemon=True)
    thread.start()
    started.wait()
    if failure:
        raise failure[0]
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
        loop.close()
