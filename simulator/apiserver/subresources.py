"""Subresources beside status: scale, binding, eviction, log, proxy, token, finalize."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
from aiohttp import web

from simulator.apiserver import disruptions, problems
from simulator.apiserver.answers import answer
from simulator.apiserver.api import Api, Outcome, WriteOptions, now_text
from simulator.apiserver.backends import Call, PodBackend, Reply
from simulator.apiserver.credentials import Credentials
from simulator.apiserver.decoding import loaded
from simulator.apiserver.deletion import DeleteOptions, Deleter
from simulator.apiserver.kinds import Kind
from simulator.apiserver.paths import Target
from simulator.apiserver.problems import Refused
from simulator.apiserver.resources import Resources, write_options
from simulator.apiserver.scaling import Scales

TOKEN_SECONDS = 3600
SHORTEST_TOKEN_SECONDS = 600
_Handler = Callable[[web.BaseRequest, Kind, Target], Awaitable[web.StreamResponse]]


class Subresources:
    def __init__(
        self, api: Api, credentials: Credentials, deleter: Deleter, pods: PodBackend
    ) -> None:
        self._api = api
        self._credentials = credentials
        self._deleter = deleter
        self._scales = Scales(api)
        self.pods = pods
        self._handlers: dict[tuple[str, str], _Handler] = {
            ("pods", "binding"): self._bind,
            ("pods", "eviction"): self._evict,
            ("pods", "log"): self._log,
            ("pods", "proxy"): self._proxy,
            ("serviceaccounts", "token"): self._token,
            ("namespaces", "finalize"): self._finalize,
        }

    async def answered(
        self, request: web.BaseRequest, kind: Kind, wanted: Target, resources: Resources
    ) -> web.StreamResponse:
        """Raises Refused (404) for a subresource that the kind does not have."""
        if wanted.subresource == "scale" and kind.scale:
            outcome = await self._scale(request, kind, wanted)
            return resources.shown_as_is(outcome)
        handler = self._handlers.get((kind.plural, wanted.subresource))
        if handler is None or kind.group:
            raise problems.unknown_resource()
        return await handler(request, kind, wanted)

    async def _scale(self, request: web.BaseRequest, kind: Kind, wanted: Target) -> Outcome:
        if request.method == "GET":
            return self._scales.read(kind, wanted)
        options = write_options(request)
        media = request.headers.get("Content-Type", "").partition(";")[0].strip()
        document = loaded(await request.read(), media)
        if request.method == "PUT":
            return self._scales.write(kind, wanted, document, options)
        if request.method == "PATCH":
            return self._scales.patch(kind, wanted, media, document, options)
        raise problems.method_not_supported()

    async def _body(self, request: web.BaseRequest, method: str = "POST") -> dict[str, Any]:
        if request.method != method:
            raise problems.method_not_supported()
        document = loaded(await request.read(), request.headers.get("Content-Type", ""))
        if not isinstance(document, dict):
            raise problems.bad_request("expected an object")
        return document

    async def _bind(
        self, request: web.BaseRequest, kind: Kind, wanted: Target
    ) -> web.StreamResponse:
        """Give a pod its node, once, as a scheduler does."""
        binding = await self._body(request)
        options = write_options(request)
        node = (binding.get("target") or {}).get("name", "")
        if not node:
            raise problems.bad_request("target.name: Required value")
        entry = self._api.existing(kind, wanted.namespace, wanted.name)
        pod = entry.parsed()
        self._check_binding(kind, pod, binding, node)
        pod["spec"]["nodeName"] = node
        meta = pod["metadata"]
        for name in ("annotations", "labels"):
            if given := (binding.get("metadata") or {}).get(name):
                meta[name] = {**meta.get(name, {}), **given}
        _set_condition(pod, "PodScheduled")
        if not options.dry_run:
            self._api.write_subresource(kind, entry, pod, "binding", options)
        return answer(
            {
                "kind": "Status",
                "apiVersion": "v1",
                "metadata": {},
                "status": "Success",
                "code": 201,
            },
            201,
        )

    def _check_binding(
        self, kind: Kind, pod: dict[str, Any], binding: dict[str, Any], node: str
    ) -> None:
        meta = pod["metadata"]
        uid = (binding.get("metadata") or {}).get("uid")
        if uid and uid != meta["uid"]:
            raise problems.conflict(
                kind,
                meta["name"],
                f"Precondition failed: UID in precondition: {uid}, UID in object meta: "
                f"{meta['uid']}",
            )
        if "deletionTimestamp" in meta:
            raise problems.conflict(
                kind,
                meta["name"],
                f"pod {meta['name']} is being deleted, cannot be assigned to a host",
            )
        if pod["spec"].get("nodeName"):
            raise problems.conflict(
                replace(kind, plural="pods/binding"),
                meta["name"],
                f'pod {meta["name"]} is already assigned to node "{pod["spec"]["nodeName"]}"',
            )

    async def _evict(
        self, request: web.BaseRequest, kind: Kind, wanted: Target
    ) -> web.StreamResponse:
        """Delete a pod unless a disruption budget forbids it (429)."""
        eviction = await self._body(request)
        pod = self._api.existing(kind, wanted.namespace, wanted.name).parsed()
        asked = eviction.get("deleteOptions") or {}
        options = DeleteOptions.read(request.query, orjson.dumps(asked))
        if pod.get("status", {}).get("phase") not in ("Succeeded", "Failed", "Pending"):
            disruptions.spend(self._api, pod, dry_run=options.dry_run)
        self._deleter.delete(kind, wanted.namespace, wanted.name, options)
        return answer(
            {
                "kind": "Status",
                "apiVersion": "v1",
                "metadata": {},
                "status": "Success",
                "code": 201,
            },
            201,
        )

    async def _log(
        self, request: web.BaseRequest, kind: Kind, wanted: Target
    ) -> web.StreamResponse:
        if request.method != "GET":
            raise problems.method_not_supported()
        pod = self._api.existing(kind, wanted.namespace, wanted.name).parsed()
        container = _container(pod, request.query.get("container", ""))
        if not pod["spec"].get("nodeName"):
            return answer(b"")
        query = {k: v for k, v in request.query.items() if k != "container"}
        return await _passed(request, await self.pods.log(pod, container, query), failing=True)

    async def _proxy(
        self, request: web.BaseRequest, kind: Kind, wanted: Target
    ) -> web.StreamResponse:
        name, port = _pod_port(wanted.name)
        pod = self._api.existing(kind, wanted.namespace, name).parsed()
        query = f"?{request.query_string}" if request.query_string else ""
        call = Call(
            request.method,
            port or _first_port(pod),
            f"/{wanted.rest}{query}",
            request.headers,
            await request.read(),
        )
        return await _passed(request, await self.pods.proxy(pod, call))

    async def _token(
        self, request: web.BaseRequest, kind: Kind, wanted: Target
    ) -> web.StreamResponse:
        asked = await self._body(request)
        account = self._api.existing(kind, wanted.namespace, wanted.name).parsed()["metadata"]
        seconds = (asked.get("spec") or {}).get("expirationSeconds") or TOKEN_SECONDS
        if seconds < SHORTEST_TOKEN_SECONDS:
            raise problems.invalid_token_request(seconds)
        expires = datetime.now(UTC) + timedelta(seconds=seconds)
        asked |= {"kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1"}
        asked["metadata"] = {
            "name": account["name"],
            "namespace": wanted.namespace,
            "creationTimestamp": now_text(),
        }
        asked["status"] = {
            "token": self._credentials.account_token(wanted.namespace, account, expires),
            "expirationTimestamp": expires.strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
        return answer(asked, 201)

    async def _finalize(
        self, request: web.BaseRequest, kind: Kind, wanted: Target
    ) -> web.StreamResponse:
        """Replace a namespace's `spec.finalizers`; with none left it goes."""
        document = await self._body(request, "PUT")
        entry = self._api.existing(kind, "", wanted.name)
        item = entry.parsed()
        item["spec"] = document.get("spec") or {}
        options = WriteOptions(manager=write_options(request).manager)
        outcome = self._api.write_subresource(kind, entry, item, "finalize", options)
        return answer(outcome.data, outcome.code)


def _set_condition(pod: dict[str, Any], name: str) -> None:
    conditions = pod.setdefault("status", {}).setdefault("conditions", [])
    conditions[:] = [condition for condition in conditions if condition.get("type") != name]
    conditions.append(
        {"type": name, "status": "True", "lastProbeTime": None, "lastTransitionTime": now_text()}
    )


def _container(pod: dict[str, Any], asked: str) -> str:
    spec, name = pod["spec"], pod["metadata"]["name"]
    main = [container["name"] for container in spec.get("containers", ())]
    starting = [container["name"] for container in spec.get("initContainers", ())]
    if asked:
        if asked not in main + starting:
            raise problems.bad_request(f"container {asked} is not valid for pod {name}")
        return asked
    if len(main) == 1:
        first: str = main[0]
        return first
    choices = f"choose one of: [{' '.join(main)}]"
    if starting:
        choices += f" or one of the init containers: [{' '.join(starting)}]"
    raise problems.bad_request(f"a container name must be specified for pod {name}, {choices}")


def _pod_port(text: str) -> tuple[str, int]:
    """`[http:]NAME[:PORT]`, as the proxy path spells it."""
    parts = text.split(":")
    if parts[0] in ("http", "https") and len(parts) > 1:
        parts = parts[1:]
    if len(parts) == 1:
        return parts[0], 0
    if len(parts) == 2 and parts[1].isdigit():
        return parts[0], int(parts[1])
    raise problems.bad_request(f'invalid pod request "{text}"')


def _first_port(pod: dict[str, Any]) -> int:
    for container in pod["spec"].get("containers", ()):
        for port in container.get("ports", ()):
            number: int = port["containerPort"]
            return number
    return 80


async def _passed(
    request: web.BaseRequest, reply: Reply, *, failing: bool = False
) -> web.StreamResponse:
    """Hand a reply through. With `failing` an error's text becomes a Status."""
    if failing and reply.status >= 400:
        text = b"".join([chunk async for chunk in reply.chunks]).decode(errors="replace").strip()
        raise Refused(reply.status, text)
    response = web.StreamResponse(status=reply.status, headers=reply.headers)
    await response.prepare(request)
    try:
        async for chunk in reply.chunks:
            await response.write(chunk)
        await response.write_eof()
    except ConnectionError:
        await asyncio.sleep(0)
    return response
