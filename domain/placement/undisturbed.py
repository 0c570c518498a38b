"""Making millions of objects that all stay."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def undisturbed() -> Iterator[None]:
    """No garbage collection inside, which would double the time; what is there stays uncounted.

    For a process that builds a snapshot and keeps it. Repeatable.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.freeze()
