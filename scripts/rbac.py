"""deploy/k8s/cluster-access is what kube.rights, the table of rights, gives; --fix writes it."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
FOLDER = ROOT / "deploy" / "k8s" / "cluster-access"

from kube import rights  # noqa: E402

HEAD = "# Written by `make fix` from kube/rights_table.py; do not edit.\n"


def wanted() -> dict[str, str]:
    observe = rights.manifests(mode="observe")
    with_metrics = rights.manifests(mode="observe", metrics=True)
    migrating = rights.manifests(mode="observe", migrate=True)
    documents = {
        "observe.yaml": observe,
        "manage.yaml": rights.manifests(mode="manage"),
        "metrics.yaml": [one for one in with_metrics if one not in observe],
        "migrate.yaml": [one for one in migrating if one not in observe],
    }
    return {name: HEAD + rights.as_yaml(objects) for name, objects in documents.items()}


def main() -> None:
    for name, text in wanted().items():
        path = FOLDER / name
        if "--fix" in sys.argv:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            raise SystemExit(f"{path.relative_to(ROOT)} is not what kube.rights says: make fix")


if __name__ == "__main__":
    main()
