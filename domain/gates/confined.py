"""Whether a query can read series of other namespaces: a reader of PromQL that knows just enough to
tell, and refuses what it does not know.
"""

import re
from collections.abc import Sequence

OWN = ("namespace", "=", "$namespace")
_TOKEN = re.compile(
    r"""(?P<string>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|`[^`]*`)"""
    r"""|(?P<name>[A-Za-z_:][\w:]*)|(?P<number>\.?\d[\w.]*)|(?P<other>\S)"""
)
_BY_LABELS = frozenset({"by", "without", "on", "ignoring", "group_left", "group_right"})
_WORDS = _BY_LABELS | {"and", "or", "unless", "bool", "offset", "atan2", "inf", "nan"}


def why_not(query: str) -> str:
    """What of it is not kept to the pool's own namespace; "" when all is.

    Each selector has to say `namespace="$namespace"`, and no metric may stand without a selector.
    """
    tokens = [found.group() for found in _TOKEN.finditer(query)]
    at = 0
    while at < len(tokens):
        word = tokens[at]
        following = tokens[at + 1] if at + 1 < len(tokens) else ""
        if word == "#":
            return "It has a comment."
        if word == "{":
            end = _close(tokens, at, "}")
            if not _is_own(tokens[at:end]):
                return 'Each selector has to say namespace="$namespace".'
            at = end
        elif word == "[" or (word.lower() in _BY_LABELS and following == "("):
            at = _close(tokens, at, "]" if word == "[" else ")")
        elif _is_bare(word, following):
            return f'{word[:60]} stands without a selector: write {{namespace="$namespace"}}.'
        else:
            at += 1
    return ""


def _close(tokens: Sequence[str], at: int, mark: str) -> int:
    """Behind the next `mark`, or behind the end."""
    return next((n + 1 for n in range(at, len(tokens)) if tokens[n] == mark), len(tokens))


def _is_own(selector: Sequence[str]) -> bool:
    """Whether one of its matchers, all of which must hold, is the namespace's."""
    if selector[-1] != "}" or "or" in (one.lower() for one in selector):
        return False
    inner = [one[1:-1] if one[0] in "\"'`" else one for one in selector]
    return any(
        tuple(inner[n : n + 3]) == OWN
        and selector[n] == OWN[0]
        and selector[n - 1] in ("{", ",")
        and selector[n + 3] in (",", "}")
        for n in range(1, len(selector) - 3)
    )


def _is_bare(word: str, following: str) -> bool:
    if not re.fullmatch(r"[A-Za-z_:][\w:]*", word) or word.lower() in _WORDS:
        return False
    return following not in ("{", "(") and following.lower() not in ("by", "without")
