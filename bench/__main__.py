"""`python -m bench [PREFIX]`: measure, print, and end with 1 when a goal was missed."""

import importlib
import json
import pkgutil
import sys

import bench
from bench.figures import MEASURES, goals, line


def main() -> int:
    prefix = sys.argv[1] if len(sys.argv) > 1 else ""
    for module in pkgutil.iter_modules(bench.__path__):
        if module.name not in ("__main__", "figures", "settings"):
            importlib.import_module(f"bench.{module.name}")
    wanted = {measure: None for name, measure in MEASURES.items() if name.startswith(prefix)}
    if not wanted:
        print(f"No figure begins with {prefix!r}. There are: {', '.join(sorted(MEASURES))}")
        return 2
    table, missed = goals(), 0
    for measure in wanted:
        for figure in measure():
            if not figure.name.startswith(prefix):
                continue
            printed = line(figure, table.get(figure.name, {}))
            missed += printed["ok"] is False
            print(json.dumps(printed), flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
