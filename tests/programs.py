"""Programs that tests need from the system."""

import shutil

import pytest


def program(name: str, package: str) -> str:
    """Its path; without it the test fails and says which Debian package to install."""
    found = shutil.which(name)
    if found is None:
        pytest.fail(f"{name} is not installed: apt install {package}", pytrace=False)
    return found
