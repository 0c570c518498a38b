"""`&&`, `||`, `?:` and what else decides without all of its operands.

`&&` and `||` absorb errors: either side may decide alone, whatever the other does.
"""

from __future__ import annotations

from typing import Any

from domain.placement.cel.arguments import Frame, Step
from domain.placement.cel.values import CelError, Optional, no_overload


def both(left: Step, right: Step) -> Step:
    def conjunction(frame: Frame) -> bool:
        problem: CelError | None = None
        try:
            value = left(frame)
            if value is False:
                return False
            if value is not True:
                problem = no_overload()
        except CelError as error:
            problem = error
        return _second(right, frame, problem, decides=False)

    return conjunction


def either(left: Step, right: Step) -> Step:
    def disjunction(frame: Frame) -> bool:
        problem: CelError | None = None
        try:
            value = left(frame)
            if value is True:
                return True
            if value is not False:
                problem = no_overload()
        except CelError as error:
            problem = error
        return _second(right, frame, problem, decides=True)

    return disjunction


def _second(right: Step, frame: Frame, problem: CelError | None, *, decides: bool) -> bool:
    """The right side decides even where the left one failed; else the first error stands."""
    try:
        value = right(frame)
    except CelError as error:
        raise problem or error from None
    if value is decides:
        return bool(value)
    if problem is not None:
        raise problem
    if value is not True and value is not False:
        raise no_overload()
    return not decides


def choice(condition: Step, yes: Step, no: Step) -> Step:
    def choose(frame: Frame) -> Any:
        value = condition(frame)
        if value is True:
            return yes(frame)
        if value is False:
            return no(frame)
        raise no_overload()

    return choose


def not_strictly_false(step: Step) -> Step:
    def judge(frame: Frame) -> bool:
        try:
            return step(frame) is not False
        except CelError:
            return True

    return judge


def or_else(left: Step, right: Step, *, unwrap: bool) -> Step:
    def choose(frame: Frame) -> Any:
        value = left(frame)
        if value.__class__ is not Optional:
            raise no_overload()
        if not value.present:
            return right(frame)
        return value.value if unwrap else value

    return choose
