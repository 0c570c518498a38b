"""A second pool comes beside the first, is charged apart, gets its weight and goes again."""

from typing import Any

import pytest

from apps.audit.models import Entry
from apps.deployments import pools, services
from apps.deployments.models import Deployment, ModelPool
from apps.deployments.rendering import manifests_of
from apps.deployments.selectors import summary_of
from apps.quotas import selectors as quotas
from domain.errors import IllegalTransition, InvalidValue, QuotaExceeded
from tests.apps.deployments.conftest import asked

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("ready")]


@pytest.fixture
def llama(alice: Any, tenant: Any) -> Deployment:
    made = services.create_deployment(
        actor=alice,
        tenant=tenant,
        asked=asked(pools=[{"pattern": "h100-cards", "path": "device-plugin"}]),
    )
    Deployment.objects.filter(pk=made.pk).update(observed_generation=made.generation)
    made.refresh_from_db()
    return made


def added(deployment: Deployment, pattern: Any, **changes: Any) -> ModelPool:
    wanted: dict[str, Any] = {
        "name": "dra",
        "path": "dra",
        "pattern_version": pattern,
        "parameters": {"count": 1},
        "replicas": 1,
    }
    return pools.add_pool(actor=None, deployment=deployment, **(wanted | changes))


def kinds(deployment: Deployment) -> list[tuple[str, str]]:
    return [(one["kind"], one["metadata"]["name"]) for one in manifests_of(deployment)]


def service(deployment: Deployment) -> dict[str, str]:
    [found] = [one for one in manifests_of(deployment) if one["kind"] == "Service"]
    selector: dict[str, str] = found["spec"]["selector"]
    return selector


def test_a_pool_comes_without_weight_and_with_its_own_charge(
    llama: Deployment, pattern: Any, sent: Any, django_capture_on_commit_callbacks: Any
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        pool = added(llama, pattern, replicas=2)

    llama.refresh_from_db()
    assert pool.weight == 0 and not llama.is_settled
    assert quotas.used_by(llama.tenant, llama.cluster) == {"h100": 3}
    assert ("Deployment", "llama-main") in kinds(llama) and ("Deployment", "llama-dra") in kinds(
        llama
    )
    assert ("reconcile_deployment", (llama.pk,)) in sent.messages
    assert str(Entry.objects.first()) == "claimyard added pool deployments.deployment llama"


def test_a_pool_asked_for_twice_is_one(llama: Deployment, pattern: Any) -> None:
    first = added(llama, pattern)
    llama.refresh_from_db()
    assert added(llama, pattern) == first
    assert llama.pools.count() == 2
    with pytest.raises(IllegalTransition, match="is another one"):
        added(llama, pattern, path="device-plugin")


def test_both_pools_must_fit_the_quota(llama: Deployment, pattern: Any) -> None:
    with pytest.raises(QuotaExceeded, match="h100: asked for 4, 3 of 4 left"):
        added(llama, pattern, replicas=4)
    assert llama.pools.count() == 1


def test_a_pool_is_checked_like_everything_that_is_asked_for(
    llama: Deployment, pattern: Any
) -> None:
    with pytest.raises(InvalidValue):
        added(llama, pattern, parameters={"count": 99})
    with pytest.raises(InvalidValue):
        added(llama, pattern, replicas=-1)


def test_the_service_selects_the_pool_with_all_the_weight(llama: Deployment, pattern: Any) -> None:
    assert "claimyard.dev/pool" not in service(llama)
    added(llama, pattern)
    assert service(llama)["claimyard.dev/pool"] == "main"
    pools.set_weights(actor=None, deployment=llama, weights={"main": 90, "dra": 10})
    assert "claimyard.dev/pool" not in service(llama)


def test_a_change_of_weights_alone_is_known_as_such(llama: Deployment, pattern: Any) -> None:
    added(llama, pattern)
    llama.refresh_from_db()
    content = llama.content_generation
    assert content == llama.generation
    changed = pools.set_weights(actor=None, deployment=llama, weights={"main": 95, "dra": 5})
    assert (changed.generation, changed.content_generation) == (content + 1, content)
    assert dict(llama.pools.values_list("name", "weight")) == {"dra": 5, "main": 95}
    again = pools.set_weights(actor=None, deployment=llama, weights={"main": 95, "dra": 5})
    assert again.generation == changed.generation


@pytest.mark.parametrize(
    "weights", [{"main": 100}, {"main": 50, "dra": 51}, {"main": 50, "dra": 25, "other": 25}]
)
def test_weights_that_do_not_fit_the_pools_are_refused(
    llama: Deployment, pattern: Any, weights: dict[str, int]
) -> None:
    added(llama, pattern)
    with pytest.raises(InvalidValue):
        pools.set_weights(actor=None, deployment=llama, weights=weights)


def test_a_pool_with_weight_stays(llama: Deployment, pattern: Any) -> None:
    pool = added(llama, pattern)
    pools.set_weights(actor=None, deployment=llama, weights={"main": 95, "dra": 5})
    with pytest.raises(IllegalTransition, match="still gets 5 %"):
        pools.remove_pool(actor=None, pool=pool)


def test_the_last_pool_stays(llama: Deployment) -> None:
    with pytest.raises(IllegalTransition, match="last pool"):
        pools.remove_pool(actor=None, pool=llama.pools.get())


def test_a_pool_that_goes_is_charged_until_it_is_gone(llama: Deployment, pattern: Any) -> None:
    pool = added(llama, pattern)
    pools.remove_pool(actor=None, pool=pool)
    pools.remove_pool(actor=None, pool=pool)

    llama.refresh_from_db()
    assert ("Deployment", "llama-dra") not in kinds(llama)
    assert quotas.used_by(llama.tenant, llama.cluster) == {"h100": 2}
    assert summary_of(llama).wanted == 1
    with pytest.raises(IllegalTransition, match="being taken out"):
        added(llama, pattern)
    with pytest.raises(IllegalTransition, match="being taken out"):
        pools.set_replicas(actor=None, pool=pool, replicas=2)


def test_replicas_of_one_pool_change_alone(llama: Deployment, pattern: Any) -> None:
    pool = added(llama, pattern)
    pools.set_replicas(actor=None, pool=pool, replicas=3)
    assert dict(llama.pools.values_list("name", "replicas")) == {"dra": 3, "main": 1}
    assert quotas.used_by(llama.tenant, llama.cluster) == {"h100": 4}
