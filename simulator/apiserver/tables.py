"""Tables, as `kubectl get` asks for them, and objects cut down to their metadata."""

from collections.abc import Callable, Mapping
from typing import Any

import orjson

from simulator.apiserver.api import Api
from simulator.apiserver.kinds import Kind
from simulator.apiserver.lists import Page, in_version
from simulator.apiserver.printers import columns_of

META = "meta.k8s.io/v1"


def metadata_only(item: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": META,
        "metadata": item["metadata"],
    }


class Tables:
    def __init__(self, api: Api) -> None:
        self._api = api

    def table(
        self, kind: Kind, objects: list[bytes], query: Mapping[str, str], page: Page | None
    ) -> dict[str, Any]:
        meta: dict[str, Any] = {}
        if page is not None:
            meta["resourceVersion"] = str(page.revision)
            if page.continues:
                meta |= {"continue": page.continues, "remainingItemCount": page.remaining}
        elif objects:
            meta["resourceVersion"] = orjson.loads(objects[0])["metadata"]["resourceVersion"]
        columns = columns_of(kind, self._api.custom.columns_of(kind))
        include = query.get("includeObject", "") or "Metadata"
        rows = []
        for data in objects:
            item = orjson.loads(in_version(kind, data))
            row: dict[str, Any] = {"cells": [column.cell(item) for column in columns]}
            if include == "Object":
                row["object"] = item
            elif include == "Metadata":
                row["object"] = metadata_only(item)
            rows.append(row)
        return {
            "kind": "Table",
            "apiVersion": META,
            "metadata": meta,
            "columnDefinitions": [column.definition() for column in columns],
            "rows": rows,
        }

    def in_watch(self, kind: Kind, query: Mapping[str, str]) -> Callable[[bytes], bytes]:
        def shown(data: bytes) -> bytes:
            item = orjson.loads(data)
            if "uid" not in item["metadata"]:
                table = self.table(kind, [], query, None)
                table["metadata"] = {"resourceVersion": item["metadata"]["resourceVersion"]}
                return orjson.dumps(table)
            return orjson.dumps(self.table(kind, [data], query, None))

        return shown

    def metadata_list(self, page: Page) -> dict[str, Any]:
        meta: dict[str, Any] = {"resourceVersion": str(page.revision)}
        if page.continues:
            meta |= {"continue": page.continues, "remainingItemCount": page.remaining}
        return {
            "kind": "PartialObjectMetadataList",
            "apiVersion": META,
            "metadata": meta,
            "items": [metadata_only(entry.parsed()) for entry in page.entries],
        }
