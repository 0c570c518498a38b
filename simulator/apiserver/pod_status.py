"""The status word of a pod in a table, as the real server makes it from its containers."""

from typing import Any

from simulator.apiserver.columns import age, at

Item = dict[str, Any]


def ready_count(pod: Item) -> str:
    statuses = at(pod, "status.containerStatuses", ())
    ready = sum(1 for status in statuses if status.get("ready") and at(status, "state.running"))
    return f"{ready}/{len(at(pod, 'spec.containers', ()))}"


def restarts(pod: Item) -> str:
    statuses = at(pod, "status.containerStatuses", ())
    count = sum(status.get("restartCount", 0) for status in statuses)
    ended = [at(status, "lastState.terminated.finishedAt") for status in statuses]
    last = max((stamp for stamp in ended if stamp), default=None)
    return f"{count} ({age(last)} ago)" if count and last else str(count)


def reason(pod: Item) -> str:
    status = pod.get("status", {})
    word = status.get("reason") or status.get("phase", "")
    for condition in status.get("conditions") or ():
        if condition.get("type") == "PodScheduled" and condition.get("reason") == "SchedulingGated":
            word = "SchedulingGated"
    starting = _starting(pod)
    word = starting or _of_containers(pod, word)
    if "deletionTimestamp" in pod["metadata"]:
        return "Unknown" if status.get("reason") == "NodeLost" else "Terminating"
    return word


def _starting(pod: Item) -> str:
    """What an init container waits for, or "" when all are through."""
    statuses = at(pod, "status.initContainerStatuses", ())
    for place, status in enumerate(statuses):
        state = status.get("state") or {}
        ended = state.get("terminated")
        if ended and ended.get("exitCode", 0) == 0:
            continue
        if ended:
            return f"Init:{_ending(ended)}"
        waiting = at(state, "waiting.reason", "")
        if waiting and waiting != "PodInitializing":
            return f"Init:{waiting}"
        return f"Init:{place}/{len(at(pod, 'spec.initContainers', ()))}"
    return ""


def _ending(ended: Item) -> str:
    if ended.get("reason"):
        return str(ended["reason"])
    if ended.get("signal"):
        return f"Signal:{ended['signal']}"
    return f"ExitCode:{ended.get('exitCode', 0)}"


def _of_containers(pod: Item, word: str) -> str:
    running = False
    for status in reversed(at(pod, "status.containerStatuses", ())):
        state = status.get("state") or {}
        if at(state, "waiting.reason"):
            word = state["waiting"]["reason"]
        elif state.get("terminated"):
            word = _ending(state["terminated"])
        elif status.get("ready") and state.get("running"):
            running = True
    if word == "Completed" and running:
        return "Running" if _is_ready(pod) else "NotReady"
    return word


def _is_ready(pod: Item) -> bool:
    return any(
        condition.get("type") == "Ready" and condition.get("status") == "True"
        for condition in at(pod, "status.conditions", ())
    )
