"""The world of the decision's scenarios with its pools, weights and decisions in rows: what tests
turn is written to them before each look, what came of the look is read from them after it.
"""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from apps.deployments import routing
from apps.deployments.models import Deployment, ModelPool
from apps.inventory.models import Cluster, WriteSwitch
from apps.rollouts import acting, figures, reconcile, sampling, services, shares
from apps.rollouts.models import Migration
from apps.telemetry import measure
from apps.tenancy.models import User
from domain.figures import Figure
from domain.figures import State as FigureState
from domain.gates import Verdict
from domain.rollout.actions import Action
from domain.rollout.settings import settings_content
from domain.rollout.words import Phase, Stage, State
from tests.apps.rollouts.conftest import leave_cluster, settle
from tests.domain.rollout.world import Pool, World, live, none

FINE = (live(1.0), live(1.0))
EDITED = {"type": "Routed", "status": "False", "reason": "RouteChanged"}

UNTOLD = {"type": "Routed", "status": "Unknown", "reason": "Pending", "message": "Nobody told."}


class RowsWorld(World):
    """A world over one migration of `chat`."""

    chat: Deployment
    migration: Migration

    def begin(self, chat: Deployment, admin: User, patch: pytest.MonkeyPatch) -> None:
        self.chat, self.now = chat, timezone.now()
        content = settings_content(self.settings)
        made = services.create_migration(
            actor=admin, name="m", cluster=chat.cluster, deployments=[chat], content=content
        )
        made.wanted = {"approved": ["canary", "expand", "accept:metrics"]}
        made.save(update_fields=["wanted"])
        for kind in ("plan", "preflight", "shadow"):
            made.studies.create(kind=kind, state="done", body={"blockers": 0, "summary": "fine"})
        self.migration = services.start_migration(actor=admin, migration=made)
        self._measure_by(patch)

    # --- What is measured
    def _measure_by(self, patch: pytest.MonkeyPatch) -> None:
        acts = acting.carry_out

        def noted(migration: Any, gathered: Any, action: Action, now: Any) -> bool:
            self.log.append(action)
            return acts(migration, gathered, action, now)

        patch.setattr(reconcile, "carry_out", noted)
        patch.setattr(figures, "measure", self._figure)
        patch.setattr(figures, "per_pod", lambda *_, **__: {})
        patch.setattr(measure, "measure", lambda *_, **__: none(FigureState.NOT_EXPORTED))
        patch.setattr(measure, "requests", self._requests)
        patch.setattr(routing, "is_routed", lambda _: True)
        for module in (shares, sampling):
            patch.setattr(module, "share_of", self._share)

    def _figure(self, cluster: Any, metric: str, scope: Any, *_: Any, **__: Any) -> Figure:
        return self.figures.get(metric, FINE)[0 if scope.pool == "dra" else 1]

    def _requests(self, cluster: Any, scope: Any, *_: Any) -> Figure:
        pool = self.moves[0].new if scope.pool == "dra" else self.moves[0].old
        return live(self.traffic * pool.weight / 100)

    def _share(self, deployment: Any, pool: Any, start: Any, end: Any) -> shares.Share | None:
        if end <= start:
            return None
        seen = super()._move(self.moves[0])
        return shares.Share(seen.share or none(FigureState.NO_TRAFFIC), seen.requests)

    # --- One look
    def look(self) -> Action:
        before = len(self.log)
        for pool in (self.moves[0].old, self.moves[0].new):
            pool.tick()
        self._write()
        reconcile.reconcile_migration(self.migration.pk, now=self.now)
        leave_cluster(self.chat, "dra")
        self._read()
        assert len(self.log) > before
        return self.log[-1]

    def _write(self) -> None:
        move, chat = self.moves[0], self.chat
        for name, pool in (("main", move.old), ("dra", move.new)):
            pods = [{"name": f"{name}-{n}", "state": "Ready"} for n in range(pool.ready)]
            ModelPool.objects.filter(deployment=chat, name=name).update(pods=pods)
        settle(chat)
        heard = self.now - timedelta(hours=1) if self.away else self.now
        Cluster.objects.filter(pk=chat.cluster_id).update(heard_at=heard)
        held = {"stopped": bool(self.held), "reason": self.held}
        WriteSwitch.objects.update_or_create(pk=1, defaults=held)
        told = {"condition": EDITED | {"message": move.edited}} if move.edited else {}
        if not move.old.untold == move.new.untold == 0:
            told = {"condition": UNTOLD}
        Deployment.objects.filter(pk=chat.pk).update(routing=told)
        if move.released:
            image = f"docker.io/vllm/vllm-openai:v0.{len(self.log)}.0"
            Deployment.objects.filter(pk=chat.pk).update(image=image)
        wanted = Migration.objects.get(pk=self.migration.pk).wanted
        paused = wanted | {"paused": self.wishes.paused}
        Migration.objects.filter(pk=self.migration.pk).update(wanted=paused, lease_until=None)

    def _read(self) -> None:
        self.migration.refresh_from_db()
        self.state, self.stage = State(self.migration.state), Stage(self.migration.stage)
        row, move = self.migration.workloads.get(), self.moves[0]
        move.phase, move.step, move.step_since = Phase(row.phase), row.step, row.step_since
        pools = {pool.name: pool for pool in ModelPool.objects.filter(deployment=self.chat)}
        if "dra" in pools and not move.new.exists:
            move.new = Pool(wanted=2, ready=0, ready_in=move.new.ready_in)
        elif "dra" not in pools:
            move.new.exists, move.new.ready, move.new.weight = False, 0, 0
        for name, pool in (("main", move.old), ("dra", move.new)):
            if name in pools:
                pool.weight, pool.wanted = pools[name].weight, pools[name].replicas
        move.samples = {}
        for one in self.migration.samples.all():
            held = move.samples.setdefault(one.gate, [])
            held.append((Verdict(one.verdict), one.reason, one.at))
