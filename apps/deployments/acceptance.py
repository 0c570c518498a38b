"""Would the portal still accept a pool as it stands? What changed since is told, not undone."""

from apps.catalog import selectors as catalog
from apps.catalog.models import VersionState
from apps.deployments.models import Deployment, ModelPool
from apps.quotas import selectors as quotas
from domain.conditions import Condition


def acceptance(deployment: Deployment, pool: ModelPool) -> Condition:
    """The condition Accepted: false once a class of it is gone or its tenant is over quota."""
    offered = set(catalog.classes_in(deployment.cluster).values_list("name", flat=True))
    if gone := sorted(set(pool.charge) - offered):
        text = f"The class {gone[0]} is not offered in this cluster any more: no new claim of it "
        return _said(pool, "False", "ClassWithdrawn", text + "can be allocated.")
    limits = quotas.limits_of(deployment.tenant, deployment.cluster)
    used = quotas.used_by(deployment.tenant, deployment.cluster)
    for name in sorted(pool.charge):
        if used.get(name, 0) > limits.get(name, 0):
            text = f"{name}: {used[name]} in use, but the quota is {limits.get(name, 0)} now. "
            return _said(pool, "False", "OverQuota", text + "Nothing is taken away.")
    if pool.pattern_version.state != VersionState.APPROVED:
        text = f"{pool.pattern_version} is withdrawn; what runs on it runs on."
        return _said(pool, "True", "PatternWithdrawn", text)
    return _said(pool, "True", "Accepted", "Quota and pattern allow it.")


def _said(pool: ModelPool, status: str, reason: str, message: str) -> Condition:
    return Condition(
        "Accepted", "True" if status == "True" else "False", reason, message, pool.generation
    )
