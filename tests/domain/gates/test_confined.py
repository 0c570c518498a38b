import pytest

from domain.gates import confined

OWN = '{namespace="$namespace"}'


@pytest.mark.parametrize(
    "query",
    [
        f"sum(rate(answers{OWN}[5m]))",
        f"sum by (pod) (rate(answers{OWN}[5m:1m] offset 1h)) > bool 1e-5",
        f"a{OWN} / on (pod) group_left (node) b{OWN} or vector(0)",
        f"quantile without (pod) (0.95, a{OWN} @ start())",
        "{__name__=~\"vllm:.+\",namespace='$namespace'}",
        f'label_replace(a{OWN}, "x", "$1", "y", "{{(.*)}}")',
        "vllm:x{pod=~`a-.+`, namespace=`$namespace`}",
    ],
)
def test_a_query_of_the_own_namespace(query: str) -> None:
    assert confined.why_not(query) == ""


@pytest.mark.parametrize(
    "query",
    [
        "answers",
        "sum(answers)",
        "sum by (namespace) (answers)",
        'answers{namespace="other"}',
        'answers{namespace!="$namespace"}',
        'answers{namespace=~"$namespace|other"}',
        'answers{exported_namespace="$namespace"}',
        'answers{a="namespace=\\"$namespace\\""}',
        'answers{namespace="$namespace" or namespace="other"}',
        'answers{namespace="$namespace" + "x"}',
        'answers{namespace="$namespace"',
        '{__name__=~".+"}',
        f"a{OWN} + b",
        f"a{OWN} unless b[5m]",
        f"a{OWN} # b",
        "'answers' answers",
    ],
)
def test_a_query_that_reads_others(query: str) -> None:
    assert confined.why_not(query)
