"""Questions to the placement worker, made so that nobody learns of claims that are not theirs."""

from typing import Any

from apps.claims.models import Claim
from apps.common import asks
from apps.common.models import Ask
from apps.inventory.models import Cluster, Mirrored, Pod
from apps.inventory.selectors import active_clusters
from apps.placement.alternatives import a_claim, candidates
from apps.tenancy.selectors import tenants_of
from domain import plainyaml, quota
from domain.diffs import to_yaml
from domain.errors import InvalidValue

LARGEST = 64 * 1024
# The fields of resource.k8s.io/v1; those of a subrequest lack adminAccess.
DEVICES = frozenset({"requests", "constraints", "config"})
LINE = frozenset({"name", "exactly", "firstAvailable"})
ALTERNATIVE = frozenset(
    {"name", "deviceClassName", "selectors", "allocationMode", "count", "tolerations"}
    | {"capacity", "derivedAttributes"}
)
EXACTLY = ALTERNATIVE - {"name"} | {"adminAccess"}
Json = dict[str, Any]


# --- Claims as people write them
def claim_from_yaml(text: str) -> Json:
    """A ResourceClaim from one, from a template, or from a spec; raise InvalidValue."""
    if len(text) > LARGEST:
        raise InvalidValue("This is too long (64 KiB at most).", field="claim")
    try:
        found = plainyaml.read(text)
    except plainyaml.NotPlain as error:
        raise InvalidValue(str(error), field="claim") from None
    return claim_from(found)


def claim_from(found: Any) -> Json:
    """As the API has it; numbers may be written as text, as plain YAML gives them."""
    spec = found.get("spec", found) if isinstance(found, dict) else None
    if isinstance(spec, dict) and "spec" in spec:
        spec = spec["spec"]
    devices = spec.get("devices") if isinstance(spec, dict) else None
    requests = devices.get("requests") if isinstance(devices, dict) else None
    if not isinstance(devices, dict) or not isinstance(requests, list) or not requests:
        raise InvalidValue("A claim needs spec.devices.requests with an entry.", field="claim")
    _only(devices, DEVICES, "devices")
    for at, line in enumerate(requests):
        if not isinstance(line, dict):
            raise InvalidValue("Each entry of requests must be a mapping.", field="claim")
        _only(line, LINE, f"requests[{at}]")
        for body, known in ((line.get("exactly"), EXACTLY), *_alternatives(line)):
            if isinstance(body, dict):
                _only(body, known, f"requests[{at}]")
                if "count" in body:
                    body["count"] = _count(body["count"])
                if body.get("allocationMode") == "All" and body.get("count"):
                    text = "count must not be given with allocationMode All."
                    raise InvalidValue(text, field="claim")
    return a_claim({"devices": devices})


def _alternatives(line: Json) -> list[tuple[Any, frozenset[str]]]:
    found = line.get("firstAvailable")
    return [(one, ALTERNATIVE) for one in found] if isinstance(found, list) else []


def _only(given: Json, known: frozenset[str], where: str) -> None:
    """A field that nobody reads must not look like an answer to it."""
    if unknown := sorted(str(name)[:60] for name in given if name not in known):
        text = f"{where} has no field {unknown[0]}; there are {', '.join(sorted(known))}."
        raise InvalidValue(text, field="claim")


def _count(value: object) -> int:
    """As the API server takes it: 0 is its default, 1; less is refused."""
    text = str(value).removeprefix("-")
    if isinstance(value, bool) or not isinstance(value, int | str) or not text.isdecimal():
        raise InvalidValue("count must be a whole number.", field="claim")
    if len(text) > 5 or int(value) < 0:
        raise InvalidValue("count must be greater than zero and at most 99999.", field="claim")
    return int(value)


def as_yaml(claim: Json) -> str:
    return to_yaml({"spec": claim["spec"]})


# --- Who may ask what
def clusters_for(user: Any) -> list[Cluster]:
    """Where a person may ask: everywhere for platform roles, else where their tenants are."""
    found = active_clusters().order_by("slug")
    if user.is_platform:
        return list(found)
    tenants = tenants_of(user)
    slugs = list(tenants.values_list("slug", flat=True))
    ids = {
        *Cluster.objects.filter(tenant_namespaces__tenant__in=tenants).values_list("pk", flat=True),
        *Pod.objects.filter(tenant__in=slugs).values_list("cluster_id", flat=True),
        *Claim.objects.filter(tenant__in=slugs).values_list("cluster_id", flat=True),
    }
    return list(found.filter(pk__in=ids))


def may_end(user: Any, cluster: Cluster) -> list[str] | None:
    """Namespaces whose claims a person may be told to end; None for all."""
    if user.is_platform:
        return None
    slugs = list(tenants_of(user).values_list("slug", flat=True))
    return sorted(namespaces_of(slugs, cluster))


def namespaces_of(tenants: list[str], cluster: Cluster) -> set[str]:
    mine = {"cluster": cluster, "tenant__in": tenants}
    return {
        *Pod.objects.filter(**mine).values_list("namespace", flat=True).distinct(),
        *Claim.objects.filter(**mine).values_list("namespace", flat=True).distinct(),
    }


def charged_by(pod: Pod) -> dict[str, int]:
    """Devices by class that a pod of a deployment asks for, and so has of its tenant's quota."""
    if not pod.deployment:
        return {}
    bodies = Mirrored.objects.filter(
        cluster=pod.cluster,
        kind="resourceclaims",
        namespace=pod.namespace,
        name__in=list(pod.claims),
    ).values_list("body", flat=True)
    return quota.total(
        {str(exactly.get("deviceClassName")): int(exactly.get("count", 1))}
        for body in bodies
        for line in body["spec"]["devices"].get("requests") or ()
        if (exactly := line.get("exactly"))
    )


# --- Asking
def check(
    user: Any, cluster: Cluster, claims: list[Json], pod: Json | None = None, *, fixes: bool = False
) -> Ask:
    """With a pod, `claims` are what it names: claims and templates of claims.

    With `fixes` the answer waits for them; else `fixes_for` asks for them afterwards.
    """
    question = {
        **({} if pod is None else {"pod": pod}),
        "claims": claims,
        "fixes": fixes,
        "candidates": candidates(user, cluster),
        "may_end": may_end(user, cluster),
    }
    return asks.put("placement.check", question, asked_by=user, cluster_id=cluster.pk)


def fixes_for(check: Ask) -> Ask:
    """What would fit instead, asked once the check is answered, so that nobody waits for both."""
    return asks.put(
        "placement.fixes",
        check.question,
        asked_by=check.asked_by,
        cluster_id=check.cluster_id,
        tenant_id=check.tenant_id,
    )


def explain(user: Any, cluster: Cluster, claim: Json) -> Ask:
    return asks.put("placement.explain", {"claim": claim}, asked_by=user, cluster_id=cluster.pk)


def lint(user: Any, cluster: Cluster, expressions: list[str]) -> Ask:
    question = {"expressions": expressions}
    return asks.put("placement.lint", question, asked_by=user, cluster_id=cluster.pk)


def why_pod(user: Any, pod: Pod) -> Ask:
    """The caller has seen to it that `user` may see the pod."""
    return _why(user, pod, {"pod": pod.name}, charged_by(pod))


def why_claim(user: Any, claim: Claim) -> Ask:
    """For a claim that no waiting pod uses; the caller has seen to it that `user` may see it."""
    return _why(user, claim, {"claim": claim.name}, {})


def _why(user: Any, row: Pod | Claim, subject: Json, gives_back: dict[str, int]) -> Ask:
    question = {
        "namespace": row.namespace,
        **subject,
        "candidates": candidates(user, row.cluster, row.tenant, gives_back=gives_back),
        "may_end": may_end(user, row.cluster),
    }
    return asks.put("placement.why", question, asked_by=user, cluster_id=row.cluster_id)


def shadow(
    user: Any,
    cluster: Cluster,
    *,
    class_name: str,
    resource: str,
    tenant: str = "",
    node_labels: dict[str, str] | None = None,
    as_published: bool = False,
) -> Ask:
    question: Json = {"class": class_name, "resource": resource, "as_published": as_published}
    if tenant:
        question["namespaces"] = sorted(namespaces_of([tenant], cluster))
    if node_labels:
        question["node_labels"] = node_labels
    return asks.put("placement.shadow", question, asked_by=user, cluster_id=cluster.pk)


def fragments(user: Any, cluster: Cluster, class_name: str = "") -> Ask:
    question = {"class": class_name}
    return asks.put("placement.fragments", question, asked_by=user, cluster_id=cluster.pk)
