"""How far a pool has come, told in the cluster's own words."""

from typing import Any

from domain.serving import Seen, devices_of, pod_state, progress

MESSAGE = "0/4 nodes are available: 4 cannot allocate all claims."


def pod(name: str = "p", **changes: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"metadata": {"name": name}, "spec": {}, "status": {}}
    if "node" in changes:
        found["spec"]["nodeName"] = changes["node"]
    if "waits" in changes:
        scheduled = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
        found["status"]["conditions"] = [scheduled | {"message": changes["waits"]}]
    if "ready" in changes:
        ready = {"type": "Ready", "status": "True" if changes["ready"] else "False"}
        found["status"]["conditions"] = [ready]
    if "container" in changes:
        found["status"]["containerStatuses"] = [changes["container"]]
    if changes.get("leaving"):
        found["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return found


STARTED = {"started": True, "state": {"running": {}}}


def told(*pods: dict[str, Any], replicas: int = 1, events: Any = ()) -> dict[str, Any]:
    found = progress(Seen(pods, (), events), replicas=replicas, needs_claims=True, generation=3)
    return {one.type: one for one in found}


def test_a_waiting_pod_shows_the_schedulers_own_message() -> None:
    found = told(pod(waits=MESSAGE))["Allocated"]
    assert (found.status, found.reason, found.generation) == ("False", "Unschedulable", 3)
    assert MESSAGE in found.message and "0 of 1" in found.message


def test_a_refused_claim_is_found_in_the_events() -> None:
    event = {
        "reason": "FailedResourceClaimCreation",
        "message": "exceeded quota: claimyard",
        "involvedObject": {"name": "p"},
    }
    found = told(pod(), events=[event])["Allocated"]
    assert (found.reason, "exceeded quota" in found.message) == (
        "FailedResourceClaimCreation",
        True,
    )


def test_silence_of_the_scheduler_is_said_and_not_guessed() -> None:
    assert told(pod())["Allocated"].reason == "WaitingForScheduler"
    assert told()["Allocated"].reason == "WaitingForPods"


def test_allocated_and_loading_are_two_things() -> None:
    waiting = {"started": False, "state": {"waiting": {"reason": "ImagePullBackOff"}}}
    found = told(pod(node="n", container=waiting))
    assert found["Allocated"].status == "True"
    assert (found["Loaded"].status, found["Loaded"].reason) == ("False", "ImagePullBackOff")
    assert found["Ready"].status == "False"


def test_a_crash_shows_why_it_ended() -> None:
    ended = {"started": False, "state": {"terminated": {"reason": "OOMKilled", "message": "137"}}}
    found = told(pod(node="n", container=ended))["Loaded"]
    assert found.reason == "OOMKilled"


def test_a_serving_pool_is_ready() -> None:
    found = told(pod(node="n", container=STARTED, ready=True))
    assert {one.status for one in found.values()} == {"True"}


def test_one_of_two_is_not_all() -> None:
    found = told(pod(node="n", container=STARTED, ready=True), pod("q", waits=MESSAGE), replicas=2)
    assert "1 of 2" in found["Ready"].message
    assert found["Allocated"].status == "False"


def test_a_pod_that_leaves_does_not_count() -> None:
    assert (
        told(pod(node="n", container=STARTED, ready=True, leaving=True))["Ready"].status == "False"
    )


def test_scaled_to_zero_is_as_wanted() -> None:
    assert {one.reason for one in told(replicas=0).values()} == {"ScaledToZero"}


def test_pods_have_a_word_for_their_state() -> None:
    assert pod_state(pod(waits=MESSAGE)) == ("Pending", MESSAGE)
    assert pod_state(pod(node="n", container=STARTED, ready=True)) == ("Ready", "")
    assert pod_state(pod(node="n", container=STARTED, ready=False))[0] == "Starting"
    assert pod_state(pod(leaving=True))[0] == "Ending"


def test_malformed_objects_are_no_fault() -> None:
    odd: dict[str, Any] = {"metadata": {"name": "odd"}, "spec": None, "status": None}
    assert told(odd)["Allocated"].status == "False"
    assert devices_of({"status": {"allocation": {"devices": {"results": None}}}}) == []
