"""One shape for form, YAML and API; every mistake is named."""

import pytest

from domain.asked import asked_from, asked_from_yaml, content_of, short_content
from domain.errors import InvalidValue

GOOD = {
    "name": "llama",
    "cluster": "lab",
    "image": "vllm/vllm-openai:v0.33.0",
    "model": "m",
    "pools": [{"pattern": "p"}],
}


def test_short_content_reads_back_as_the_same() -> None:
    asked = asked_from(GOOD)
    assert asked_from(short_content(asked)) == asked == asked_from(content_of(asked))
    assert "startup_minutes" not in short_content(asked)


@pytest.mark.parametrize(
    ("content", "field"),
    [
        ({**GOOD, "imagee": "x"}, "imagee"),
        ({**GOOD, "pools": [{"pattern": "p", "replica": 2}]}, "pools[0].replica"),
        ({**GOOD, "pools": []}, "pools"),
        ({**GOOD, "pools": [{"pattern": "p"}] * 5}, "pools"),
        ({**GOOD, "pools": [{"pattern": "p", "replicas": -1}]}, "pools[0].replicas"),
        ({**GOOD, "pools": [{"pattern": "p", "replicas": "2"}]}, "pools[0].replicas"),
        ({**GOOD, "pools": [{"pattern": "p", "path": "both"}]}, "pools[0].path"),
        ({**GOOD, "args": "--one"}, "args"),
        ({**GOOD, "own": {"prot": 1}}, "own.prot"),
    ],
)
def test_mistakes_are_named_by_their_path(content: dict[str, object], field: str) -> None:
    with pytest.raises(InvalidValue) as refused:
        asked_from(content)
    assert refused.value.field == field


@pytest.mark.parametrize(
    "text", ["", "[]", "- a", "a: [", "!!python/object:os.system {}", "&a [*a]", "x" * 70_000]
)
def test_no_yaml_is_a_traceback(text: str) -> None:
    with pytest.raises(InvalidValue):
        asked_from_yaml(text)
