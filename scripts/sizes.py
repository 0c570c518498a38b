"""Files and functions stay small enough to be read at once: 400 and 50 lines."""

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FILE_LINES, FUNCTION_LINES = 400, 50
FOLDERS = (
    "apps bench domain embedded kube portal scripts simulator static/css static/js templates tests"
    " workers"
)


def faults(path: Path) -> list[str]:
    text = path.read_text(encoding="utf-8")
    name, count = path.relative_to(ROOT), text.count("\n")
    found = [f"{name}: {count} lines, more than {FILE_LINES}"] if count > FILE_LINES else []
    if path.suffix == ".py":
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = (node.end_lineno or node.lineno) - node.lineno + 1
                if length > FUNCTION_LINES:
                    found.append(f"{name}:{node.lineno}: {node.name} has {length} lines")
    return found


def main() -> None:
    found = []
    for folder in FOLDERS.split():
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in {".py", ".html", ".js", ".css", ".go"} and "migrations" not in (
                path.parts
            ):
                found += faults(path)
    if found:
        raise SystemExit("\n".join(found))


if __name__ == "__main__":
    main()
