"""The everyday part of CEL's grammar, parsed without a foreign library.

Selectors are mostly comparisons, calls and paths joined by `&&`, `||` and `!`. For these this gives
the very tree that `syntax.parse` gives, numbers of the nodes included, in a third of the time. What
goes beyond (macros, maps, escapes, numbers that are not plain, deep nesting) it leaves to that.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from domain.placement.cel import syntax
from domain.placement.cel.declarations import functions
from domain.placement.cel.environment import SCHEDULER
from domain.placement.cel.errors import CompileFailure, Unsupported
from domain.placement.cel.source import Source
from domain.placement.cel.syntax import Call, Expr, Ident, ListLiteral, Literal, Select

TOKENS = re.compile(
    r"""[ \t\r\n]+
    | [A-Za-z_][A-Za-z0-9_]*+(?!["'])
    | "[^"\\\r\n]*"(?!") | '[^'\\\r\n]*'(?!')
    | (?:0|[1-9][0-9]{0,17})(?![\w.])
    | && | \|\| | [=!<>]= | [-+*/%<>!()\[\]?:,.]""",
    re.VERBOSE | re.ASCII,
)
RESERVED = frozenset(
    (
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "in",
        "let",
        "loop",
        "package",
        "namespace",
        "return",
        "var",
        "void",
        "while",
    )
)
CONSTANTS = {"true": True, "false": False, "null": None}
RELATIONS = frozenset(("==", "!=", "<", "<=", ">", ">=", "in"))
SUMS, PRODUCTS = frozenset("+-"), frozenset("*/%")
CHAINED = (RELATIONS, SUMS, PRODUCTS)
END = ""
MOST_TOKENS = 250
MOST_NESTED = 5
MOST_CHAINED = 8
"""Far below the depth at which the library gives up."""


def parse(expression: str) -> tuple[Expr, Source] | None:
    """As `syntax.parse`, or None for what is not parsed here."""
    tokens = TOKENS.findall(expression)
    if not tokens or len(tokens) > MOST_TOKENS or sum(map(len, tokens)) != len(expression):
        return None
    try:
        root = _Parser([one for one in tokens if one[0] not in " \t\r\n"]).whole()
    except _NotEveryday:
        return None
    return root, Source(expression, lambda: _offsets(expression))


def _offsets(expression: str) -> Mapping[int, int]:
    found = syntax.parse(expression)
    if isinstance(found, CompileFailure | Unsupported):
        raise AssertionError(f"parsed here only: {expression}")
    return found[1].offsets


class _NotEveryday(Exception):
    """More than is parsed here, or no CEL at all."""


@cache
def _plain_functions() -> frozenset[str]:
    """Those that no macro has the name of, and that need no prefix."""
    return frozenset(functions(SCHEDULER)) - syntax.MACROS


class _Parser:
    """One method per rule of the grammar. Nodes are numbered in the order of the library."""

    def __init__(self, tokens: list[str]) -> None:
        self.tokens = [*tokens, END]
        self.at = 0
        self.number = 0
        self.nested = 0

    def whole(self) -> Expr:
        found = self._expression()
        if self.tokens[self.at] is not END:
            raise _NotEveryday
        return found

    def _id(self) -> int:
        self.number += 1
        return self.number

    def _expect(self, token: str) -> None:
        if self.tokens[self.at] != token:
            raise _NotEveryday
        self.at += 1

    def _inner(self) -> Expr:
        """An expression within brackets."""
        self.nested += 1
        if self.nested > MOST_NESTED:
            raise _NotEveryday
        found = self._expression()
        self.nested -= 1
        return found

    def _expression(self) -> Expr:
        condition = self._joined("||", "_||_")
        if self.tokens[self.at] != "?":
            return condition
        number = self._id()
        self.at += 1
        yes = self._joined("||", "_||_")
        self._expect(":")
        return Call(number, "_?_:_", None, [condition, yes, self._inner()])

    def _joined(self, operator: str, function: str) -> Expr:
        """Terms of `||`, or of `&&` within one; like the library's, the tree is balanced."""
        terms, numbers = [self._term(operator)], []
        while self.tokens[self.at] == operator:
            self.at += 1
            terms.append(self._term(operator))
            numbers.append(self._id())
        return _balanced(function, terms, numbers, 0, len(numbers))

    def _term(self, operator: str) -> Expr:
        return self._joined("&&", "_&&_") if operator == "||" else self._chain(0)

    def _chain(self, level: int) -> Expr:
        """Comparisons of sums of products, each kind from left to right."""
        if level == len(CHAINED):
            return self._unary()
        found, operators = self._chain(level + 1), CHAINED[level]
        for _ in range(MOST_CHAINED):
            operator = self.tokens[self.at]
            if operator not in operators:
                return found
            number = self._id()
            self.at += 1
            function = "@in" if operator == "in" else f"_{operator}_"
            found = Call(number, function, None, [found, self._chain(level + 1)])
        raise _NotEveryday

    def _unary(self) -> Expr:
        if self.tokens[self.at] != "!":
            return self._member()
        number = self._id()
        self.at += 1
        return Call(number, "!_", None, [self._member()])

    def _member(self) -> Expr:
        found = self._primary()
        for _ in range(MOST_CHAINED):
            match self.tokens[self.at]:
                case ".":
                    found = self._select(found)
                case "[":
                    number = self._id()
                    self.at += 1
                    found = Call(number, "_[_]", None, [found, self._inner()])
                    self._expect("]")
                case _:
                    return found
        raise _NotEveryday

    def _select(self, operand: Expr) -> Expr:
        name = self.tokens[self.at + 1]
        if not name.isidentifier() or name in RESERVED or name in CONSTANTS:
            raise _NotEveryday
        number = self._id()
        self.at += 2
        if self.tokens[self.at] != "(":
            return Select(number, operand, name, False)
        return self._call(number, name, operand)

    def _call(self, number: int, name: str, target: Expr | None) -> Expr:
        if name not in _plain_functions():
            raise _NotEveryday
        return Call(number, name, target, self._listed(")"))

    def _listed(self, closing: str) -> list[Expr]:
        """From the opening bracket on, expressions up to the closing one."""
        self.at += 1
        found: list[Expr] = []
        while self.tokens[self.at] != closing:
            if found:
                self._expect(",")
            found.append(self._inner())
        self.at += 1
        return found

    def _primary(self) -> Expr:
        word = self.tokens[self.at]
        first = word[:1]
        if first and first in "\"'":
            self.at += 1
            return Literal(self._id(), word[1:-1])
        if word == "(":
            self.at += 1
            found = self._inner()
            self._expect(")")
            return found
        if word == "[":
            return ListLiteral(self._id(), self._listed("]"), frozenset())
        if first.isdigit():
            self.at += 1
            return Literal(self._id(), int(word))
        return self._named(word)

    def _named(self, word: str) -> Expr:
        if not word.isidentifier() or word in RESERVED:
            raise _NotEveryday
        self.at += 1
        number = self._id()
        if word in CONSTANTS:
            return Literal(number, CONSTANTS[word])
        if self.tokens[self.at] == "(":
            return self._call(number, word, None)
        return Ident(number, word)


def _balanced(function: str, terms: list[Expr], numbers: list[int], low: int, high: int) -> Expr:
    """Of the terms from `low` to `high`, with the operators between them."""
    if low == high:
        return terms[low]
    middle = (low + high) // 2
    return Call(
        numbers[middle],
        function,
        None,
        [
            _balanced(function, terms, numbers, low, middle),
            _balanced(function, terms, numbers, middle + 1, high),
        ],
    )
