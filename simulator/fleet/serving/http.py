"""The HTTP face of a model server, as vLLM's OpenAI server answers."""

import time
from typing import Any

import orjson
from aiohttp import web

from simulator.fleet.serving.server import VERSION, Answer, ModelServer

type Json = dict[str, Any]

_JSON = "application/json"


async def respond(server: ModelServer, request: web.BaseRequest, path: str) -> web.StreamResponse:
    """Answer `path` of the pod; every answer is counted as the server's middleware counts it."""
    answer = await _route(server, request, path)
    handler = path if answer.status != 404 else "none"
    key = (handler, request.method, f"{answer.status // 100}xx")
    server.metrics.http[key] = server.metrics.http.get(key, 0) + 1
    return answer


async def _route(server: ModelServer, request: web.BaseRequest, path: str) -> web.StreamResponse:
    if request.method == "POST" and path in {"/v1/completions", "/v1/chat/completions"}:
        if server.is_failing():
            return _problem(500, "the engine has failed", "InternalServerError")
        return await _complete(server, request, chat=path.startswith("/v1/chat"))
    if request.method not in {"GET", "HEAD"}:
        return _problem(404, "Not Found", "NotFoundError")
    pages: dict[str, web.Response] = {
        "/health": web.Response(),
        "/ping": web.Response(),
        "/version": web.json_response({"version": VERSION}),
        "/load": web.json_response({"server_load": server.engine.load}),
        "/v1/models": web.json_response(server.models()),
    }
    if path == "/metrics":
        status, text = server.regression.page(server.page())
        return web.Response(
            status=status,
            body=text.encode(),
            headers={"Content-Type": "text/plain; version=0.0.4; charset=utf-8"},
        )
    return pages.get(path) or _problem(404, "Not Found", "NotFoundError")


async def _complete(
    server: ModelServer, request: web.BaseRequest, *, chat: bool
) -> web.StreamResponse:
    try:
        body = orjson.loads(await request.read())
        prompt = _prompt(body, chat=chat)
        limit = body.get("max_tokens") or body.get("max_completion_tokens") or (512 if chat else 16)
        limit = int(limit)
        if limit < 1:
            raise ValueError
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError, AttributeError):
        return _problem(400, "the request body is not valid", "BadRequestError")
    name = server.arguments.served_name
    if body.get("model", name) != name:
        return _problem(404, f"The model `{body['model']}` does not exist.", "NotFoundError")
    if server.stopping:
        return _problem(503, "the server is shutting down", "ServiceUnavailableError")
    answer = server.ask(prompt, limit)
    try:
        if body.get("stream"):
            return await _stream(server, request, answer, chat=chat)
        while not answer.reason:
            await server.moved()
    except (ConnectionError, TimeoutError):
        if not answer.reason:
            server.engine.abort(answer.request)
        raise
    if answer.reason in {"abort", "error"}:
        return _problem(500, f"the request ended with {answer.reason}", "InternalServerError")
    return web.Response(body=orjson.dumps(_whole(server, answer, chat=chat)), content_type=_JSON)


def _prompt(body: Json, *, chat: bool) -> str:
    if not chat:
        prompt = body["prompt"]
        return prompt if isinstance(prompt, str) else orjson.dumps(prompt).decode()
    return "\n".join(f"{turn['role']}: {turn['content']}" for turn in body["messages"])


def _whole(server: ModelServer, answer: Answer, *, chat: bool) -> Json:
    text = " ".join(answer.words)
    choice: Json = {"index": 0, "finish_reason": answer.reason, "logprobs": None}
    if chat:
        choice["message"] = {"role": "assistant", "content": text}
    else:
        choice["text"] = text
    return _head(server, answer, "chat.completion" if chat else "text_completion") | {
        "choices": [choice],
        "usage": _usage(answer),
    }


def _head(server: ModelServer, answer: Answer, kind: str) -> Json:
    prefix = "chatcmpl" if kind.startswith("chat") else "cmpl"
    return {
        "id": f"{prefix}-{answer.request.number}",
        "object": kind,
        "created": int(time.time()),
        "model": server.arguments.served_name,
    }


def _usage(answer: Answer) -> Json:
    request = answer.request
    return {
        "prompt_tokens": request.prompt_tokens,
        "completion_tokens": request.generated,
        "total_tokens": request.prompt_tokens + request.generated,
        "prompt_tokens_details": {"cached_tokens": request.cached},
    }


async def _stream(
    server: ModelServer, request: web.BaseRequest, answer: Answer, *, chat: bool
) -> web.StreamResponse:
    """Server-sent events, a word a token, as the engine gets on."""
    out = web.StreamResponse(headers={"Content-Type": "text/event-stream; charset=utf-8"})
    await out.prepare(request)
    head = _head(server, answer, "chat.completion.chunk" if chat else "text_completion")
    sent = 0
    while True:
        while sent < min(answer.request.generated, len(answer.words)):
            word = answer.words[sent] + " "
            piece: Json = {"delta": {"content": word}} if chat else {"text": word}
            await _event(out, head | {"choices": [{"index": 0, "finish_reason": None} | piece]})
            sent += 1
        if answer.reason:
            break
        await server.moved()
    last: Json = {"delta": {}} if chat else {"text": ""}
    end = {"index": 0, "finish_reason": answer.reason} | last
    await _event(out, head | {"choices": [end], "usage": _usage(answer)})
    await out.write(b"data: [DONE]\n\n")
    await out.write_eof()
    return out


async def _event(out: web.StreamResponse, body: Json) -> None:
    await out.write(b"data: " + orjson.dumps(body) + b"\n\n")


def _problem(status: int, message: str, kind: str) -> web.Response:
    body = {"error": {"message": message, "type": kind, "param": None, "code": status}}
    return web.json_response(body, status=status)
