"""Are the files of others in static/vendor the ones that VENDOR.md lists?"""

import hashlib
from pathlib import Path

_NOT_SERVED = ("VENDOR.md",)


def listed(text: str) -> dict[str, str]:
    """File name -> sha256 from the table in VENDOR.md."""
    rows = [line.strip("| \n").split("|") for line in text.splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in row] for row in rows]
    return {row[0]: row[-1] for row in cells if len(row) == 5 and len(row[-1]) == 64}


def faults(folder: Path) -> list[str]:
    """One sentence per file that is missing, changed, unlisted or without its licence."""
    wanted = listed((folder / "VENDOR.md").read_text(encoding="utf-8"))
    present = {path.name for path in folder.iterdir()} - set(_NOT_SERVED)
    licences = {name for name in present if name.endswith(".LICENSE.txt")}
    found = []
    for name, sha256 in wanted.items():
        if name not in present:
            found.append(f"{name} is listed in VENDOR.md and is not there.")
        elif hashlib.sha256((folder / name).read_bytes()).hexdigest() != sha256:
            found.append(f"{name} is not the file whose sha256 VENDOR.md lists.")
        if not any(name.startswith(one.removesuffix(".LICENSE.txt")) for one in licences):
            found.append(f"{name} has no licence beside it.")
    found += [f"{name} is not listed in VENDOR.md." for name in present - licences - set(wanted)]
    return sorted(found)
