"""A small Kubernetes client: just the calls that nodes, drivers and controllers make."""

import asyncio
import base64
import json
import ssl
import tempfile
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import aiohttp
import orjson
import yaml

type Json = dict[str, Any]

MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"


class ApiError(Exception):
    """The API server refused, or could not be reached (status 0)."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(f"{status} {reason}: {message}")
        self.status = status
        self.reason = reason
        self.message = message

    @property
    def is_missing(self) -> bool:
        return self.status == 404

    @property
    def is_conflict(self) -> bool:
        return self.status == 409

    @property
    def is_expired(self) -> bool:
        return self.status == 410


@dataclass(frozen=True, slots=True)
class Kind:
    """A served kind: where its objects live and what they are called."""

    version: str
    plural: str
    kind: str
    namespaced: bool = True

    def path(self, namespace: str = "", name: str = "", sub: str = "") -> str:
        root = "/api/v1" if self.version == "v1" else f"/apis/{self.version}"
        parts = [root]
        if self.namespaced and namespace:
            parts += ["namespaces", namespace]
        parts.append(self.plural)
        return "/".join([*parts, *(part for part in (name, sub) if part)])


NODES = Kind("v1", "nodes", "Node", namespaced=False)
NAMESPACES = Kind("v1", "namespaces", "Namespace", namespaced=False)
PODS = Kind("v1", "pods", "Pod")
EVENTS = Kind("v1", "events", "Event")
SERVICES = Kind("v1", "services", "Service")
CONFIG_MAPS = Kind("v1", "configmaps", "ConfigMap")
SERVICE_ACCOUNTS = Kind("v1", "serviceaccounts", "ServiceAccount")
LEASES = Kind("coordination.k8s.io/v1", "leases", "Lease")
DEPLOYMENTS = Kind("apps/v1", "deployments", "Deployment")
REPLICA_SETS = Kind("apps/v1", "replicasets", "ReplicaSet")
DAEMON_SETS = Kind("apps/v1", "daemonsets", "DaemonSet")
STATEFUL_SETS = Kind("apps/v1", "statefulsets", "StatefulSet")
BUDGETS = Kind("policy/v1", "poddisruptionbudgets", "PodDisruptionBudget")
ENDPOINT_SLICES = Kind("discovery.k8s.io/v1", "endpointslices", "EndpointSlice")
CLAIMS = Kind("resource.k8s.io/v1", "resourceclaims", "ResourceClaim")
TEMPLATES = Kind("resource.k8s.io/v1", "resourceclaimtemplates", "ResourceClaimTemplate")
CLASSES = Kind("resource.k8s.io/v1", "deviceclasses", "DeviceClass", namespaced=False)
SLICES = Kind("resource.k8s.io/v1", "resourceslices", "ResourceSlice", namespaced=False)
TAINT_RULES = Kind("resource.k8s.io/v1", "devicetaintrules", "DeviceTaintRule", namespaced=False)


class Api:
    """One connection pool with one identity; use as an async context manager."""

    def __init__(self, kubeconfig: str | Path) -> None:
        self.url, self._ssl, self._headers = _credentials(Path(kubeconfig))
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            base_url=self.url,
            headers=self._headers | {"User-Agent": "fleet", "Accept": "application/json"},
            connector=aiohttp.TCPConnector(ssl=self._ssl or True, limit=0),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=10),
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._session:
            await self._session.close()
            # TLS connections say goodbye after close() has returned.
            await asyncio.sleep(0.25)

    async def call(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        params: dict[str, str] | None = None,
        content: str = "application/json",
    ) -> Json:
        """Raises ApiError; status 0 when the server cannot be reached in 30 s."""
        assert self._session
        try:
            async with self._session.request(
                method,
                path,
                params=params,
                data=None if body is None else orjson.dumps(body),
                headers={"Content-Type": content} if body is not None else None,
                timeout=aiohttp.ClientTimeout(total=30),
            ) as answer:
                raw = await answer.read()
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise ApiError(0, "Unreachable", str(error) or type(error).__name__) from None
        if answer.status >= 400:
            raise _refusal(answer.status, raw)
        try:
            return orjson.loads(raw) if raw else {}
        except orjson.JSONDecodeError as error:
            raise ApiError(0, "Garbled", str(error)) from None

    async def get(self, kind: Kind, namespace: str, name: str) -> Json:
        return await self.call("GET", kind.path(namespace, name))

    async def list(self, kind: Kind, **params: str) -> tuple[list[Json], str]:
        """All objects, page by page, with the resource version to watch from."""
        items: list[Json] = []
        asked = {"limit": "500"} | params
        while True:
            answer = await self.call("GET", kind.path(), params=asked)
            items += answer.get("items") or []
            meta = answer.get("metadata") or {}
            if not meta.get("continue"):
                return items, str(meta.get("resourceVersion", ""))
            asked["continue"] = meta["continue"]

    async def create(self, kind: Kind, body: Json, namespace: str = "") -> Json:
        head = {"apiVersion": kind.version, "kind": kind.kind}
        place = namespace or body["metadata"].get("namespace", "")
        return await self.call("POST", kind.path(place), head | body)

    async def replace(self, kind: Kind, body: Json, sub: str = "") -> Json:
        meta = body["metadata"]
        path = kind.path(meta.get("namespace", ""), meta["name"], sub)
        return await self.call("PUT", path, {"apiVersion": kind.version, "kind": kind.kind} | body)

    async def merge(self, kind: Kind, namespace: str, name: str, body: Json, sub: str = "") -> Json:
        return await self.call("PATCH", kind.path(namespace, name, sub), body, content=MERGE)

    async def delete(
        self, kind: Kind, namespace: str, name: str, *, uid: str = "", grace: int | None = None
    ) -> None:
        """Gone already is fine; a uid that is another object's raises ApiError 409."""
        options: Json = {"kind": "DeleteOptions", "apiVersion": "v1"}
        if uid:
            options["preconditions"] = {"uid": uid}
        if grace is not None:
            options["gracePeriodSeconds"] = grace
        if kind is not PODS:
            options["propagationPolicy"] = "Background"
        try:
            await self.call("DELETE", kind.path(namespace, name), options)
        except ApiError as error:
            if not error.is_missing:
                raise

    async def watch(self, kind: Kind, version: str) -> AsyncIterator[tuple[str, Json]]:
        """Events until the server ends the stream. Raises ApiError, 410 when too old."""
        assert self._session
        params = {
            "watch": "1",
            "resourceVersion": version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": "600",
        }
        try:
            async with self._session.get(
                kind.path(), params=params, read_bufsize=2**22, timeout=aiohttp.ClientTimeout()
            ) as answer:
                if answer.status >= 400:
                    raise _refusal(answer.status, await answer.read())
                async for line in _lines(answer.content):
                    event = orjson.loads(line)
                    if event["type"] == "ERROR":
                        status = event["object"]
                        raise ApiError(status.get("code", 0), status.get("reason", ""), str(status))
                    yield event["type"], event["object"]
        except (aiohttp.ClientError, OSError, TimeoutError, orjson.JSONDecodeError) as error:
            raise ApiError(0, "Unreachable", str(error) or type(error).__name__) from None


async def _lines(stream: aiohttp.StreamReader) -> AsyncIterator[bytes]:
    """Lines of any length; a half line at the end of a broken stream is dropped."""
    rest = b""
    async for chunk in stream.iter_any():
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            if line:
                yield line


def _refusal(status: int, raw: bytes) -> ApiError:
    try:
        body = orjson.loads(raw)
        return ApiError(status, str(body.get("reason", "")), str(body.get("message", "")))
    except (orjson.JSONDecodeError, AttributeError):
        return ApiError(status, "", raw[:200].decode("utf-8", "replace"))


def _credentials(path: Path) -> tuple[str, ssl.SSLContext | None, dict[str, str]]:
    config = yaml.safe_load(path.read_text(encoding="utf-8"))
    context = _named(config["contexts"], config["current-context"])["context"]
    cluster = _named(config["clusters"], context["cluster"])["cluster"]
    user = _named(config["users"], context["user"])["user"]
    server = str(cluster["server"]).rstrip("/")
    headers = {"Authorization": f"Bearer {user['token']}"} if "token" in user else {}
    if not server.startswith("https:"):
        return server, None, headers
    authority = _file_or_data(cluster, "certificate-authority")
    tls = ssl.create_default_context(cadata=authority.decode() if authority else None)
    certificate, key = (_file_or_data(user, f"client-{part}") for part in ("certificate", "key"))
    if certificate and key:
        with tempfile.NamedTemporaryFile() as pair:
            pair.write(certificate + b"\n" + key)
            pair.flush()
            tls.load_cert_chain(pair.name)
    return server, tls, headers


def _named(entries: list[Json], name: str) -> Json:
    return next(entry for entry in entries if entry["name"] == name)


def _file_or_data(table: Json, key: str) -> bytes:
    if f"{key}-data" in table:
        return base64.b64decode(table[f"{key}-data"])
    return Path(table[key]).read_bytes() if key in table else b""


def plain(value: object) -> str:
    """Canonical JSON, to compare two states."""
    return json.dumps(value, sort_keys=True)
