import subprocess
import sys

import pytest

pytestmark = pytest.mark.oracle


def test_the_fuzz_program_ends_with_one_line_of_figures() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.oracle.fuzz", "--n", "40", "--seed", "1"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines()[-1] == "40 passed, 0 failed"
    assert done.returncode == 0
