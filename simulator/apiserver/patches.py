"""JSON merge patch (RFC 7386), JSON patch (RFC 6902) and Kubernetes' strategic merge patch."""

import copy
from typing import Any

from simulator.apiserver.problems import Refused, bad_request
from simulator.apiserver.schema import ANY, Type

MERGE = "application/merge-patch+json"
JSON = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"
APPLY_CBOR = "application/apply-patch+cbor"


def merge_patch(target: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merge_patch(result.get(key), value)
    return result


def json_patch(target: Any, operations: Any) -> Any:
    """The patched copy. Raises Refused (422) for a path that is not there or a failed test."""
    if not isinstance(operations, list):
        raise bad_request(
            "error decoding patch: json: cannot unmarshal object into Go value of type "
            "[]handlers.jsonPatchOp"
        )
    document = copy.deepcopy(target)
    for operation in operations:
        if not isinstance(operation, dict):
            raise _unprocessable()
        document = _step(document, operation)
    return document


def _step(document: Any, operation: dict[str, Any]) -> Any:
    name = operation.get("op")
    path = _pointer(operation.get("path", ""))
    value = copy.deepcopy(operation.get("value"))
    if name in ("move", "copy"):
        source = _pointer(operation.get("from", ""))
        value = copy.deepcopy(_found(document, source))
        if name == "move":
            if path[: len(source)] == source and path != source:
                raise _unprocessable()
            document = _removed(document, source)
        return _added(document, path, value)
    if name == "add":
        return _added(document, path, value)
    if name == "remove":
        return _removed(document, path)
    if name == "replace":
        return _replaced(document, path, value)
    if name == "test":
        return _tested(document, path, value)
    raise _unprocessable()


def _pointer(text: Any) -> list[str]:
    if not isinstance(text, str) or (text and not text.startswith("/")):
        raise _unprocessable()
    return [part.replace("~1", "/").replace("~0", "~") for part in text.split("/")[1:]]


def _unprocessable() -> Refused:
    return Refused(
        422, "the server rejected our request due to an error in our request", details={}
    )


def _place(node: list[Any], part: str, end: int) -> int:
    """An index of a list, below `end`."""
    if not part.isdecimal() or int(part) >= end:
        raise _unprocessable()
    return int(part)


def _found(document: Any, path: list[str]) -> Any:
    node = document
    for part in path:
        if isinstance(node, list):
            node = node[_place(node, part, len(node))]
        elif isinstance(node, dict) and part in node:
            node = node[part]
        else:
            raise _unprocessable()
    return node


def _added(document: Any, path: list[str], value: Any) -> Any:
    if not path:
        return value
    parent, last = _found(document, path[:-1]), path[-1]
    if isinstance(parent, list):
        end = len(parent)
        parent.insert(end if last == "-" else _place(parent, last, end + 1), value)
    elif isinstance(parent, dict):
        parent[last] = value
    else:
        raise _unprocessable()
    return document


def _removed(document: Any, path: list[str]) -> Any:
    _found(document, path)
    if not path:
        return None
    parent = _found(document, path[:-1])
    if isinstance(parent, list):
        del parent[int(path[-1])]
    else:
        del parent[path[-1]]
    return document


def _replaced(document: Any, path: list[str], value: Any) -> Any:
    if not path:
        return value
    parent, last = _found(document, path[:-1]), path[-1]
    if isinstance(parent, list):
        parent[_place(parent, last, len(parent))] = value
    elif isinstance(parent, dict):
        parent[last] = value
    else:
        raise _unprocessable()
    return document


def _tested(document: Any, path: list[str], value: Any) -> Any:
    try:
        same = _found(document, path) == value
    except Refused:
        same = value is None
    if not same:
        raise _unprocessable()
    return document


def strategic_merge(target: Any, patch: Any, kind: Type) -> Any:
    """Lists with a merge key merge by it; `$patch`, `$retainKeys` and deletion lists are obeyed."""
    if not isinstance(patch, dict):
        return patch
    directive = patch.get("$patch")
    if directive == "replace":
        return {key: value for key, value in patch.items() if key != "$patch"}
    if directive == "delete":
        return {}
    result = dict(target) if isinstance(target, dict) else {}
    if retained := patch.get("$retainKeys"):
        result = {key: value for key, value in result.items() if key in retained}
    for key, value in patch.items():
        if key.startswith("$"):
            _list_directive(result, key, value)
        elif value is None:
            result.pop(key, None)
        else:
            result[key] = _strategic_value(result.get(key), value, kind.child(key))
    return result


def _list_directive(result: dict[str, Any], key: str, value: Any) -> None:
    directive, _, name = key.partition("/")
    if directive == "$deleteFromPrimitiveList" and isinstance(result.get(name), list):
        result[name] = [item for item in result[name] if item not in value]


def _strategic_value(old: Any, new: Any, kind: Type) -> Any:
    if isinstance(new, dict):
        return strategic_merge(old, new, kind)
    if not isinstance(new, list):
        return new
    if not kind.strategic or not isinstance(old, list):
        return _plain_list(new)
    if not kind.merge_key:
        return [*old, *(item for item in new if item not in old)]
    return _merged_items(old, new, kind)


def _plain_list(value: list[Any]) -> list[Any]:
    return [item for item in value if not (isinstance(item, dict) and "$patch" in item)]


def _merged_items(old: list[Any], new: list[Any], kind: Type) -> list[Any]:
    """Items by their merge key; new ones stand before the old ones that the patch leaves alone."""
    if any(isinstance(item, dict) and item.get("$patch") == "replace" for item in new):
        return _plain_list(new)
    key = kind.merge_key
    for item in new:
        if not isinstance(item, dict) or not isinstance(item.get(key), str | int):
            raise bad_request(f"map: {item} does not contain declared merge key: {key}")
    places = {item.get(key): place for place, item in enumerate(old)}
    named = {item.get(key) for item in new}
    alone = [place for place, item in enumerate(old) if item.get(key) not in named]
    result: list[Any] = []
    for item in new:
        place = places.get(item.get(key), -1)
        while alone and alone[0] < place:
            result.append(old[alone.pop(0)])
        if item.get("$patch") == "delete":
            continue
        before = old[place] if place >= 0 else {}
        result.append(strategic_merge(before, item, kind.element or ANY))
    return result + [old[place] for place in alone]
