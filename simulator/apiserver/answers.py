"""HTTP answers: JSON bodies, Status bodies, and what the client accepts."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import orjson
from aiohttp import web

from simulator.apiserver.problems import Refused

CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Accepted:
    """What a client wants to see: `form` is "", Table, PartialObjectMetadata or ...List."""

    form: str = ""
    parameters: str = ""


def accepted(header: str) -> Accepted:
    """The first form in the Accept header that can be served. Raises Refused (406)."""
    for part in header.split(",") or [""]:
        media, *parameters = [word.strip() for word in part.split(";")]
        if media not in ("", "*/*", "application/*", "application/json"):
            continue
        wanted = {k: v for k, _, v in (word.partition("=") for word in parameters)}
        return Accepted(wanted.get("as", ""), ";".join(parameters))
    raise Refused(
        406,
        "406: Not Acceptable\n\nAvailable representations: application/json, "
        "application/json;stream=watch",
        details={},
    )


def encoded(body: Any) -> bytes:
    return body if isinstance(body, bytes) else orjson.dumps(body)


def answer(body: Any, code: int = 200, warnings: Iterable[str] = ()) -> web.Response:
    response = web.Response(body=encoded(body), status=code, content_type="application/json")
    for text in warnings:
        escaped = text.replace("\\", "\\\\").replace('"', '\\"')
        response.headers.add("Warning", f'299 - "{escaped}"')
    return response


def refusal(failure: Refused) -> web.Response:
    response = answer(failure.status(), failure.code)
    response.headers.update(failure.headers)
    return response


def plain(text: str, code: int = 200) -> web.Response:
    return web.Response(text=text, status=code, content_type="text/plain")


async def streamed(request: web.BaseRequest, pieces: Iterable[bytes]) -> web.StreamResponse:
    """A long body in chunks of about one MiB; a short one whole."""
    waiting: list[bytes] = []
    size = 0
    response: web.StreamResponse | None = None
    for piece in pieces:
        waiting.append(piece)
        size += len(piece)
        if size >= CHUNK:
            if response is None:
                response = web.StreamResponse(headers={"Content-Type": "application/json"})
                await response.prepare(request)
            await response.write(b"".join(waiting))
            waiting, size = [], 0
    if response is None:
        return answer(b"".join(waiting))
    if waiting:
        await response.write(b"".join(waiting))
    await response.write_eof()
    return response
