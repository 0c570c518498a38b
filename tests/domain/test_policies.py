"""What a tenant has in a cluster."""

from domain.policies import TenantSpace, hard_limits, render
from kube import rights
from kube.rights_table import TENANT_ROLES


def space(**changes: object) -> TenantSpace:
    held: dict[str, object] = {
        "tenant": "vision",
        "namespace": "team-vision",
        "limits": {"h100": 4, "l40s": 2, "mig": 0},
        "resources": {"h100": ["nvidia.com/gpu"], "l40s": ["nvidia.com/gpu"]},
        "groups": ("vision-people", "vision-leads"),
    }
    return TenantSpace(**(held | changes))  # type: ignore[arg-type]


def test_limits_hold_for_both_paths_and_bound_the_number_of_claims() -> None:
    assert hard_limits(space()) == {
        "h100.deviceclass.resource.k8s.io/devices": "4",
        "requests.nvidia.com/gpu": "6",
        "l40s.deviceclass.resource.k8s.io/devices": "2",
        "mig.deviceclass.resource.k8s.io/devices": "0",
        "count/resourceclaims.resource.k8s.io": "6",
    }


def test_objects_come_in_the_order_in_which_they_need_each_other() -> None:
    kinds = [one["kind"] for one in render(space())]
    assert kinds == ["Namespace", "ServiceAccount", "RoleBinding", "ResourceQuota"]


def test_every_object_carries_our_labels_and_its_tenant() -> None:
    for one in render(space()):
        labels = one["metadata"]["labels"]
        assert labels["app.kubernetes.io/managed-by"] == "claimyard"
        assert labels["claimyard.dev/tenant"] == "vision"


def test_rights_are_those_of_the_role_that_only_reads() -> None:
    (binding,) = [one for one in render(space()) if one["kind"] == "RoleBinding"]
    assert binding["roleRef"]["name"] == TENANT_ROLES[0]
    view = rights.tenant_roles()[0]
    assert {verb for rule in view["rules"] for verb in rule["verbs"]} == {"get", "list", "watch"}


def test_the_label_for_admin_access_is_never_given() -> None:
    assert not any("admin-access" in key for key in render(space())[0]["metadata"]["labels"])


def bound(**changes: object) -> list[tuple[str, str]]:
    (binding,) = [one for one in render(space(**changes)) if one["kind"] == "RoleBinding"]
    return [(one["kind"], one["name"]) for one in binding["subjects"]]


def test_the_tenants_groups_are_bound_beside_its_account() -> None:
    account = ("ServiceAccount", "claimyard-server")
    assert bound() == [account, ("Group", "vision-people"), ("Group", "vision-leads")]


def test_without_a_login_group_only_the_account_is_bound() -> None:
    assert bound(groups=()) == [("ServiceAccount", "claimyard-server")]
