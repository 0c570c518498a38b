from domain.placement import Fleet, place
from tests.domain.placement.fleets import claim, device, device_class, node, published, request

OLD = "resource.k8s.io/v1beta1"
FULL = request(
    allocationMode="ExactCount",
    count=2,
    adminAccess=False,
    selectors=[{"cel": {"expression": "true"}}],
    tolerations=[{"operator": "Exists"}],
    capacity={"requests": {"memory": "1Gi"}},
)


def test_v1beta1_claims_and_slices_say_what_they_say_in_v1() -> None:
    new = published(device("gpu-0"), device("gpu-1"))
    flat = {"name": FULL["name"], **FULL["exactly"]}
    old_claim = claim("c", flat) | {"apiVersion": OLD}
    devices = [
        {"name": one["name"], "basic": {key: one[key] for key in one if key != "name"}}
        for one in new["spec"]["devices"]
    ]
    old_slice = new | {"apiVersion": OLD, "spec": new["spec"] | {"devices": devices}}
    objects = [node(), device_class()]
    wanted = place(Fleet.build([*objects, new]), [claim("c", FULL)])
    assert place(Fleet.build([*objects, old_slice]), [old_claim]) == wanted
    assert wanted[0].fits


def test_v1beta2_has_the_shape_of_v1() -> None:
    raw = published(device("gpu-0")) | {"apiVersion": "resource.k8s.io/v1beta2"}
    assert place(Fleet.build([node(), device_class(), raw]), [claim()])[0].fits


def test_a_version_of_the_future_is_named_and_not_guessed() -> None:
    raw = published(device("gpu-0")) | {"apiVersion": "resource.k8s.io/v2"}
    fleet = Fleet.build([node(), device_class(), raw])
    (fault,) = fleet.faults.values()
    assert "resource.k8s.io/v2 is not known here" in fault.reason
    assert not place(fleet, [claim()])[0].fits


def test_a_claim_of_an_unknown_form_is_unknown_and_not_refused() -> None:
    (decision,) = place(Fleet.build([node(), device_class()]), [claim("c", {"name": "r0"})])
    assert decision.outcome == "unknown"
    assert "spec.devices.requests[0]: needs exactly or firstAvailable" in decision.reason
