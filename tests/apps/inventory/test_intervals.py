"""Every use of a device from its creation to its end, on both allocation paths."""

from datetime import UTC, datetime

import pytest

from apps.claims.models import Use
from kube.client import Json
from tests.apps.inventory.conftest import Told
from tests.workers import fleet

pytestmark = pytest.mark.django_db
LABELS = {
    "claimyard.dev/tenant": "vision",
    "claimyard.dev/deployment": "llama",
    "claimyard.dev/pool": "main",
}


def at(hour: int, minute: int = 0) -> datetime:
    return datetime(2026, 11, 30, hour, minute, tzinfo=UTC)


def moments(use: Use) -> tuple[datetime, datetime, datetime | None, datetime | None]:
    return use.created_at, use.allocated_at, use.running_at, use.ended_at


def pod(*states: Json, phase: str = "Running", **limits: str) -> Json:
    found = fleet.pod("server", "n2", "team-a", **limits)
    found["metadata"] |= {"labels": LABELS}
    found["status"] |= {
        "phase": phase,
        "containerStatuses": [{"name": "main", "state": state} for state in states],
    }
    return found


RUNS = {"running": {"startedAt": "2026-11-30T10:30:00Z"}}
ENDED = {"terminated": {"startedAt": "2026-11-30T10:30:00Z", "finishedAt": "2026-11-30T12:00:00Z"}}


def test_a_device_plugins_pod_has_all_four_moments_and_whose_it_was(fleet_told: Told) -> None:
    gpus = {"nvidia.com/gpu": "1"}
    fleet_told.changed("pods", pod({"waiting": {"reason": "Pulling"}}, phase="Pending", **gpus))
    use = Use.objects.get(name="server")
    assert moments(use) == (at(9), at(9, 59), None, None)
    fleet_told.changed("pods", pod(RUNS, **gpus))
    fleet_told.changed("pods", pod(ENDED, phase="Failed", **gpus))
    use.refresh_from_db()
    assert moments(use) == (at(9), at(9, 59), at(10, 30), at(12))
    assert (use.device_class, use.amount, use.node_name) == ("nvidia.com/gpu", 1, "n2")
    assert (use.tenant, use.deployment, use.model_pool) == ("vision", "llama", "main")


def test_a_pod_that_is_deleted_while_it_runs_ends_when_that_was_found_out(
    fleet_told: Told,
) -> None:
    running = pod(RUNS, **{"nvidia.com/gpu": "1"})
    fleet_told.changed("pods", running)
    fleet_told.deleted("pods", running)
    ended = Use.objects.get(name="server").ended_at
    assert ended is not None and ended > at(12)


def test_a_claims_device_has_all_four_moments_and_its_share(fleet_told: Told) -> None:
    held = fleet.claim("shared", "team-a", **LABELS) | {"status": fleet.allocation("n1", "gpu-4")}
    (result,) = held["status"]["allocation"]["devices"]["results"]
    result["shareID"] = "0af3"
    fleet_told.changed("resourceclaims", held)
    user = pod(RUNS)
    user["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimName": "shared"}]
    fleet_told.changed("pods", user)
    use = Use.objects.get(name="shared")
    assert moments(use) == (at(9), at(10), at(10, 30), None)
    assert (use.device, use.share_id, use.device_class) == ("gpu-4", "0af3", fleet.DRIVER)
    assert (use.tenant, use.deployment, use.node_name) == ("vision", "llama", "n1")
    fleet_told.deleted("resourceclaims", held)
    use.refresh_from_db()
    assert use.ended_at is not None and use.ended_at > at(12)


def test_admin_access_and_other_drivers_devices_are_no_use(fleet_told: Told) -> None:
    held = fleet.claim("looks", "team-a") | {"status": fleet.allocation("n1", "gpu-4")}
    results = held["status"]["allocation"]["devices"]["results"]
    results[0]["adminAccess"] = True
    results.append({**results[0], "driver": "dra.net", "adminAccess": False})
    fleet_told.changed("resourceclaims", held)
    assert not Use.objects.filter(name="looks").exists()
