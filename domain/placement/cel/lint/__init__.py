"""What is wrong, or likely wrong, with a selector before any cluster has seen it.

    lint('device.atributes["gpu.example.com"].model == "a100"', published)

Errors are what the API server or the scheduler would refuse or fail on; warnings
are what a person most likely did not mean. `published` is what the drivers of the
fleet publish now; without it, rules that need it are silent.
"""

from domain.placement.cel.lint.findings import ERROR, NOTE, WARNING, Finding
from domain.placement.cel.lint.published import Published
from domain.placement.cel.lint.rules import lint

__all__ = ["ERROR", "NOTE", "WARNING", "Finding", "Published", "lint"]
