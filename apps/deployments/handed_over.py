"""Keeping a rule that was handed over in step with the weights, see handover."""

from typing import Any

from apps.deployments.models import Deployment
from apps.inventory import connections, writing
from domain.conditions import Condition
from domain.manifests import Serving
from domain.manifests.routing import backends
from domain.manifests.routing_patch import RuleGone, operations
from kube import kinds
from kube.client import Cluster as Connection
from kube.errors import Conflict, Invalid, NotFound, Permanent

PATCH_TRIES = 3


def keep(deployment: Deployment, serving: Serving, *, touch: bool) -> Condition | None:
    """Bring the handed-over rule in step; None when it is. Repeatable.

    Without `touch` what somebody changed is told and left alone.
    """
    if not deployment.handed_over or serving.routing is None:
        return None
    name = deployment.handed_over["route"]
    try:
        with connections.opened(deployment.cluster) as connection:
            return _keep(connection, deployment, name, backends(serving), touch=touch)
    except RuleGone as error:
        return Condition("Applied", "False", "RuleGone", str(error))
    except NotFound:
        return Condition("Applied", "False", "RouteMissing", f"HTTPRoute {name} is gone.")
    except Permanent as error:
        return Condition("Applied", "False", error.reason, error.message)


def _keep(
    connection: Connection,
    deployment: Deployment,
    name: str,
    wanted: list[dict[str, Any]],
    *,
    touch: bool,
) -> Condition | None:
    """The test in the patch fails when somebody writes in between; then it is looked at anew."""
    for left in reversed(range(PATCH_TRIES)):
        live = connection.get(kinds.HTTP_ROUTES, deployment.namespace, name)
        patch = operations(live, deployment.handed_over, wanted)
        if not patch:
            return None
        stopped = writing.refusal(deployment.cluster)
        if stopped is not None:
            return stopped
        if deployment.cluster.mode == "propose" or not touch:
            text = f"Rule {deployment.handed_over['index']} of HTTPRoute {name} "
            text += "sends requests elsewhere than the weights say."
            reason = "Proposed" if touch else "RouteChanged"
            return Condition("Applied", "False", reason, text)
        try:
            connection.patch_json(kinds.HTTP_ROUTES, deployment.namespace, name, patch)
        except (Conflict, Invalid):
            if not left:
                raise
    return None
