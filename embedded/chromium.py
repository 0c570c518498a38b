"""The installed Chromium, as Playwright wants to be told of it."""

import os
import shutil
from typing import Any

from embedded.processes import ProcessFailedError

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def launch_options() -> dict[str, Any]:
    """Arguments of `playwright.chromium.launch`; raises ProcessFailedError when there is none."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        raise ProcessFailedError(
            "Chromium is needed to look at pages, and none is installed: "
            "apt install chromium, or the like"
        )
    # Its sandbox refuses to run as root; pages that it visits are our own.
    flags = ["--no-sandbox"] if os.geteuid() == 0 else []
    return {"executable_path": found, "args": [*flags, "--disable-dev-shm-usage"]}
