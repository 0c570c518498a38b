import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.oracle.compare import Verdict, verdict
from tests.oracle.oracle import Oracle
from tests.oracle.upstream import table

pytestmark = pytest.mark.oracle


@pytest.fixture(scope="module")
def oracle() -> Iterator[Oracle]:
    with Oracle() as running:
        yield running


def expected(case: dict[str, Any]) -> dict[str, Any]:
    """What upstream's own run of the case answered, as the oracle words it."""
    want = case["expect"]
    node = case["nodes"][0]["metadata"]["name"]
    row = {key: want.get(key) for key in ("outcome", "error", "allocation")}
    return {"results": [json.loads(json.dumps(row)) | {"node": node}]}


@pytest.mark.parametrize(("variant", "count"), [("incubating", 234), ("experimental", 279)])
def test_every_named_case_of_upstream_gets_upstream_s_answer(variant: str, count: int) -> None:
    named = list(table.cases(variant))
    assert len(named) == count
    wrong = {
        case["id"]: found
        for case in named
        if case["id"] not in table.SKIPPED
        and (found := verdict(case, expected(case))) != Verdict("same")
    }
    assert not wrong


def test_the_oracle_answers_upstream_s_cases_as_upstream_s_own_run_did(oracle: Oracle) -> None:
    """Else a green comparison with the oracle would say nothing."""
    asked = [
        case | {"channel": "experimental"}
        for case in table.cases("experimental")
        if case["id"] not in table.SKIPPED
    ]
    for case, answer in oracle.answers(asked):
        (got,) = answer["results"]
        assert (got["outcome"], got.get("error")) == (
            case["expect"]["outcome"],
            case["expect"].get("error"),
        ), case["id"]
