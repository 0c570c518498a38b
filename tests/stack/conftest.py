import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from embedded import demo
from embedded.demo_process import DemoProcess


def new_state() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="claimyard-demo-"))
    yield folder
    if folder.exists():
        demo.reset(folder)


@pytest.fixture
def state() -> Iterator[Path]:
    yield from new_state()


@pytest.fixture(scope="session")
def lasting_state() -> Iterator[Path]:
    yield from new_state()


@pytest.fixture(scope="session")
def running(lasting_state: Path) -> Iterator[DemoProcess]:
    """One demo for all tests that leave it running."""
    process = DemoProcess.on(lasting_state)
    yield process
    process.end()
