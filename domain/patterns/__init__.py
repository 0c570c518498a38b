"""Claim patterns: approved, parameterised requests for devices.

A tenant never writes a selector. They fill typed parameters, each value is checked against its
parameter and escaped on its way into CEL, so the only expressions that reach a cluster are those
whose shape an approver has seen.
"""

from domain.patterns.model import (
    DevicePlugin,
    NodeLabel,
    Parameter,
    Pattern,
    Request,
    Term,
    Values,
)
from domain.patterns.reading import content_of, pattern_from
from domain.patterns.recognising import values_of
from domain.patterns.rendering import (
    PluginForm,
    charge,
    claim_spec,
    node_requirements,
    plugin_form,
    request_selectors,
    selector_shapes,
)
from domain.patterns.values import accept, defaults

__all__ = [
    "DevicePlugin",
    "NodeLabel",
    "Parameter",
    "Pattern",
    "PluginForm",
    "Request",
    "Term",
    "Values",
    "accept",
    "charge",
    "claim_spec",
    "content_of",
    "defaults",
    "node_requirements",
    "pattern_from",
    "plugin_form",
    "request_selectors",
    "selector_shapes",
    "values_of",
]
