"""A rule of a tenant's own HTTPRoute that the portal keeps in step with the weights."""

from typing import Any

from django.db import transaction

from apps.audit import services as audit
from apps.deployments import services
from apps.deployments.gateways import gateway_of, parent_of
from apps.deployments.models import Deployment
from apps.inventory import selectors as inventory
from apps.inventory import writing
from apps.tenancy.models import User
from domain.errors import IllegalTransition, InvalidValue
from domain.manifests.routing_patch import fingerprint


def candidates(deployment: Deployment) -> list[dict[str, Any]]:
    """HTTPRoutes of the namespace that hang on our Gateway and are not the portal's own."""
    gateway = gateway_of(deployment.cluster)
    if gateway is None:
        return []
    parent = parent_of(gateway)
    found = inventory.bodies_in(deployment.cluster, {deployment.namespace}, ("httproutes",))
    return [
        body
        for _, body in found
        if not writing.is_ours(body)
        and any(
            parent.is_meant(ref, deployment.namespace)
            for ref in (body.get("spec") or {}).get("parentRefs") or ()
        )
    ]


@transaction.atomic
def hand_over(*, actor: User | None, deployment: Deployment, route: str, rule: int) -> Deployment:
    """Let the portal share the requests of one rule; everything else of the route stays theirs.

    The portal's own route of the deployment goes. Raises InvalidValue naming the field.
    """
    deployment = services.locked(deployment, None)
    found = next((one for one in candidates(deployment) if _name(one) == route), None)
    if found is None:
        raise InvalidValue(
            f"There is no HTTPRoute {route[:60]!r} on the cluster's Gateway in "
            f"{deployment.namespace}.",
            field="route",
        )
    rules = (found.get("spec") or {}).get("rules") or ()
    if not 0 <= rule < len(rules):
        raise InvalidValue(f"{route} has rules 0 to {len(rules) - 1}.", field="rule")
    given = {"route": route, "index": rule, "rule": fingerprint(rules[rule])}
    given["before"] = list(rules[rule].get("backendRefs") or ())
    services.raise_generation(deployment, handed_over=given)
    audit.record(
        actor=actor,
        verb="handed over a route of",
        subject=deployment,
        after={"route": route, "rule": rule},
    )
    services.send(deployment)
    return deployment


@transaction.atomic
def take_back(*, actor: User | None, deployment: Deployment) -> Deployment:
    """The rule stays as it is and is theirs again; the deployment gets a route of its own."""
    deployment = services.locked(deployment, None)
    if not deployment.handed_over:
        raise IllegalTransition(f"No route was handed over for {deployment}.")
    before = {name: deployment.handed_over[name] for name in ("route", "index")}
    services.raise_generation(deployment, handed_over={})
    audit.record(actor=actor, verb="took back a route of", subject=deployment, before=before)
    services.send(deployment)
    return deployment


def _name(body: dict[str, Any]) -> str:
    return str(body["metadata"]["name"])
