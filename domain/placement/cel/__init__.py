"""CEL device selectors, exactly as Kubernetes 1.37 evaluates them.

    program = compile_selector('device.driver == "gpu.example.com"')
    view = DeviceView("gpu.example.com", {"attributes": {"model": {"string": "a100"}}})
    program.evaluate(view)  # True, False, or SelectorError

Parsing is Google's (cel-expr-python). Types, cost and evaluation follow cel-go's
rules here, in plain Python: what the library lacks or does differently would
otherwise give wrong verdicts, and its callbacks leak.
"""

from domain.placement.cel.device import DeviceView, Path
from domain.placement.cel.environment import (
    ADMISSION,
    COST_LIMIT,
    LENGTH_LIMIT,
    SCHEDULER,
    Environment,
)
from domain.placement.cel.errors import CompileFailure, Position, SelectorError, Unsupported
from domain.placement.cel.lint import Finding, Published, lint
from domain.placement.cel.program import DerivedProgram, Program, compile_derived, compile_selector
from domain.placement.cel.quantity import InvalidQuantity, Quantity, parse_quantity
from domain.placement.cel.semver import InvalidSemver, Semver, parse_semver

__all__ = [
    "ADMISSION",
    "COST_LIMIT",
    "LENGTH_LIMIT",
    "SCHEDULER",
    "CompileFailure",
    "DerivedProgram",
    "DeviceView",
    "Environment",
    "Finding",
    "InvalidQuantity",
    "InvalidSemver",
    "Path",
    "Position",
    "Program",
    "Published",
    "Quantity",
    "SelectorError",
    "Semver",
    "Unsupported",
    "compile_derived",
    "compile_selector",
    "lint",
    "parse_quantity",
    "parse_semver",
]
