"""A rule of a tenant's own HTTPRoute that the portal keeps in step with the weights."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class RuleSeen:
    """A rule of a route that could be handed over, in words; `why_not` when it cannot."""

    route: str
    index: int
    matches: str
    filters: tuple[str, ...]
    sends_to: str
    why_not: str = ""


def rules_of(deployment: Deployment) -> list[RuleSeen]:
    """Every rule of every route that is theirs, as the watch last heard of it."""
    return [
        _seen(deployment, _name(body), index, rule)
        for body in candidates(deployment)
        for index, rule in enumerate((body.get("spec") or {}).get("rules") or ())
    ]


def _seen(deployment: Deployment, route: str, index: int, rule: Mapping[str, Any]) -> RuleSeen:
    matches: Sequence[Mapping[str, Any]] = rule.get("matches") or ({},)
    return RuleSeen(
        route,
        index,
        ", or ".join(_match(one) for one in matches),
        tuple(str(one.get("type")) for one in rule.get("filters") or ()),
        ", ".join(_target(ref) for ref in rule.get("backendRefs") or ()),
        _why_not(deployment, route, rule),
    )


def _match(match: Mapping[str, Any]) -> str:
    path = match.get("path") or {}
    parts = [f"{path.get('type', 'PathPrefix')} {path.get('value', '/')}"]
    parts += [f"header {one['name']} = {one['value']}" for one in match.get("headers") or ()]
    parts += [f"query {one['name']} = {one['value']}" for one in match.get("queryParams") or ()]
    return " and ".join([*parts, *([match["method"]] if match.get("method") else ())])


def _target(ref: Mapping[str, Any]) -> str:
    return f"{ref.get('kind', 'Service')} {ref.get('name')} ({ref.get('weight', 1)})"


def _why_not(deployment: Deployment, route: str, rule: Mapping[str, Any]) -> str:
    """Why this rule cannot be handed over; "" when it can."""
    every: Sequence[Mapping[str, Any]] = [
        *(rule.get("filters") or ()),
        *(one for ref in rule.get("backendRefs") or () for one in ref.get("filters") or ()),
    ]
    if any(one.get("type") == "RequestMirror" for one in every):
        return (
            "It mirrors requests: copies are counted as requests of a pool, and may reach another "
            "pool than the one that is named."
        )
    rows = Deployment.objects.filter(
        cluster=deployment.cluster,
        namespace=deployment.namespace,
        retired_at=None,
        handed_over__route=route,
    )
    for one in rows.exclude(pk=deployment.pk):
        if one.handed_over["rule"] == fingerprint(rule):
            return f"It is handed over for {one.name}."
    return ""


@transaction.atomic
def hand_over(
    *,
    actor: User | None,
    deployment: Deployment,
    route: str,
    rule: int,
    generation: int | None = None,
) -> Deployment:
    """Let the portal share the requests of one rule; everything else of the route stays theirs.

    The portal's own route of the deployment goes. Raises InvalidValue naming the field.
    """
    deployment = services.locked(deployment, generation)
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
    if why_not := _why_not(deployment, route, rules[rule]):
        raise InvalidValue(why_not, field="rule")
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
def take_back(
    *, actor: User | None, deployment: Deployment, generation: int | None = None
) -> Deployment:
    """The rule stays as it is and is theirs again; the deployment gets a route of its own."""
    deployment = services.locked(deployment, generation)
    if not deployment.handed_over:
        raise IllegalTransition(f"No route was handed over for {deployment}.")
    before = {name: deployment.handed_over[name] for name in ("route", "index")}
    services.raise_generation(deployment, handed_over={})
    audit.record(actor=actor, verb="took back a route of", subject=deployment, before=before)
    services.send(deployment)
    return deployment


def _name(body: dict[str, Any]) -> str:
    return str(body["metadata"]["name"])
