"""A plain HTTP client for an API server, so that the suite depends on nothing it might test."""

import base64
import contextlib
import http.client
import json
import ssl
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import yaml

MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"
SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: Any
    headers: dict[str, str]

    @property
    def message(self) -> str:
        text: str = self.body["message"]
        return text


class Client:
    """Speaks to the cluster of a kubeconfig's current context."""

    def __init__(self, kubeconfig: str | Path) -> None:
        self.kubeconfig = str(kubeconfig)
        document = yaml.safe_load(Path(kubeconfig).read_text())
        names = {item["name"]: item["context"] for item in document["contexts"]}
        context = names[document["current-context"]]
        cluster = next(
            item["cluster"] for item in document["clusters"] if item["name"] == context["cluster"]
        )
        self._user = next(
            item["user"] for item in document["users"] if item["name"] == context["user"]
        )
        self._address = urlsplit(cluster["server"])
        self._tls = self._context(cluster)

    def _context(self, cluster: dict[str, str]) -> ssl.SSLContext:
        if "certificate-authority-data" in cluster:
            ca = base64.b64decode(cluster["certificate-authority-data"]).decode()
            made = ssl.create_default_context(cadata=ca)
        else:
            made = ssl.create_default_context(cafile=cluster.get("certificate-authority"))
        if "client-certificate-data" in self._user:
            with tempfile.NamedTemporaryFile() as pair:
                for part in ("client-certificate-data", "client-key-data"):
                    pair.write(base64.b64decode(self._user[part]) + b"\n")
                pair.flush()
                made.load_cert_chain(pair.name)
        return made

    def _headers(self, given: dict[str, str]) -> dict[str, str]:
        headers = {"Accept": "application/json", "User-Agent": "contract/1"}
        if "token" in self._user:
            headers["Authorization"] = f"Bearer {self._user['token']}"
        return headers | given

    def _open(self, seconds: float) -> http.client.HTTPSConnection:
        assert self._address.hostname
        return http.client.HTTPSConnection(
            self._address.hostname, self._address.port, context=self._tls, timeout=seconds
        )

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        media: str = "application/json",
        headers: dict[str, str] | None = None,
        **query: Any,
    ) -> Answer:
        data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        sent = self._headers({"Content-Type": media} if data is not None else {})
        target = f"{path}?{urlencode(query)}" if query else path
        with contextlib.closing(self._open(SECONDS)) as connection:
            connection.request(method, target, data, sent | (headers or {}))
            response = connection.getresponse()
            text = response.read()
            kind = response.headers.get_content_type()
            parsed = json.loads(text) if kind == "application/json" else text.decode()
            return Answer(response.status, parsed, dict(response.headers))

    def get(self, path: str, **query: Any) -> Answer:
        return self.ask("GET", path, **query)

    def create(self, path: str, body: dict[str, Any], **query: Any) -> Answer:
        return self.ask("POST", path, body, **query)

    def put(self, path: str, body: dict[str, Any], **query: Any) -> Answer:
        return self.ask("PUT", path, body, **query)

    def patch(self, path: str, body: Any, media: str = MERGE, **query: Any) -> Answer:
        return self.ask("PATCH", path, body, media=media, **query)

    def apply(self, path: str, body: dict[str, Any], manager: str, **query: Any) -> Answer:
        return self.ask("PATCH", path, body, media=APPLY, fieldManager=manager, **query)

    def delete(self, path: str, body: Any = None, **query: Any) -> Answer:
        return self.ask("DELETE", path, body, **query)

    @contextlib.contextmanager
    def watch(self, path: str, **query: Any) -> Iterator["Watch"]:
        """A watch for at most `SECONDS` of silence; close it by leaving the block."""
        with contextlib.closing(self._open(SECONDS)) as connection:
            target = f"{path}?{urlencode({'watch': '1', **query})}"
            connection.request("GET", target, headers=self._headers({}))
            response = connection.getresponse()
            yield Watch(response)

    def wait(self, path: str, wanted: Any, seconds: float = SECONDS) -> dict[str, Any]:
        """The object at `path` once `wanted(object)` holds."""
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            answer = self.get(path)
            if answer.status == 200 and wanted(answer.body):
                found: dict[str, Any] = answer.body
                return found
            time.sleep(0.05)
        raise AssertionError(f"{path} did not become as expected; last answer: {answer}")

    def wait_gone(self, path: str, seconds: float = SECONDS) -> None:
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            if self.get(path).status == 404:
                return
            time.sleep(0.05)
        raise AssertionError(f"{path} is still there")


class Watch:
    """The events of one watch, in order."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status = response.status
        self._response = response

    def __iter__(self) -> Iterator[dict[str, Any]]:
        while line := self._response.readline():
            yield json.loads(line)

    def next(self, *kinds: str) -> dict[str, Any]:
        """The next event, of one of these types if any are named."""
        for event in self:
            if not kinds or event["type"] in kinds:
                return event
        raise AssertionError("the watch ended")

    def seen(self, count: int) -> list[tuple[str, str]]:
        """Type and name of the next `count` events."""
        events = iter(self)
        return [
            (event["type"], event["object"]["metadata"]["name"])
            for event in (next(events) for _ in range(count))
        ]
