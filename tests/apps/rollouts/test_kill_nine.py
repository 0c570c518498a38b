"""Workers that are killed with SIGKILL in every state of a migration come to the same end, once.

Of each look and each apply one process dies before it has decided, one before it has committed, one
after, one between two writes to the cluster, and one between the last write and the rows.
"""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.utils import timezone

from apps.audit.models import Entry
from apps.catalog.reconcile import reconcile_class
from apps.deployments.models import Deployment, ModelPool
from apps.inventory import connections
from apps.inventory.models import Cluster
from apps.quotas import services as quotas
from apps.quotas.models import TenantNamespace
from apps.quotas.reconcile import reconcile_namespace
from apps.rollouts import services
from apps.rollouts.models import Migration
from apps.tenancy.models import Tenant, User
from domain.rollout.words import ENDS
from kube import kinds
from tests.apps.conftest import make_cluster
from tests.apps.rollouts.conftest import SETTINGS

pytestmark = pytest.mark.django_db(transaction=True)
MOST_WRITES = 40


class Mortal:
    """Workers, one after the other; see mortal.py."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.deaths = Counter[str]()

    def do(self, what: str, key: int, dies: str, **more: Any) -> bool:
        """Let one do it; whether it was killed."""
        assert self.process.stdin and self.process.stdout
        asked = {"do": what, "key": key, "dies": dies} | more
        self.process.stdin.write(json.dumps(asked) + "\n")
        self.process.stdin.flush()
        told = self.process.stdout.readline().strip()
        assert told in ("0", "9"), told
        assert dies or told == "0"
        self.deaths[dies] += told == "9"
        return told == "9"


@pytest.fixture
def mortal(db: None) -> Iterator[Mortal]:
    url = os.environ["CLAIMYARD_DATABASE_URL"]
    name = str(connection.settings_dict["NAME"])
    environment = os.environ | {
        "DJANGO_SETTINGS_MODULE": "portal.settings_test",
        "CLAIMYARD_DATABASE_URL": f"{url.rsplit('/', 1)[0]}/{name}",
    }
    command = [sys.executable, str(Path(__file__).with_name("mortal.py"))]
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield Mortal(process)
        assert process.stdin
        process.stdin.close()


@pytest.fixture
def cluster(simulated: Any, db: None) -> Cluster:
    return make_cluster(kubeconfig=Path(simulated.kubeconfig).read_text())


@pytest.fixture
def namespace(tenant: Tenant, cluster: Cluster, admin: User) -> TenantNamespace:
    name = f"vision-{uuid4().hex[:8]}"
    return quotas.give_cluster(actor=admin, tenant=tenant, cluster=cluster, namespace=name)


class Life:
    """A migration whose every look and apply is done by workers that die."""

    def __init__(self, migration: Migration, chat: Deployment, mortal: Mortal) -> None:
        self.key, self.chat, self.mortal = migration.pk, chat, mortal
        self.now = timezone.now()
        self.phases: set[str] = set()

    @property
    def migration(self) -> Migration:
        return Migration.objects.get(pk=self.key)

    def turn(self, errors: float = 0.0) -> Migration:
        """What happens within six seconds; each worker comes when the lease of the last is over."""
        self.now += timedelta(seconds=6)
        Cluster.objects.update(heard_at=self.now)
        self._look("looked", errors)
        while self._look("acting", errors):
            assert self._look("acted", errors)
        self._look("", errors)
        self.apply()
        return self.migration

    def _look(self, dies: str, errors: float) -> bool:
        Migration.objects.update(lease_until=None)
        now = self.now.isoformat()
        died = self.mortal.do("look", self.key, dies, now=now, errors=errors)
        self.phases |= set(self.migration.workloads.values_list("phase", flat=True))
        return died

    def apply(self) -> None:
        for nth in range(1, MOST_WRITES):
            Deployment.objects.update(lease_until=None)
            if not self.mortal.do("apply", self.chat.pk, "writing", nth=nth):
                break
            Deployment.objects.update(lease_until=None)
            self.mortal.do("apply", self.chat.pk, "written")
        Deployment.objects.update(lease_until=None)
        self.mortal.do("apply", self.chat.pk, "")
        for pool in ModelPool.objects.filter(deployment=self.chat):
            pool.pods = [{"name": f"{pool}-{n}", "state": "Ready"} for n in range(pool.replicas)]
            pool.save(update_fields=["pods"])

    def acts(self) -> list[str]:
        rows = self.migration.decisions.filter(actor_name="claimyard").order_by("id")
        return [one for one in rows.values_list("action", flat=True) if one != "wait"]

    def uid(self, name: str) -> str:
        with connections.opened(self.chat.cluster) as api:
            found = api.get(kinds.DEPLOYMENTS, self.chat.namespace, name)
            return str(found["metadata"]["uid"])

    def objects(self) -> dict[str, list[str]]:
        with connections.opened(self.chat.cluster) as api:
            return {
                kind.kind: sorted(
                    str(one["metadata"]["name"])
                    for one in api.list_all(kind, namespace=self.chat.namespace)
                )
                for kind in (kinds.DEPLOYMENTS, kinds.TEMPLATES, kinds.SERVICES)
            }


@pytest.fixture
def life(
    chat: Deployment,
    admin: User,
    cluster: Cluster,
    namespace: TenantNamespace,
    mortal: Mortal,
) -> Life:
    reconcile_class(cluster.classes.get().pk)
    reconcile_namespace(namespace.pk)
    Deployment.objects.update(observed_generation=0, conditions=[])
    content = SETTINGS | {"drill": True}
    made = services.create_migration(
        actor=admin, name="to-claims", cluster=cluster, deployments=[chat], content=content
    )
    for kind in ("plan", "preflight", "shadow"):
        made.studies.create(kind=kind, state="done", body={"blockers": 0, "summary": "fine"})
    services.start_migration(actor=admin, migration=made)
    found = Life(made, chat, mortal)
    found.apply()
    return found


FORTH = [
    *("enter-stage", "enter-stage", "enter-stage"),
    *("add-pool", "advance"),  # ready: warm up
    *("set-weight", "advance"),  # warm: step 1
    *("set-weight", "advance"),  # passed: step 2
    "set-weight",
]
BACK = ["roll-back", "advance", "set-weight", "advance", "advance", "remove-pool", "advance", "end"]
DRILL = ["advance", "enter-stage", "drill", "set-weight", "drill", "set-weight", "drill"]
RETIRE = ["advance", "remove-pool", "advance", "end"]


def verbs() -> Counter[str]:
    """What of the migration and of the pools is in the audit log."""
    rows = Entry.objects.filter(subject_kind__in=["rollouts.migration", "deployments.deployment"])
    return Counter(rows.exclude(verb="created").values_list("verb", flat=True))


def every_act_died_twice(life: Life) -> bool:
    deaths, acts = life.mortal.deaths, len(life.acts())
    return deaths["acting"] == deaths["acted"] == acts


def test_a_rollback_ends_once(life: Life) -> None:
    uid = life.uid("chat-main")
    for turn in range(40):
        found = life.turn(errors=0.5 if turn > 3 else 0.0)
        if found.state in ENDS:
            break
    assert found.state == "rolled-back", (found.reason, life.acts())
    assert life.acts() == [*FORTH, *BACK]
    died = {"waiting", "capacity", "warming", "weighing"}
    died |= {"restoring", "returning", "draining", "removing", "back"}
    assert life.phases == died
    assert every_act_died_twice(life), life.mortal.deaths
    assert life.mortal.deaths["writing"] > 5 and life.mortal.deaths["written"] > 5
    assert [(pool.name, pool.weight) for pool in life.chat.pools.all()] == [("main", 100)]
    assert life.uid("chat-main") == uid
    assert life.objects() == {
        "Deployment": ["chat-main"],
        "ResourceClaimTemplate": [],
        "Service": ["chat"],
    }
    assert verbs() == Counter(
        {"drew up": 1, "started": 1, "added pool": 1, "shared requests of": 4}
        | {"rolls back": 1, "removed pool of": 1, "ended rolled-back": 1}
    )


def test_a_promotion_ends_once(life: Life, admin: User) -> None:
    for _ in range(60):
        found = life.turn()
        if found.waiting_for == "retire" and not found.wanted.get("retire"):
            services.retire_migration(actor=admin, migration=found)
        if found.state in ENDS:
            break
    assert found.state == "done", (found.reason, life.acts())
    assert life.acts() == [*FORTH, *DRILL, *RETIRE]
    died = {"waiting", "capacity", "warming", "weighing", "moved", "retiring", "retired"}
    assert life.phases == died
    assert every_act_died_twice(life), life.mortal.deaths
    assert [(pool.name, pool.weight) for pool in life.chat.pools.all()] == [("dra", 100)]
    held = life.objects()
    assert (held["Deployment"], held["Service"]) == (["chat-dra"], ["chat"])
    assert len(held["ResourceClaimTemplate"]) == 1
    assert verbs() == Counter(
        {"drew up": 1, "started": 1, "added pool": 1, "shared requests of": 5}
        | {"retires the old path of": 1, "removed pool of": 1, "ended done": 1}
    )
