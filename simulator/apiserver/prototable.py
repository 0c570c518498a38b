"""Makes `protobuf.json`, the field numbers of the types that clients send, from .proto files.

kubectl writes with protobuf where it can. Run it on folders of a Kubernetes release that hold
`generated.proto` files:

    python -m simulator.apiserver.prototable FOLDER...
"""

import json
import re
import sys
from pathlib import Path

from simulator.apiserver.kinds import BUILT_IN
from simulator.apiserver.typetable import EXTRA

SENT = (
    *EXTRA,
    "io.k8s.api.authentication.v1.SelfSubjectReview",
    "io.k8s.api.authentication.v1.TokenReview",
    "io.k8s.api.authorization.v1.LocalSubjectAccessReview",
    "io.k8s.api.authorization.v1.SelfSubjectAccessReview",
    "io.k8s.api.authorization.v1.SelfSubjectRulesReview",
    "io.k8s.api.authorization.v1.SubjectAccessReview",
)
_MESSAGE = re.compile(r"^message (\w+) \{(.*?)^\}", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(
    r"^  (?:(optional|repeated) ([\w.]+)|map<string, ([\w.]+)>) (\w+) = (\d+);", re.MULTILINE
)
Fields = dict[str, list[str]]


def full_name(name: str, package: str) -> str:
    """A type as OpenAPI names it; scalars stay as they are."""
    if name.startswith("."):
        return "io.k8s" + name.removeprefix(".k8s.io")
    return f"io.k8s{package.removeprefix('k8s.io')}.{name}" if name[0].isupper() else name


def messages(text: str) -> dict[str, Fields]:
    """Number -> [name, type, "" | "repeated" | "map"] of each message of one file."""
    found = re.search(r"^package ([\w.]+);", text, re.MULTILINE)
    package = found[1] if found else ""
    made: dict[str, Fields] = {}
    for name, body in _MESSAGE.findall(text):
        fields: Fields = {}
        for label, plain, value, field, number in _FIELD.findall(body):
            many = "map" if value else "repeated" if label == "repeated" else ""
            fields[number] = [field, full_name(value or plain, package), many]
        made[full_name(name, package)] = fields
    return made


def collected(folders: list[Path]) -> dict[str, Fields]:
    every: dict[str, Fields] = {}
    for folder in folders:
        for path in sorted(folder.rglob("generated.proto")):
            every.update(messages(path.read_text()))
    wanted = [kind.schema for kind in BUILT_IN] + list(SENT)
    kept: dict[str, Fields] = {}
    while wanted:
        name = wanted.pop()
        if name in every and name not in kept:
            kept[name] = every[name]
            wanted.extend(field[1] for field in every[name].values())
    return dict(sorted(kept.items()))


def main(folders: list[Path]) -> None:
    lines = (
        f"{json.dumps(name)}:{json.dumps(fields, separators=(',', ':'))}"
        for name, fields in collected(folders).items()
    )
    target = Path(__file__).with_name("protobuf.json")
    target.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    sys.stdout.write(f"{target.name}: {target.stat().st_size} bytes\n")


if __name__ == "__main__":
    main([Path(word) for word in sys.argv[1:]])
