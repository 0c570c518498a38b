"""What pages show of a pod and of an event, beyond what counting needs."""

from __future__ import annotations

from typing import Any

from domain.accelerators import is_accelerator
from kube.client import Json
from kube.parse.fields import identity, texts

# Labels can be long and many; those that a page shows or a selector of ours reads are few.
MOST_LABELS = 40
LONGEST_TEXT = 4000


def pod_details(raw: Json) -> Json:
    """Why it waits, its containers' states, its address and labels."""
    status = raw.get("status") or {}
    labels = texts(raw["metadata"].get("labels"))
    return {
        "waiting": waiting(status),
        "containers": [
            _container(one)
            for part in ("initContainerStatuses", "containerStatuses")
            for one in status.get(part) or ()
        ],
        "ip": str(status.get("podIP") or ""),
        "labels": dict(sorted(labels.items())[:MOST_LABELS]),
    }


def waiting(status: Json) -> str:
    """The scheduler's message on a pod that it cannot place; "" for one that has a place."""
    for one in status.get("conditions") or ():
        if one.get("type") == "PodScheduled" and one.get("status") == "False":
            return str(one.get("message") or one.get("reason") or "")[:LONGEST_TEXT]
    return ""


def _container(raw: Json) -> Json:
    state: dict[str, Any] = raw.get("state") or {}
    name = next(iter(state), "")
    detail: dict[str, Any] = state.get(name) or {}
    last = (raw.get("lastState") or {}).get("terminated") or {}
    found = {
        "name": str(raw.get("name") or ""),
        "state": name,
        "reason": str(detail.get("reason") or ""),
        "message": str(detail.get("message") or "")[:LONGEST_TEXT],
        "ready": bool(raw.get("ready")),
        "restarts": int(raw.get("restartCount") or 0),
    }
    if last:
        found["last"] = {
            "reason": str(last.get("reason") or ""),
            "exit_code": last.get("exitCode"),
            "ended_at": str(last.get("finishedAt") or ""),
        }
    return found


def event(raw: Json) -> Json:
    """An event of core/v1; the newer fields where the older are empty."""
    uid, namespace, _ = identity(raw)
    about = raw.get("involvedObject") or {}
    series = raw.get("series") or {}
    created = raw["metadata"].get("creationTimestamp")
    last = series.get("lastObservedTime") or raw.get("lastTimestamp") or raw.get("eventTime")
    return {
        "uid": uid,
        "namespace": namespace,
        "about_kind": str(about.get("kind") or ""),
        "about_uid": str(about.get("uid") or ""),
        "about_name": str(about.get("name") or ""),
        "type": str(raw.get("type") or ""),
        "reason": str(raw.get("reason") or "")[:200],
        "message": str(raw.get("message") or "")[:LONGEST_TEXT],
        "source": str(
            (raw.get("source") or {}).get("component") or raw.get("reportingComponent") or ""
        )[:200],
        "count": int(series.get("count") or raw.get("count") or 1),
        "first_at": raw.get("firstTimestamp") or raw.get("eventTime") or created,
        "last_at": last or created,
    }


def uses_devices(raw: Json) -> bool:
    """True for a workload whose pods ask for claims or accelerators."""
    spec = raw.get("spec") or {}
    pod_spec = (spec.get("template") or {}).get("spec") or {}
    if pod_spec.get("resourceClaims"):
        return True
    return any(
        is_accelerator(resource)
        for container in pod_spec.get("containers") or ()
        for resource in (container.get("resources") or {}).get("limits") or {}
    )
