"""Would the cluster take claim and pod of a new pool? Asked as the tenant's own account, without
making anything (server-side dry run)."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

from apps.inventory import connections
from apps.inventory.models import Cluster
from domain.policies import SERVICE_ACCOUNT
from kube.errors import AlreadyExists, ClusterError, Forbidden, Permanent

Json = dict[str, Any]
Outcome = Literal["accepted", "refused", "no-permission", "error"]
PORTAL = "claimyard"


@dataclass(frozen=True, slots=True)
class Answer:
    """`asked_as` is the account, or the portal itself where the account may only read."""

    outcome: Outcome
    text: str
    asked_as: str

    def as_dict(self) -> Json:
        return asdict(self)


def account_of(namespace: str) -> str:
    return f"system:serviceaccount:{namespace}:{SERVICE_ACCOUNT}"


def try_claim(cluster: Cluster, namespace: str, claim: Json) -> Answer:
    """The claim as the account; as the portal if the account has no right to make claims."""
    answer = _try(cluster, claim, account_of(namespace))
    if answer.outcome != "no-permission":
        return answer
    again = _try(cluster, claim, "")
    if again.outcome == "no-permission":
        return answer
    return Answer(again.outcome, f"{again.text} ({answer.text})", PORTAL)


def try_pod(cluster: Cluster, namespace: str, pod: Json, workload: Json) -> Answer:
    """The pod as the account; where that may not make pods, its workload as the portal."""
    answer = _try(cluster, pod, account_of(namespace))
    if answer.outcome != "no-permission":
        return answer
    again = _try(cluster, workload, "", apply=True)
    if again.outcome == "no-permission":
        return answer
    text = f"{again.text} Only the workload was judged, not its pod. ({answer.text})"
    return Answer(again.outcome, text, PORTAL)


def _try(cluster: Cluster, manifest: Json, account: str, *, apply: bool = False) -> Answer:
    asked_as = account or PORTAL
    try:
        with connections.opened(cluster, acting_as=account) as connection:
            if apply:
                connection.apply(manifest, dry_run=True, force=True)
            else:
                connection.create(manifest, dry_run=True)
    except AlreadyExists:
        return Answer("accepted", "It is there already.", asked_as)
    except Forbidden as error:
        return Answer(_denied(error), error.message, asked_as)
    except Permanent as error:
        return Answer("refused", error.message, asked_as)
    except ClusterError as error:
        return Answer("error", error.message, asked_as)
    return Answer("accepted", "The cluster would take it.", asked_as)


def _denied(error: Forbidden) -> Outcome:
    """A quota or a policy refuses the object; RBAC refuses whoever asks, whatever the object is."""
    text = error.message
    is_access = "cannot create resource" in text or "cannot patch resource" in text
    return "no-permission" if is_access or "cannot impersonate" in text else "refused"
