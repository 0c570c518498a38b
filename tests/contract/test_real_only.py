"""Real only: what the simulated cluster leaves to a real one, in the words that people see."""

import time
from typing import Any

import pytest

from tests.contract.client import Answer, Client
from tests.contract.objects import claim, claims, request

pytestmark = pytest.mark.cluster
ADMISSION = "/apis/admissionregistration.k8s.io/v1"


@pytest.fixture
def api(control_plane: Any) -> Client:
    return Client(control_plane.kubeconfig)


def as_user(name: str) -> dict[str, str]:
    return {"Impersonate-User": name}


def eventually(ask: Any, wanted: int) -> Answer:
    """The answer once it has this status: admission and quota act a moment after they are set."""
    for _ in range(200):
        answer: Answer = ask()
        if answer.status == wanted:
            return answer
        time.sleep(0.05)
    raise AssertionError(f"still {answer}")


def test_a_stranger_is_forbidden(api: Client, namespace: str) -> None:
    answer = api.ask("POST", claims(namespace), claim("c"), headers=as_user("bob"))
    assert (answer.status, answer.body["reason"]) == (403, "Forbidden")
    assert answer.message == (
        'resourceclaims.resource.k8s.io is forbidden: User "bob" cannot create resource '
        f'"resourceclaims" in API group "resource.k8s.io" in the namespace "{namespace}"'
    )
    assert "causes" not in answer.body["details"]


def test_an_access_review_says_no(api: Client, namespace: str) -> None:
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {
            "user": "bob",
            "resourceAttributes": {"verb": "get", "resource": "pods", "namespace": namespace},
        },
    }
    path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    assert api.create(path, review).body["status"]["allowed"] is False


def test_a_quota_of_devices_is_kept(api: Client, namespace: str) -> None:
    key = "gpu.example.com.deviceclass.resource.k8s.io/devices"
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "dra"},
        "spec": {"hard": {key: "1"}},
    }
    path = f"/api/v1/namespaces/{namespace}/resourcequotas"
    assert api.create(path, quota).status == 201
    api.wait(f"{path}/dra", lambda item: key in item["status"].get("used", {}))
    answer = eventually(
        lambda: api.create(claims(namespace), claim("c", request(count=2)), dryRun="All"), 403
    )
    assert answer.message == (
        'resourceclaims.resource.k8s.io "c" is forbidden: exceeded quota: dra, requested: '
        f"{key}=2, used: {key}=0, limited: {key}=1"
    )


def test_an_admission_policy_denies_in_its_own_words(api: Client, namespace: str) -> None:
    name = f"policy-{namespace}"
    resources = {
        "apiGroups": ["resource.k8s.io"],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": ["resourceclaims"],
    }
    validation = {"expression": "false", "message": "not here", "reason": "Forbidden"}
    policy = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            "matchConstraints": {"resourceRules": [resources]},
            "validations": [validation],
        },
    }
    chosen = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}}}
    binding = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {"policyName": name, "validationActions": ["Deny"], "matchResources": chosen},
    }
    assert api.create(f"{ADMISSION}/validatingadmissionpolicies", policy).status == 201
    assert api.create(f"{ADMISSION}/validatingadmissionpolicybindings", binding).status == 201
    try:
        answer = eventually(lambda: api.create(claims(namespace), claim("c"), dryRun="All"), 403)
        assert answer.message == (
            'resourceclaims.resource.k8s.io "c" is forbidden: ValidatingAdmissionPolicy '
            f"'{name}' with binding '{name}' denied request: not here"
        )
    finally:
        api.delete(f"{ADMISSION}/validatingadmissionpolicybindings/{name}")
        api.delete(f"{ADMISSION}/validatingadmissionpolicies/{name}")


def test_admin_access_wants_a_labelled_namespace(api: Client, namespace: str) -> None:
    answer = api.create(claims(namespace), claim("c", request(adminAccess=True)))
    assert "admin access to devices requires the `resource.kubernetes.io/admin-access: true`" in (
        answer.message
    )
