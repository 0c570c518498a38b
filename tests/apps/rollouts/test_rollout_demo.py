from apps.deployments.demo import DEPLOYMENTS
from apps.rollouts import demo
from domain.rollout.settings import settings_from


def test_the_demos_migrations_are_over_deployments_of_the_demo() -> None:
    held = {(tenant, content["name"]): content for tenant, content in DEPLOYMENTS}
    for _, tenant, name in demo.MIGRATIONS:
        [pool] = held[tenant, name]["pools"]
        assert pool["path"] == "device-plugin"


def test_the_demos_settings_reach_the_question_by_themselves() -> None:
    found = settings_from(demo.SETTINGS)
    assert found.approvals == ()
    assert not any(step.manual for step in found.steps)
    assert found.drill
