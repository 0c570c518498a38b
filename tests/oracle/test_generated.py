from collections import Counter
from collections.abc import Iterator

import pytest

from tests.oracle import random_cases
from tests.oracle.compare import verdict
from tests.oracle.oracle import Oracle

pytestmark = [pytest.mark.oracle, pytest.mark.timeout(900)]

CASES = 20_000
CHUNK = 2_500
SEQUENCES = 200
SEQUENCE_CHUNK = 20


@pytest.fixture(scope="module")
def oracle() -> Iterator[Oracle]:
    with Oracle() as running:
        yield running


@pytest.mark.parametrize("first_seed", range(0, CASES, CHUNK))
def test_generated_cases_get_upstream_s_answer(oracle: Oracle, first_seed: int) -> None:
    kinds: Counter[str] = Counter()
    outcomes: Counter[str] = Counter()
    different = []
    for case, answer in oracle.answers(random_cases.cases(CHUNK, first_seed)):
        found = verdict(case, answer)
        kinds[found.kind] += 1
        outcomes.update(one["outcome"] for one in answer["results"])
        if found.kind == "different":
            different.append((case["id"], found.detail))
    assert not different, different[:3]
    assert kinds["same"] > 0.99 * CHUNK
    assert min(outcomes[kind] for kind in ("allocated", "none", "fatal", "node-error")) > 50


@pytest.mark.parametrize("first_seed", range(0, SEQUENCES, SEQUENCE_CHUNK))
def test_every_step_of_a_long_sequence_is_upstream_s(oracle: Oracle, first_seed: int) -> None:
    placed = 0
    for i in range(first_seed, first_seed + SEQUENCE_CHUNK):
        case = random_cases.sequence(i)
        answer = oracle.ask(case)
        found = verdict(case, answer)
        assert found.kind != "different", (case["id"], found.detail)
        placed += sum(one["outcome"] == "allocated" for one in answer["results"])
    assert placed > 15 * SEQUENCE_CHUNK
