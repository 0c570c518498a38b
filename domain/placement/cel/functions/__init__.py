"""The functions of the selector environment, by overload.

Each module registers what it implements; a call is bound to the overloads that
the type checker left over, and at run time the first of them whose argument
types fit is taken, as cel-go does it.
"""

from domain.placement.cel.functions.binding import bind_call, is_conversion

from . import conversions, kubernetes, lists, network, operators, optionals, text, times

__all__ = ["bind_call", "is_conversion"]

MODULES = (conversions, kubernetes, lists, network, operators, optionals, text, times)
