"""The words in which the API server refuses, as the portal shows them to people."""

from typing import Any

import pytest

from tests.contract.client import Client
from tests.contract.objects import (
    claim,
    claim_template,
    claim_templates,
    claims,
    config_map,
    config_maps,
    deployment,
    deployments,
    device_class,
    device_classes,
    pod,
    pods,
    request,
    resource_slice,
    resource_slices,
)


def causes(answer: Any) -> list[tuple[str, str, str]]:
    return [
        (cause["field"], cause["reason"], cause["message"])
        for cause in answer.body["details"]["causes"]
    ]


def test_a_missing_object_is_named(api: Client, namespace: str) -> None:
    answer = api.get(deployments(namespace, "none"))
    assert answer.body == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": 'deployments.apps "none" not found',
        "reason": "NotFound",
        "details": {"name": "none", "group": "apps", "kind": "deployments"},
        "code": 404,
    }


@pytest.mark.parametrize("path", ["/api/v1/nothings", "/apis/apps/v9", "/apis/apps/v1/nothings/x"])
def test_an_unknown_resource_of_a_known_group(api: Client, path: str) -> None:
    answer = api.get(path)
    assert answer.status == 404 and answer.body["reason"] == "NotFound"
    assert answer.message == "the server could not find the requested resource"


@pytest.mark.parametrize("path", ["/nothing", "/apis/nothing.example.com/v1/things"])
def test_an_unknown_path_is_answered_in_plain_text(api: Client, path: str) -> None:
    answer = api.get(path)
    assert (answer.status, answer.body) == (404, "404 page not found\n")


def test_a_foreign_token_is_unauthorized(api: Client) -> None:
    answer = api.ask("GET", "/api/v1/pods", headers={"Authorization": "Bearer foreign"})
    assert (answer.status, answer.body["reason"], answer.message) == (
        401,
        "Unauthorized",
        "Unauthorized",
    )


def test_version_is_open_to_everybody(api: Client) -> None:
    answer = api.ask("GET", "/version", headers={"Authorization": ""})
    assert answer.status == 200 and answer.body["major"] == "1"


def test_bad_names_and_labels_are_explained(api: Client, namespace: str) -> None:
    answer = api.create(config_maps(namespace), config_map("A_b"))
    assert answer.status == 422
    assert causes(answer) == [
        (
            "metadata.name",
            "FieldValueInvalid",
            'Invalid value: "A_b": a lowercase RFC 1123 subdomain must consist of lower case '
            "alphanumeric characters, '-' or '.', and must start and end with an alphanumeric "
            "character (e.g. 'example.com', regex used for validation is "
            r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
        )
    ]
    answer = api.create(config_maps(namespace), config_map("a", {"k": "no spaces"}))
    assert causes(answer)[0][0] == "metadata.labels"
    assert "a valid label must be an empty string or consist of" in answer.message


def test_a_claim_is_immutable(api: Client, namespace: str) -> None:
    api.create(claims(namespace), claim("c"))
    change = {"spec": {"devices": {"requests": [request("other")]}}}
    answer = api.patch(claims(namespace, "c"), change)
    assert (answer.status, answer.body["reason"]) == (422, "Invalid")
    assert answer.message.startswith('ResourceClaim.resource.k8s.io "c" is invalid: spec: Invalid')
    assert answer.message.endswith(": field is immutable")


def test_a_claim_template_is_immutable(api: Client, namespace: str) -> None:
    api.create(claim_templates(namespace), claim_template("t"))
    change = {"spec": {"spec": {"devices": {"requests": [request("other")]}}}}
    answer = api.patch(claim_templates(namespace, "t"), change)
    ((field, reason, message),) = causes(answer)
    assert (answer.status, field, reason) == (422, "spec", "FieldValueInvalid")
    assert message.endswith(": field is immutable")


def test_a_deployments_selector_is_immutable(api: Client, namespace: str) -> None:
    api.create(deployments(namespace), deployment("d"))
    change: dict[str, Any] = {"selector": {"matchLabels": {"app": "x"}}}
    change["template"] = {"metadata": {"labels": {"app": "x"}}}
    answer = api.patch(deployments(namespace, "d"), {"spec": change})
    assert answer.message == (
        'Deployment.apps "d" is invalid: spec.selector: Invalid value: {"matchLabels":{"app":"x"}}'
        ": field is immutable"
    )


@pytest.mark.parametrize(
    ("asked", "field", "message"),
    [
        ({"exactly": {}}, ".exactly.deviceClassName", "Required value"),
        ({}, "", "Required value: exactly one of `exactly` or `firstAvailable` is required"),
        (
            {"exactly": {"deviceClassName": "x", "count": -1}},
            ".exactly.count",
            "Invalid value: -1: must be greater than zero",
        ),
        (
            {"exactly": {"deviceClassName": "x", "allocationMode": "All", "count": 2}},
            ".exactly.count",
            "Invalid value: 2: must not be specified when allocationMode is 'All'",
        ),
        (
            {"exactly": {"deviceClassName": "x", "allocationMode": "Some"}},
            ".exactly.allocationMode",
            'Unsupported value: "Some": supported values: "All", "ExactCount"',
        ),
    ],
)
def test_a_claims_requests_are_checked(
    api: Client, namespace: str, asked: dict[str, Any], field: str, message: str
) -> None:
    answer = api.create(claims(namespace), claim("c", {"name": "gpu"} | asked))
    assert answer.status == 422
    assert [cause[::2] for cause in causes(answer)] == [
        (f"spec.devices.requests[0]{field}", message)
    ]


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("device.foo == 1", "compilation failed: ERROR: <input>:1:7: undefined field 'foo'"),
        ("1", "must evaluate to bool"),
        ('"' + "x" * 11000 + '" == device.driver', "Too long: may not be more than 10240 bytes"),
    ],
)
def test_selectors_must_compile(api: Client, namespace: str, expression: str, message: str) -> None:
    answer = api.create(device_classes(), device_class(f"bad-{namespace}", expression))
    assert answer.status == 422 and message in answer.message
    assert causes(answer)[0][0] == "spec.selectors[0].cel.expression"
    selectors = [{"cel": {"expression": expression}}]
    answer = api.create(claims(namespace), claim("c", request(selectors=selectors)))
    assert answer.status == 422 and message in answer.message


def test_nothing_is_reserved_without_an_allocation(api: Client, namespace: str) -> None:
    api.create(claims(namespace), claim("c"))
    status = {"reservedFor": [{"resource": "pods", "name": "p", "uid": "1"}]}
    answer = api.patch(f"{claims(namespace, 'c')}/status", {"status": status})
    assert answer.message.endswith(
        "status.reservedFor: Forbidden: may not be specified when `allocated` is not set"
    )


def test_an_allocation_is_of_the_claims_requests_and_stays(api: Client, namespace: str) -> None:
    path = f"{claims(namespace, 'c')}/status"
    api.create(claims(namespace), claim("c"))

    def allocated(name: str, device: str) -> dict[str, Any]:
        result = {"request": name, "driver": "d.example.com", "pool": "p", "device": device}
        return {"status": {"allocation": {"devices": {"results": [result]}}}}

    answer = api.patch(path, allocated("other", "x"))
    assert answer.message.endswith(
        'status.allocation.devices.results[0].request: Invalid value: "other": must be the name '
        "of a request in the claim or the name of a request and a subrequest separated by '/'"
    )
    assert api.patch(path, allocated("gpu", "x")).status == 200
    answer = api.patch(path, allocated("gpu", "y"))
    assert "status.allocation: Invalid value: " in answer.message
    assert answer.message.endswith(("field cannot be modified once set", "field is immutable"))


def test_a_slice_belongs_to_a_node_and_names_its_devices_once(api: Client, namespace: str) -> None:
    lost = resource_slice(f"{namespace}-lost", "n")
    del lost["spec"]["nodeName"]
    assert api.create(resource_slices(), lost).message.endswith(
        "spec: Required value: exactly one of `nodeName`, `nodeSelector`, `allNodes`, "
        "`perDeviceNodeSelection` is required"
    )
    twice = resource_slice(f"{namespace}-twice", "n")
    twice["spec"]["devices"] = [{"name": "a"}, {"name": "a"}]
    assert api.create(resource_slices(), twice).message.endswith(
        'spec.devices[1]: Duplicate value: "a"'
    )


def test_a_workload_needs_what_it_runs(api: Client, namespace: str) -> None:
    empty = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": {}}
    answer = api.create(deployments(namespace), empty)
    assert [cause[0] for cause in causes(answer)] == [
        "spec.selector",
        "spec.template.metadata.labels",
        "spec.template.spec.containers",
    ]


def test_wrong_types_are_named(api: Client, namespace: str) -> None:
    wrong = deployment("d")
    wrong["spec"]["replicas"] = "three"
    answer = api.create(deployments(namespace), wrong)
    assert (answer.status, answer.body["reason"]) == (400, "BadRequest")
    assert answer.message == (
        'Deployment in version "v1" cannot be handled as a Deployment: json: cannot unmarshal '
        "string into Go struct field DeploymentSpec.spec.replicas of type int32"
    )


def test_a_pod_keeps_its_node(api: Client, namespace: str) -> None:
    api.create(pods(namespace), pod("p"))
    answer = api.patch(pods(namespace, "p"), {"spec": {"nodeName": "elsewhere"}})
    assert answer.status == 422
    assert "pod updates may not change fields other than" in answer.message


def test_a_method_that_is_not_offered(api: Client, namespace: str) -> None:
    answer = api.ask("PATCH", config_maps(namespace), {})
    assert (answer.status, answer.body["reason"]) == (405, "MethodNotAllowed")
    assert answer.message == "the server does not allow this method on the requested resource"
