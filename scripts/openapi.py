"""docs/openapi.yaml is the description that the API's own code gives; --fix writes it anew."""

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DOCUMENT = ROOT / "docs" / "openapi.yaml"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        current = Path(folder) / "openapi.yaml"
        subprocess.run(
            [
                sys.executable,
                "manage.py",
                "spectacular",
                "--validate",
                "--fail-on-warn",
                f"--file={current}",
            ],
            cwd=ROOT,
            check=True,
        )
        text = current.read_text(encoding="utf-8")
    if "--fix" in sys.argv:
        DOCUMENT.write_text(text, encoding="utf-8")
    elif not DOCUMENT.exists() or DOCUMENT.read_text(encoding="utf-8") != text:
        raise SystemExit("docs/openapi.yaml is not what the API serves: run `make fix`")


if __name__ == "__main__":
    main()
