"""What a demo remembers between two starts: its secrets and its ports."""

import base64
import contextlib
import json
import os
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path


class State:
    """A folder with a file of values that are made once and then kept."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        # As root, the database runs as somebody else, who passes through here. Nothing in it can
        # be read by others.
        folder.mkdir(mode=0o711 if os.geteuid() == 0 else 0o700, parents=True, exist_ok=True)
        self._file = folder / "state.json"
        self._values: dict[str, str] = {}
        self._short: Path | None = None
        with contextlib.suppress(FileNotFoundError):
            self._values = json.loads(self._file.read_text(encoding="utf-8"))

    def secret(self, name: str) -> str:
        return self._once(name, lambda: secrets.token_urlsafe(12))

    def port(self, name: str, choose: Callable[[int], int]) -> int:
        """The port of last time, or the next free one."""
        port = choose(int(self._values.get(name, "0")))
        self._keep(name, str(port))
        return port

    def portal_environment(self, url: str) -> dict[str, str]:
        return {
            "CLAIMYARD_SECRET_KEY": self._once("secret_key", lambda: secrets.token_urlsafe(48)),
            "CLAIMYARD_CREDENTIAL_KEYS": self._once("credential_key", _fernet_key),
            "CLAIMYARD_PUBLIC_URL": url,
            "CLAIMYARD_ALLOWED_HOSTS": "localhost,127.0.0.1",
            "CLAIMYARD_DEMO_LOGINS": "true",
            "CLAIMYARD_LOG_LEVEL": os.environ.get("CLAIMYARD_LOG_LEVEL", "INFO"),
        }

    @contextlib.contextmanager
    def short_paths(self) -> Iterator[None]:
        """While this holds, `short_path` may be asked for."""
        self._short = Path(tempfile.mkdtemp(prefix="claimyard-"))
        try:
            yield
        finally:
            shutil.rmtree(self._short)  # removes the links, not what they lead to
            self._short = None

    def short_path(self, name: str) -> Path:
        """A path for a folder of the state that is short enough for unix sockets in it."""
        assert self._short
        (self.folder / name).mkdir(mode=0o700, exist_ok=True)
        link = self._short / name
        if not link.exists():
            link.symlink_to(self.folder / name)
        return link

    def _once(self, name: str, make: Callable[[], str]) -> str:
        if name not in self._values:
            self._keep(name, make())
        return self._values[name]

    def _keep(self, name: str, value: str) -> None:
        if self._values.get(name) == value:
            return
        self._values[name] = value
        unfinished = self._file.with_suffix(".new")
        unfinished.touch(mode=0o600)
        unfinished.write_text(json.dumps(self._values, indent=1), encoding="utf-8")
        unfinished.replace(self._file)


def _fernet_key() -> str:
    return base64.urlsafe_b64encode(secrets.token_bytes(32)).decode()
