"""Subresources beside status: scale, binding, eviction, log, proxy, token, finalize."""

from aiohttp import web

from simulator.apiserver import problems
from simulator.apiserver.api import Api
from simulator.apiserver.backends import NoBackend, PodBackend
from simulator.apiserver.credentials import Credentials
from simulator.apiserver.kinds import Kind
from simulator.apiserver.paths import Target
from simulator.apiserver.resources import Resources


class Subresources:
    def __init__(self, api: Api, credentials: Credentials) -> None:
        self._api = api
        self._credentials = credentials
        self.pods: PodBackend = NoBackend()

    async def answered(
        self, request: web.BaseRequest, kind: Kind, wanted: Target, resources: Resources
    ) -> web.StreamResponse:
        raise problems.unknown_resource()
