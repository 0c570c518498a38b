"""docs/settings.md lists every setting that portal.settings reads, as it reads it.

With --fix, write the table anew. The text around it is written by hand.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
DOCUMENT = ROOT / "docs" / "settings.md"
BEGIN, END = "<!-- settings: written by `make fix` -->", "<!-- end of settings -->"
NAME = re.compile(r"\bCLAIMYARD_[A-Z][A-Z0-9_]*[A-Z0-9]\b")


def table() -> str:
    import portal.settings  # noqa: F401 - reading the settings fills env.KNOWN
    from portal import env

    rows = ["| variable | default | meaning |", "|---|---|---|"]
    for setting in sorted(env.KNOWN.values(), key=lambda one: (one.default != "", one.name)):
        is_needed = setting.is_secret and not setting.is_optional
        default = setting.default or ("must be set" if is_needed else "none")
        shown = f"`{default}`" if setting.default else default
        if str(ROOT) in shown:
            shown = shown.replace(f"{ROOT}/", "")
        name = f"`{setting.name}`" + (" 🔒" if setting.is_secret else "")
        rows.append(f"| {name} | {shown} | {setting.help} |")
    return "\n".join(rows)


def undocumented(document: str) -> list[str]:
    """Variables that any committed file mentions and the document does not."""
    files = subprocess.run(
        ["git", "grep", "-IlE", "CLAIMYARD_[A-Z]", "--", ":!tests"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    ).stdout.split()
    used = {name for file in files for name in NAME.findall((ROOT / file).read_text())}
    known = set(NAME.findall(document))
    return sorted(name for name in used if name.removesuffix("_FILE") not in known)


def main() -> None:
    document = DOCUMENT.read_text(encoding="utf-8")
    before, _, rest = document.partition(BEGIN)
    after = rest.partition(END)[2]
    wanted = f"{before}{BEGIN}\n{table()}\n{END}{after}"
    if "--fix" in sys.argv:
        DOCUMENT.write_text(wanted, encoding="utf-8")
    elif document != wanted:
        raise SystemExit("docs/settings.md does not list what the settings read: run `make fix`")
    if missing := undocumented(wanted):
        raise SystemExit(f"not in docs/settings.md: {', '.join(missing)}")


if __name__ == "__main__":
    main()
