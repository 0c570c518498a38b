"""Requests for resources: from method, path, query and body to the verbs of `Api`."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import orjson
from aiohttp import web

from simulator.apiserver import patches, problems
from simulator.apiserver.answers import Accepted, accepted, answer, streamed
from simulator.apiserver.api import Api, Outcome, WriteOptions
from simulator.apiserver.decoding import loaded, object_of
from simulator.apiserver.deletion import DeleteOptions, Deleter
from simulator.apiserver.faults import Fault, Faults
from simulator.apiserver.kinds import Kind
from simulator.apiserver.lists import Lister, list_body, selection, served
from simulator.apiserver.paths import Target
from simulator.apiserver.problems import Refused
from simulator.apiserver.schema import Type
from simulator.apiserver.store import parse_revision
from simulator.apiserver.tables import Tables, metadata_only
from simulator.apiserver.watches import Watch, WatchRequest, error_line

CLIENT_SIDE = "kubectl-client-side-apply"
TRUE = ("true", "1", "True")
_PATCHES = (patches.MERGE, patches.JSON, patches.STRATEGIC, patches.APPLY)


def write_options(request: web.BaseRequest) -> WriteOptions:
    query = request.query
    dry_run = query.get("dryRun", "")
    if dry_run not in ("", "All"):
        raise problems.invalid_options("dryRun", dry_run)
    validation = query.get("fieldValidation", "") or "Warn"
    if validation not in ("Ignore", "Strict", "Warn"):
        raise problems.invalid_options("fieldValidation", validation)
    agent = request.headers.get("User-Agent", "").partition("/")[0]
    manager = query.get("fieldManager", "") or agent or "unknown"
    if manager == CLIENT_SIDE:
        raise problems.bad_request(
            "client-side apply is not offered by this simulated cluster: use "
            "`kubectl apply --server-side`"
        )
    return WriteOptions(
        manager=manager[:128],
        dry_run=dry_run == "All",
        validation=validation,
        force=query.get("force", "") in TRUE,
    )


class Resources:
    """Answers for one resource: collection and object endpoints with `status`."""

    def __init__(self, api: Api, lister: Lister, deleter: Deleter, faults: Faults) -> None:
        self._api = api
        self._lister = lister
        self._deleter = deleter
        self._faults = faults
        self._tables = Tables(api)
        self._watches: dict[int, web.BaseRequest] = {}

    def strike_watches(self, fault: Fault) -> None:
        """Let a new fault fall on the watches that are open."""
        for request in list(self._watches.values()):
            if fault.kind == "away" and fault.concerns("WATCH", request.path):
                _cut(request)
            elif fault.kind == "drop-watch":
                self._drop(request)

    def _drop(self, request: web.BaseRequest) -> None:
        if fault := self._faults.take("WATCH", request.path, "drop-watch"):
            asyncio.get_running_loop().call_later(fault.seconds, _cut, request)

    async def collection(
        self, request: web.BaseRequest, kind: Kind, target: Target
    ) -> web.StreamResponse:
        if request.method == "GET":
            if target.watched or request.query.get("watch", "") in TRUE:
                return await self.watch(request, kind, target)
            return await self._list(request, kind, target)
        if request.method == "POST":
            return await self._create(request, kind, target)
        if request.method == "DELETE":
            return await self._delete_collection(request, kind, target)
        raise problems.method_not_supported()

    async def single(
        self, request: web.BaseRequest, kind: Kind, target: Target
    ) -> web.StreamResponse:
        method = request.method
        if method == "GET" and (target.watched or request.query.get("watch", "") in TRUE):
            return await self.watch(request, kind, target)
        if method == "GET":
            entry = self._api.existing(kind, target.namespace, target.name)
            return self.shown(request, kind, Outcome(200, served(kind, entry)))
        if method == "PUT":
            return await self._update(request, kind, target)
        if method == "PATCH":
            return self.shown(request, kind, await self._patch(request, kind, target))
        if method == "DELETE" and not target.subresource:
            return await self._delete(request, kind, target)
        raise problems.method_not_supported()

    def shown(self, request: web.BaseRequest, kind: Kind, outcome: Outcome) -> web.Response:
        """An object in the form that the client accepts."""
        form = accepted(request.headers.get("Accept", ""))
        body: Any = outcome.data
        if form.form == "Table":
            body = self._tables.table(kind, [outcome.data], request.query, None)
        elif form.form == "PartialObjectMetadata":
            body = metadata_only(orjson.loads(outcome.data))
        return answer(body, outcome.code, outcome.warnings)

    def shown_as_is(self, outcome: Outcome) -> web.Response:
        return answer(outcome.data, outcome.code, outcome.warnings)

    async def _list(
        self, request: web.BaseRequest, kind: Kind, target: Target
    ) -> web.StreamResponse:
        query = request.query
        form = accepted(request.headers.get("Accept", ""))
        limit = _whole_number(query, "limit")
        chosen = selection(
            kind, target.namespace, query.get("labelSelector", ""), query.get("fieldSelector", "")
        )
        _check_list_revision(query, self._api.store.revision)
        page = self._lister.page(chosen, limit, query.get("continue", ""))
        if form.form == "Table":
            rows = [entry.data for entry in page.entries]
            return answer(self._tables.table(kind, rows, query, page))
        if form.form == "PartialObjectMetadataList":
            return answer(self._tables.metadata_list(page))
        return await streamed(request, list_body(kind, page))

    async def watch(
        self, request: web.BaseRequest, kind: Kind, target: Target
    ) -> web.StreamResponse:
        query = request.query
        chosen = selection(
            kind,
            target.namespace,
            query.get("labelSelector", ""),
            query.get("fieldSelector", ""),
            target.name,
        )
        form = accepted(request.headers.get("Accept", ""))
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        wanted = _watch_request(query, chosen)
        try:
            if self._faults.take("WATCH", request.path, "410"):
                raise problems.too_old(wanted.revision or 0, self._api.store.revision)
            watch = Watch(self._api.store, wanted, self._shown_in_watch(kind, query, form))
        except Refused as failure:
            if failure.code != 410:
                raise
            await response.prepare(request)
            await response.write(error_line(failure))
            return response
        await response.prepare(request)
        await self._pump(request, response, watch)
        return response

    async def _pump(
        self, request: web.BaseRequest, response: web.StreamResponse, watch: Watch
    ) -> None:
        fault = self._faults.take("WATCH", request.path, "half-watch")
        self._drop(request)
        self._watches[id(request)] = request
        try:
            async for chunk in watch.chunks():
                if fault:
                    await response.write(chunk[: len(chunk) // 2])
                    _cut(request)
                    return
                await response.write(chunk)
        except Refused as failure:
            await response.write(error_line(failure))
        except ConnectionError:
            return
        finally:
            del self._watches[id(request)]

    def _shown_in_watch(
        self, kind: Kind, query: Mapping[str, str], form: Accepted
    ) -> Callable[[bytes], bytes]:
        if form.form == "Table":
            return self._tables.in_watch(kind, query)
        if form.form == "PartialObjectMetadata":
            return lambda data: orjson.dumps(metadata_only(orjson.loads(data)))
        return lambda data: data

    async def _create(
        self, request: web.BaseRequest, kind: Kind, target: Target
    ) -> web.StreamResponse:
        if kind.namespaced and not target.namespace:
            raise problems.method_not_supported()
        options = write_options(request)
        document = loaded(await request.read(), request.headers.get("Content-Type", ""))
        item = object_of(kind, document)
        outcome = self._api.create(kind, target.namespace, item, options)
        return self.shown(request, kind, outcome)

    async def _update(
        self, request: web.BaseRequest, kind: Kind, target: Target
    ) -> web.StreamResponse:
        options = write_options(request)
        document = loaded(await request.read(), request.headers.get("Content-Type", ""))
        item = object_of(kind, document)
        name = item["metadata"].get("name", "")
        if name != target.name:
            raise problems.bad_request(
                f"the name of the object ({name}) does not match the name on the URL "
                f"({target.name})"
            )
        outcome = self._api.update(kind, target.namespace, item, options, target.subresource)
        return self.shown(request, kind, outcome)

    async def _patch(self, request: web.BaseRequest, kind: Kind, target: Target) -> Outcome:
        media = request.headers.get("Content-Type", "").partition(";")[0].strip()
        if media not in _PATCHES or (media == patches.STRATEGIC and kind.custom):
            raise Refused(415, "415: Unsupported Media Type", details={})
        if media == patches.APPLY and not request.query.get("fieldManager"):
            raise problems.invalid_options("fieldManager", "")
        options = write_options(request)
        document = loaded(await request.read(), media)
        if media == patches.APPLY:
            config = object_of(kind, document, applying=True)
            return self._api.apply(
                kind, target.namespace, target.name, config, options, target.subresource
            )
        change = _change(media, document, self._api.type_of(kind))
        return self._api.patch(
            kind, target.namespace, target.name, change, options, target.subresource
        )

    async def _delete(
        self, request: web.BaseRequest, kind: Kind, target: Target
    ) -> web.StreamResponse:
        options = DeleteOptions.read(request.query, await request.read(), _media(request))
        outcome = self._deleter.delete(kind, target.namespace, target.name, options)
        return self.shown(request, kind, outcome) if outcome.code == 200 else answer(outcome.data)

    async def _delete_collection(
        self, request: web.BaseRequest, kind: Kind, target: Target
    ) -> web.StreamResponse:
        if kind.namespaced and not target.namespace:
            raise problems.method_not_supported()
        query = request.query
        options = DeleteOptions.read(query, await request.read(), _media(request))
        chosen = selection(
            kind, target.namespace, query.get("labelSelector", ""), query.get("fieldSelector", "")
        )
        page = self._lister.page(chosen, 0, "")
        for entry in page.entries:
            self._deleter.delete(kind, entry.namespace, entry.name, options)
        return await streamed(request, list_body(kind, page))


def _media(request: web.BaseRequest) -> str:
    return request.headers.get("Content-Type", "")


def _cut(request: web.BaseRequest) -> None:
    if request.transport is not None:
        request.transport.abort()


def _whole_number(query: Mapping[str, str], name: str) -> int:
    text = query.get(name, "") or "0"
    try:
        return max(int(text), 0)
    except ValueError:
        raise problems.bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax') from None


def _check_list_revision(query: Mapping[str, str], current: int) -> None:
    """A list "not older than" a revision that is still to come cannot be answered."""
    asked = query.get("resourceVersion", "")
    if asked and parse_revision(asked) > current:
        raise Refused(
            504,
            f"Too large resource version: {asked}, current: {current}",
            details={
                "causes": [
                    {
                        "reason": "ResourceVersionTooLarge",
                        "message": "Too large resource version",
                    }
                ],
                "retryAfterSeconds": 1,
            },
        )


def _watch_request(query: Mapping[str, str], chosen: Any) -> WatchRequest:
    asked = query.get("resourceVersion", "")
    revision = None if asked in ("", "0") else parse_revision(asked)
    initial = query.get("sendInitialEvents", "") in TRUE
    seconds = _whole_number(query, "timeoutSeconds")
    return WatchRequest(
        chosen,
        None if initial else revision,
        bookmarks=query.get("allowWatchBookmarks", "") in TRUE,
        initial=initial,
        seconds=float(seconds or 1800),
    )


def _change(
    media: str, document: Any, kind_type: Type
) -> Callable[[dict[str, Any]], dict[str, Any]]:
    def changed(item: dict[str, Any]) -> dict[str, Any]:
        if media == patches.JSON:
            result = patches.json_patch(item, document)
        elif media == patches.MERGE:
            result = patches.merge_patch(item, document)
        else:
            result = patches.strategic_merge(item, document, kind_type)
        if not isinstance(result, dict):
            raise problems.bad_request(
                "error decoding patch: json: cannot unmarshal number into Go value of type "
                "map[string]interface {}"
            )
        return result

    return changed
