"""What parts of a real data path do that nobody expects, and what the portal says of it then."""

import threading
import time
from datetime import datetime
from typing import Any

import pytest
from django.utils import timezone

from apps.deployments import pools
from apps.deployments.reconcile import reconcile_deployment
from apps.telemetry import measure
from apps.telemetry.scopes import Scope
from domain import routing
from domain.figures import State
from kube.kinds import HTTP_ROUTES, INFERENCE_POOLS
from tests.datapath.conftest import MODEL, Carried
from tests.datapath.kubelet import until

pytestmark = [pytest.mark.cluster, pytest.mark.django_db(transaction=True)]


def errors(path: Carried, pool: str, since: datetime) -> Any:
    scope = Scope.of_pool(path.pool(pool))
    now = timezone.now()
    return measure.measure(
        path.deployment.cluster, "error_ratio", scope, since, now, statistic="ratio"
    )


def test_errors_of_a_server_are_counted_though_its_picker_counts_none(path: Carried) -> None:
    """The picker looks for a header that Envoy does not send, so its counter is not the judge."""
    path.weights(main=50, dra=50)
    path.born("main")
    path.rig.kubelet.fault("dra", error_rate=0.5)
    path.born("dra")
    path.born("dra", "5.+")
    began = timezone.now()
    seen, _ = path.sent(300)
    assert seen["codes"]["500"] > 40

    by_picker = path.rig.query("sum by (pool) (inference_objective_request_error_total)")
    assert by_picker.get(f"{MODEL}-dra", 0.0) == 0.0
    by_server = until(
        lambda: (e := errors(path, "dra", began)).usable and e,
        why=lambda: errors(path, "dra", began),
    )
    assert routing.follows(0.5, by_server.value, 100)
    assert (errors(path, "main", began).value or 0) == 0


def test_a_pool_without_its_picker_is_seen_by_attempts_alone(path: Carried) -> None:
    """All other counters have nothing to say; nothing must never read as healthy."""
    path.weights(main=70, dra=30)
    path.sent(40)
    path.rig.kubelet.kill_picker("dra")
    began = timezone.now()
    seen, _ = path.sent(300)
    refused = seen["codes"].get("500", 0)
    assert routing.follows(0.3, refused / 300, 300)
    share = path.share(began)
    assert share["dra"].state is State.LIVE, share
    assert routing.follows(0.3, share["dra"].value or 0, 300)


def test_a_dead_server_whose_pod_is_ready_draws_requests_and_shows_as_a_target_that_is_down(
    path: Carried,
) -> None:
    path.weights(main=50, dra=50)
    path.sent(40)
    path.rig.kubelet.close("dra", 0)
    seen, _ = path.sent(200)
    assert seen["codes"].get("503", 0) > 10
    assert path.pool("dra").replicas == sum(
        pod["state"] == "Ready" for pod in path.pool("dra").pods
    )

    def partial() -> Any:
        now = timezone.now()
        found = measure.measure(
            path.deployment.cluster,
            "running",
            Scope.of_pool(path.pool("dra")),
            datetime.fromtimestamp(now.timestamp() - 5, now.tzinfo),
            now,
        )
        return found if found.state in (State.PARTIAL, State.STALE) else None

    assert until(partial, 150)


def test_status_that_comes_late_or_never_is_waited_for(path: Carried) -> None:
    """Silence at the new generation is Unknown, whatever an older one said."""
    path.rig.controller.tells = False
    pools.set_weights(actor=None, deployment=path.row(), weights={"main": 80, "dra": 20})
    reconcile_deployment(path.deployment.pk)
    until(lambda: path.routed().get("status") == "Unknown")
    assert path.routed()["reason"] == "Pending"
    path.rig.controller.tells = True
    path.rig.controller.poke()
    until(lambda: path.routed().get("status") == "True")


def test_weights_that_somebody_else_wrote_are_told_and_not_fought(path: Carried) -> None:
    path.weights(main=90, dra=10)
    live = path.rig.cluster.get(HTTP_ROUTES, path.namespace, MODEL)
    refs = live["spec"]["rules"][0]["backendRefs"]
    where = {one["name"]: at for at, one in enumerate(refs)}
    patch = [
        {
            "op": "replace",
            "path": f"/spec/rules/0/backendRefs/{where[f'{MODEL}-{name}']}/weight",
            "value": weight,
        }
        for name, weight in (("main", 10), ("dra", 90))
    ]
    path.rig.cluster.patch_json(HTTP_ROUTES, path.namespace, MODEL, patch)
    until(lambda: path.routed().get("reason") == "RouteChanged")
    assert path.routed()["status"] == "False"
    now = path.rig.cluster.get(HTTP_ROUTES, path.namespace, MODEL)
    assert now["metadata"]["generation"] > live["metadata"]["generation"]
    kept = {one["name"]: one["weight"] for one in now["spec"]["rules"][0]["backendRefs"]}
    assert kept[f"{MODEL}-dra"] == 90


def test_streams_finish_when_a_pool_gets_no_weight_and_is_removed_after_that(
    path: Carried,
) -> None:
    """Weight 0, drain, then remove: no stream is cut, though requests went on all the time."""
    path.weights(main=50, dra=50)
    path.sent(20)
    path.rig.controller.linger = 0.0  # as gateways that drop a backend's cluster at once
    path.rig.kubelet.fault("dra", decode_ms=40)
    seen: dict[str, Any] = {}
    work = threading.Thread(target=lambda: seen.update(path.load(60, "-max-tokens=40", "-rate=20")))
    work.start()
    time.sleep(1.0)
    path.weights(main=100, dra=0)
    until(lambda: not any(path.rig.kubelet.busy(at) for _, at in path.rig.kubelet.servers("dra")))
    pools.remove_pool(actor=None, pool=path.pool("dra"))
    path.settle()
    work.join(60)
    assert seen["codes"] == {"200": 60}
    assert not seen.get("cut"), seen
    until(lambda: path.settle() and path.row().pools.count() == 1)
    names = [
        one["metadata"]["name"]
        for one in path.rig.cluster.list_all(INFERENCE_POOLS, namespace=path.namespace)
    ]
    assert names == [f"{MODEL}-main"]


def test_a_smaller_pool_has_a_lower_cache_hit_without_any_regression(path: Carried) -> None:
    """Fewer servers hold fewer prefixes: who compares hits must compare pools of equal size."""
    pools.set_replicas(actor=None, pool=path.pool("dra"), replicas=1)
    path.settle()
    path.weights(main=50, dra=50)
    path.rig.kubelet.fault("dra", blocks=300)
    path.rig.kubelet.fault("main", blocks=300)
    path.sent(100)
    began = timezone.now()
    path.sent(300)

    last: dict[str, Any] = {}

    def hits() -> dict[str, float] | None:
        now = timezone.now()
        found = {
            name: measure.measure(
                path.deployment.cluster,
                "cache_hit",
                Scope.of_pool(path.pool(name)),
                began,
                now,
                statistic="ratio",
            )
            for name in ("main", "dra")
        }
        last.update(found)
        if not all(one.usable for one in found.values()):
            return None
        return {name: one.value or 0.0 for name, one in found.items()}

    seen = until(hits, why=lambda: last)
    assert seen and seen["dra"] < seen["main"]
