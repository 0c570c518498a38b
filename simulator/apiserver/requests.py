"""Every request of the server: who asks, which faults strike, where it goes."""

import asyncio
from datetime import UTC, datetime
from typing import Any

import orjson
from aiohttp import web

from simulator.apiserver import discovery, openapi, problems, reviews
from simulator.apiserver.answers import answer, plain, refusal
from simulator.apiserver.api import Api
from simulator.apiserver.credentials import ADMIN, Credentials
from simulator.apiserver.deletion import Deleter
from simulator.apiserver.faults import Fault, Faults
from simulator.apiserver.health import HEALTH, version
from simulator.apiserver.kinds import Kind
from simulator.apiserver.lists import Lister
from simulator.apiserver.paths import Target, target
from simulator.apiserver.problems import Refused
from simulator.apiserver.resources import TRUE, Resources
from simulator.apiserver.subresources import Subresources

OPEN = (*HEALTH, "version")
LARGEST_BODY = 3 << 20


class Requests:
    def __init__(
        self,
        api: Api,
        lister: Lister,
        faults: Faults,
        credentials: Credentials,
        subresources: Subresources,
        deleter: Deleter,
        *,
        minor: int,
    ) -> None:
        self._api = api
        self._lister = lister
        self._faults = faults
        self._credentials = credentials
        self._resources = Resources(api, lister, deleter, faults)
        self._subresources = subresources
        self._minor = minor
        self.url = ""
        self.strike_watches = self._resources.strike_watches

    async def respond(self, request: web.Request) -> web.StreamResponse:
        try:
            return await self._answer(request)
        except Refused as failure:
            return refusal(failure)
        except RecursionError:
            return refusal(problems.bad_request("the object is nested too deeply"))
        except web.HTTPRequestEntityTooLarge:
            return refusal(problems.too_large(LARGEST_BODY))

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        path = request.path.strip("/")
        first = path.partition("/")[0]
        if first == "simulator":
            self._user(request)
            return await self._admin(request, path)
        await self._strike(request)
        if first in OPEN:
            return self._open(first)
        user = self._user(request)
        wanted = target(request.raw_path.partition("?")[0])
        if wanted is not None:
            return await self._resource(request, wanted, user)
        return self._document(request, path)

    async def _strike(self, request: web.Request) -> None:
        """Let a fault happen. Raises Refused, or cuts the connection."""
        watching = request.query.get("watch", "") in TRUE
        method = "WATCH" if watching else request.method
        if fault := self._faults.take(method, request.path, "latency"):
            await asyncio.sleep(fault.seconds)
        if self._faults.take(method, request.path, "away"):
            if request.transport is not None:
                request.transport.abort()
            raise Refused(503, "the server is away")
        if fault := self._faults.take(method, request.path, "429"):
            raise problems.too_many_requests(int(fault.seconds) or 1)
        if self._faults.take(method, request.path, "500"):
            raise Refused(500, "Internal error occurred: simulated fault")
        if self._faults.take(method, request.path, "expired-token"):
            raise problems.unauthorized()
        if not watching and self._faults.take(method, request.path, "410"):
            self._lister.forget()
            raise Refused(410, "The provided continue parameter is too old", details={})
        if method in ("PUT", "PATCH", "POST", "DELETE"):
            self._strike_writes(method, request)

    def _strike_writes(self, method: str, request: web.Request) -> None:
        if not self._faults.take(method, request.path, "conflict"):
            return
        wanted = target(request.path)
        kind = wanted and self._api.kinds.find(wanted.group, wanted.version, wanted.plural)
        if wanted and kind:
            raise problems.conflict(kind, wanted.name)

    def _user(self, request: web.Request) -> dict[str, Any]:
        """Who asks. Raises Refused (401) for a missing, foreign or expired token."""
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if not scheme:
            raise problems.anonymous(request.method, target(request.path), request.path)
        if scheme.lower() != "bearer" or not token:
            raise problems.unauthorized()
        if token == self._credentials.token:
            name, groups = ADMIN, ["system:masters", "system:authenticated"]
        else:
            claims = self._credentials.claims_of(token, datetime.now(UTC))
            if claims is None:
                raise problems.unauthorized()
            name = claims["sub"]
            groups = ["system:serviceaccounts", "system:authenticated"]
        if impersonated := request.headers.get("Impersonate-User"):
            name = impersonated
            groups = [*request.headers.getall("Impersonate-Group", []), "system:authenticated"]
        return {"username": name, "groups": groups}

    def _open(self, first: str) -> web.Response:
        return answer(version(self._minor)) if first == "version" else plain("ok")

    async def _resource(
        self, request: web.Request, wanted: Target, user: dict[str, Any]
    ) -> web.StreamResponse:
        if wanted.group in discovery.REVIEWS and wanted.version == "v1":
            return await reviews.answered(request, wanted, user)
        kind = self._api.kinds.find(wanted.group, wanted.version, wanted.plural)
        if kind is None:
            return self._unknown(wanted)
        if wanted.namespace and not kind.namespaced:
            raise problems.unknown_resource()
        if wanted.subresource and wanted.subresource != "status":
            return await self._subresources.answered(request, kind, wanted, self._resources)
        if wanted.subresource == "status" and not kind.status:
            raise problems.unknown_resource()
        if wanted.name:
            if kind.namespaced and not wanted.namespace:
                raise problems.unknown_resource()
            return await self._resources.single(request, kind, wanted)
        return await self._resources.collection(request, kind, wanted)

    def _unknown(self, wanted: Target) -> web.Response:
        if not wanted.group or wanted.group in discovery.groups(self._api.kinds):
            raise problems.unknown_resource()
        return plain("404 page not found\n", 404)

    def _document(self, request: web.Request, path: str) -> web.Response:
        """Discovery and OpenAPI documents."""
        parts = path.split("/")
        kinds = self._api.kinds
        body: Any = None
        if parts in (["api"], ["apis"]):
            body = self._index(request, parts[0])
        elif parts[0] == "api" and len(parts) == 2:
            body = _known(discovery.resource_list(kinds, "", parts[1]))
        elif parts[0] == "apis" and len(parts) == 2:
            body = discovery.one_group(kinds, parts[1])
        elif parts[0] == "apis" and len(parts) == 3:
            body = discovery.resource_list(kinds, parts[1], parts[2])
            if body is None and parts[1] in discovery.groups(kinds):
                raise problems.unknown_resource()
        elif parts[0] == "openapi":
            body = openapi.document(self._api, "/".join(parts[1:]))
        elif not path:
            body = {"paths": ["/api", "/apis", "/healthz", "/livez", "/openapi/v3", "/version"]}
        if body is None:
            return plain("404 page not found\n", 404)
        return body if isinstance(body, web.Response) else answer(body)

    def _index(self, request: web.Request, root: str) -> Any:
        accept = request.headers.get("Accept", "").replace(" ", "").lower()
        for parameters, api_version in discovery.AGGREGATED.items():
            if parameters in accept:
                body = discovery.aggregated(self._api.kinds, api_version, core=root == "api")
                response = answer(body)
                response.headers["Content-Type"] = f"application/json;{_spelled(parameters)}"
                return response
        if root == "api":
            return discovery.core_versions(self.url.removeprefix("https://"))
        return discovery.group_list(self._api.kinds)

    async def _admin(self, request: web.Request, path: str) -> web.Response:
        """The simulator's own endpoint: faults can be listed, added and cleared."""
        if path != "simulator/faults":
            return plain("404 page not found\n", 404)
        if request.method == "POST":
            try:
                self._faults.add(Fault(**orjson.loads(await request.read())))
            except (TypeError, ValueError) as failure:
                raise problems.bad_request(f"not a fault: {failure}") from None
        elif request.method == "DELETE":
            self._faults.clear()
        elif request.method != "GET":
            raise problems.method_not_supported()
        return answer({"faults": self._faults.listed()})


def _known(found: dict[str, Any] | None) -> dict[str, Any]:
    if found is None:
        raise problems.unknown_resource()
    return found


def _spelled(parameters: str) -> str:
    return parameters.replace("apigroupdiscoverylist", "APIGroupDiscoveryList")


def kind_of(api: Api, resource: tuple[str, str, str]) -> Kind:
    found = api.kinds.find(*resource)
    assert found is not None
    return found
