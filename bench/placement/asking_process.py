"""From the page to the answer, through everything between: prints one figure a line.

One web process and the placement process, started as an installation starts them, on a cluster of
80,000 devices in rows. Between two questions an allocation comes, another goes and a slice is
published anew; every answer is compared with the engine's own in this process.
"""

import json
import os
import re
import statistics
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import urllib3

from bench import pages, sync
from bench.figures import percentile
from bench.placement.clusters import Raw, objects, whole_cards
from bench.placement.requests import NEVER_SEEN, kinds
from bench.placement.scene import Scene
from domain.placement import fitting, place

NODES = 10_000
PAGE = "/placement/"
POLL_SECONDS = 1.0
"""As the page's own part says to its browser."""

WAITING = re.compile(r'hx-get="([^"]+)"[^>]*aria-busy="true"')
FITS = re.compile(r"on (\d+) of \d+ nodes")
TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')
KINDS = {
    "Node": "nodes",
    "ResourceSlice": "resourceslices",
    "DeviceClass": "deviceclasses",
    "ResourceClaim": "resourceclaims",
}


class Rows:
    """The cluster in rows, changed as the watch changes them."""

    def __init__(self, case: Raw) -> None:
        from apps.inventory.models import Cluster, Revision
        from workers.placement import warm

        now = datetime.now(UTC)
        self.cluster = Cluster.objects.create(
            slug="big",
            name="Big",
            server="https://kubernetes.example",
            credentials=b"",
            version="v1.37.2",
            heard_at=now,
        )
        Revision.objects.bulk_create(
            Revision(cluster=self.cluster, kind=kind, value=1, changed_at=now, listed_at=now)
            for kind in warm.KINDS
        )
        self.revision = 1
        self._write(objects(case))

    def _write(self, raws: list[Raw]) -> None:
        from apps.inventory.models import Mirrored

        Mirrored.objects.bulk_create(
            (self._row(Mirrored, raw) for raw in raws),
            batch_size=2000,
            update_conflicts=True,
            unique_fields=["cluster", "kind", "uid"],
            update_fields=["revision", "body"],
        )

    def _row(self, model: Any, raw: Raw) -> Any:
        meta = raw["metadata"]
        return model(
            cluster=self.cluster,
            kind=KINDS[raw["kind"]],
            uid=f"{meta.get('namespace', '')}/{meta['name']}",
            namespace=meta.get("namespace", ""),
            name=meta["name"],
            resource_version="1",
            revision=self.revision,
            body={key: value for key, value in raw.items() if key not in ("kind", "apiVersion")},
        )

    def change(self, came: Raw, gone: Raw | None, published: Raw) -> None:
        from django.db import transaction

        from apps.inventory.models import Gone, Mirrored, Revision

        with transaction.atomic():
            self.revision += 1
            self._write([came, published])
            if gone is not None:
                where: Raw = {"kind": "resourceclaims", "name": gone["metadata"]["name"]}
                where |= {"cluster": self.cluster, "namespace": gone["metadata"]["namespace"]}
                Mirrored.objects.filter(**where).delete()
                Gone.objects.create(**where, revision=self.revision, at=datetime.now(UTC))
            changed = Revision.objects.filter(
                cluster=self.cluster, kind__in=("resourceclaims", "resourceslices")
            )
            changed.update(value=self.revision)


class Person:
    """A browser with a session: it sends the form and asks again while told to wait."""

    def __init__(self, address: str, session: str) -> None:
        self.pool, self.address = urllib3.PoolManager(maxsize=1), address
        self.cookies = f"sessionid={session}"
        page = self._send("GET", PAGE)
        found = TOKEN.search(page)
        if found is None:
            raise SystemExit("the page has no form")
        self.token = found[1]

    def _send(self, method: str, path: str, **sent: Any) -> str:
        headers = {"Cookie": self.cookies, "HX-Request": "true"}
        answer = self.pool.request(method, self.address + path, headers=headers, **sent)
        if answer.status != 200:
            raise SystemExit(f"{path} answered {answer.status}")
        for cookie in answer.headers.getlist("Set-Cookie"):
            if cookie.startswith("csrftoken="):
                self.cookies += "; " + cookie.partition(";")[0]
        return answer.data.decode()

    def ask(self, claim: str) -> tuple[float, int]:
        """Milliseconds until the answer is on the page; on how many nodes it fits."""
        form = {"csrfmiddlewaretoken": self.token, "cluster": "big", "claim": claim}
        start = time.perf_counter()
        shown = self._send("POST", PAGE, fields=form, encode_multipart=False)
        while waits := WAITING.search(shown):
            time.sleep(POLL_SECONDS)
            shown = self._send("GET", waits[1])
        took = (time.perf_counter() - start) * 1000
        fits = FITS.search(shown)
        if fits is None and "Does not fit now" not in shown:
            raise SystemExit(f"no answer on the page: {shown[:500]}")
        return took, int(fits[1]) if fits else 0


def _figures(folder: Path) -> Iterator[dict[str, Any]]:
    from embedded import postgres, valkey

    with (
        postgres.running(folder / "postgres", fast=True) as url,
        valkey.running(folder / "valkey") as broker,
    ):
        os.environ["CLAIMYARD_REDIS_URL"] = broker
        sync.setup(url)
        scene = Scene(whole_cards(NODES, 0.5))
        rows = Rows(scene.case)
        pages._analyzed()
        with pages._process("workers.placement"), pages._web() as address:
            person = Person(address, _session())
            yield from _measured(scene, rows, person)


def _session() -> str:
    from django.test import Client

    from apps.tenancy.models import PlatformRole, User

    client = Client()
    client.force_login(User.objects.create_user("admin", platform_roles=[PlatformRole.ADMIN]))
    return client.cookies["sessionid"].value


def _measured(scene: Scene, rows: Rows, person: Person) -> Iterator[dict[str, Any]]:
    known = [(kind, one) for kind, some in kinds().items() for one in some]
    for _, one in [known[0], *known]:  # the snapshot is built with the first question
        _timed(scene, rows, person, one)
    for name, asked in (("known", known * NEVER_SEEN), ("new", list(_never_seen()))):
        by_kind: dict[str, list[float]] = {}
        for kind, one in asked:
            by_kind.setdefault(kind, []).append(_timed(scene, rows, person, one))
        samples = [took for some in by_kind.values() for took in some]
        medians = {kind: round(statistics.median(some), 1) for kind, some in by_kind.items()}
        yield {
            "name": f"placement.check.{name}",
            "unit": "ms",
            "samples": samples,
            "value": percentile(samples, 0.95),
            "cell": f"{NODES * 8} devices",
            "notes": {"medians": medians},
        }


def _never_seen() -> Iterator[tuple[str, Raw]]:
    for number in range(NEVER_SEEN):
        for kind, some in kinds(f"p{number}").items():
            yield from ((kind, one) for one in some)


def _timed(scene: Scene, rows: Rows, person: Person, asked: Raw) -> float:
    from domain.diffs import to_yaml

    before = scene.made
    scene.change()
    assert scene.made is not None
    rows.change(scene.made, before, scene.published)
    took, count = person.ask(to_yaml({"spec": asked["spec"]}))
    wanted = len(fitting(place(scene.fleet, [asked], mode="all")))
    if count != wanted:
        raise SystemExit(f"answers differ: {asked['metadata']['name']}: {wanted}, page {count}")
    return took


if __name__ == "__main__":
    for figure in _figures(Path(sys.argv[1])):
        print(json.dumps(figure), flush=True)
