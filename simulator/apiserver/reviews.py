"""Access reviews: everything is allowed here; only a real cluster judges."""

import uuid
from typing import Any

from aiohttp import web

from simulator.apiserver import problems
from simulator.apiserver.answers import answer
from simulator.apiserver.decoding import loaded
from simulator.apiserver.discovery import REVIEWS
from simulator.apiserver.paths import Target

ALLOWED = {"allowed": True}
EVERYTHING = {
    "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
    "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
    "incomplete": False,
}


async def answered(
    request: web.BaseRequest, wanted: Target, user: dict[str, Any]
) -> web.StreamResponse:
    kind = REVIEWS[wanted.group].get(wanted.plural)
    if kind is None:
        raise problems.unknown_resource()
    if request.method != "POST":
        raise problems.method_not_supported()
    document = loaded(await request.read(), request.headers.get("Content-Type", ""))
    if not isinstance(document, dict):
        raise problems.bad_request("expected an object")
    document |= {"kind": kind, "apiVersion": f"{wanted.group}/{wanted.version}"}
    document.setdefault("metadata", {})
    document["status"] = _status(kind, user)
    return answer(document, 201)


def _status(kind: str, user: dict[str, Any]) -> dict[str, Any]:
    if kind == "SelfSubjectRulesReview":
        return EVERYTHING
    if kind == "SelfSubjectReview":
        return {"userInfo": user}
    if kind == "TokenReview":
        return {"authenticated": True, "user": user | {"uid": str(uuid.uuid4())}}
    return ALLOWED
