"""What deploy/Dockerfile puts into the image is enough to run the portal from it."""

import http.client
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
import yaml

from embedded.processes import Command, free_port, spawn, stop, wait_until

ROOT = Path(__file__).resolve().parents[2]
DOCKERFILE = (ROOT / "deploy" / "Dockerfile").read_text()
# Compressing static files is most of it, and slow on a busy machine.
pytestmark = [pytest.mark.stack, pytest.mark.timeout(900)]


def copied() -> list[tuple[str, str]]:
    """Source and target of each COPY from the checkout."""
    pairs = []
    for line in re.findall(r"^COPY (?!--from)(.+)$", DOCKERFILE, re.MULTILINE):
        *sources, target = line.split()
        pairs += [(one, target if len(sources) == 1 else "./") for one in sources]
    return pairs


@dataclass(frozen=True, slots=True)
class Image:
    folder: Path
    environment: dict[str, str]

    def run(self, *arguments: str, **environment: str) -> str:
        done = subprocess.run(
            ["sh", str(self.folder / "deploy/entrypoint.sh"), *arguments],
            env={**self.environment, **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert not done.returncode, done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def owner_url(database_url: str) -> Iterator[str]:
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("CREATE DATABASE image")
        connection.execute("CREATE ROLE image_app LOGIN PASSWORD 'app'")
    yield database_url.rpartition("/")[0] + "/image"
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("DROP DATABASE image WITH (FORCE)")
        connection.execute("DROP ROLE image_app")


@pytest.fixture(scope="module")
def image(
    tmp_path_factory: pytest.TempPathFactory, owner_url: str, valkey_url: str
) -> Iterator[Image]:
    """The same files and the same packages, in a folder."""
    folder = tmp_path_factory.mktemp("image")
    for source, target in copied():
        place = folder / target / Path(source).name if target == "./" else folder / target
        place.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / source).is_dir():
            shutil.copytree(ROOT / source, place, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / source, place)
    uv = ROOT / "build" / "uv" / "bin" / "uv"
    offered = ("--project", folder, "--python", sys.executable)
    subprocess.run(
        [uv, "sync", "--locked", "--no-default-groups", "--quiet", *offered],
        env={
            **os.environ,
            "UV_PROJECT_ENVIRONMENT": str(folder / ".venv"),
            "UV_PYTHON_DOWNLOADS": "never",
        },
        check=True,
    )
    app_url = re.sub(r"//[^@]+@", "//image_app:app@", owner_url)
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONDONTWRITEBYTECODE": "1",
        "CLAIMYARD_SECRET_KEY": "a secret of this test, which is long enough for the checks",
        "CLAIMYARD_CREDENTIAL_KEYS": "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LTEyMzQ=",
        "CLAIMYARD_DATABASE_URL": app_url,
        "CLAIMYARD_REDIS_URL": valkey_url,
    }
    yield Image(folder, environment)
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def migrated(image: Image, owner_url: str) -> Image:
    image.run("collect-static", "--ignore=drf_spectacular_sidecar")  # 30 s of compression
    owner = {"CLAIMYARD_DATABASE_URL": owner_url, "CLAIMYARD_APP_ROLE": "image_app"}
    image.run("migrate", **owner)
    image.run("await-migrations")
    return image


def get(port: int, path: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    except OSError:
        return 0, ""
    finally:
        connection.close()


def test_the_web_process_serves_pages_and_hashed_files_as_the_apps_own_role(
    migrated: Image,
) -> None:
    port = free_port()
    command = Command(
        "web",
        ("sh", str(migrated.folder / "deploy/entrypoint.sh"), "web"),
        {**migrated.environment, "CLAIMYARD_LISTEN": f"127.0.0.1:{port}"},
    )
    log = migrated.folder / "web.log"
    with log.open("wb") as sink:
        web = spawn(command, output=sink)
    try:
        wait_until(lambda: get(port, "/readyz")[0] == 200, web, "web", log=log)
        status, page = get(port, "/login/")
        assert status == 200
        sheets = re.findall(r'href="(/static/[^"]+\.css)"', page)
        assert sheets, "the login page has style sheets"
        for sheet in sheets:
            assert re.search(r"\.[0-9a-f]{12}\.css$", sheet)
            assert get(port, sheet)[0] == 200
    finally:
        stop(web)


def test_the_apps_role_cannot_change_what_was_audited(migrated: Image) -> None:
    with (
        psycopg.connect(migrated.environment["CLAIMYARD_DATABASE_URL"]) as connection,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        connection.execute("DELETE FROM audit_entry")


def test_the_first_administrator_comes_from_a_command(migrated: Image) -> None:
    entrypoint = migrated.folder / "deploy/entrypoint.sh"
    done = subprocess.run(
        ["sh", entrypoint, "manage", "create_admin", "root", "--password-stdin"],
        env=migrated.environment,
        input="correct horse battery\n",
        capture_output=True,
        text=True,
        check=False,
    )
    assert "root has the platform roles admin now" in done.stdout, done.stderr


def test_the_image_runs_as_nobody_special_and_leaves_tests_out() -> None:
    last_stage = DOCKERFILE.rpartition("FROM ")[2]
    assert re.search(r"^USER 10001:10001$", last_stage, re.MULTILINE)
    assert not {"tests", "simulator", "embedded"} & {source for source, _ in copied()}


def test_compose_runs_every_process_hardened() -> None:
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    entrypoint = (ROOT / "deploy" / "entrypoint.sh").read_text()
    ours = {name: one for name, one in compose["services"].items() if "claimyard" in one["image"]}
    assert ours.keys() == {"migrate", "web", "worker", "beat", "watch", "placement"}
    for name, service in ours.items():
        assert service["command"] == [name]
        assert re.search(rf"^{name}\)$", entrypoint, re.MULTILINE)
        assert service["read_only"] and service["cap_drop"] == ["ALL"]
    for service in compose["services"].values():
        assert ":latest" not in service["image"] and ":" in service["image"]


def test_the_files_that_compose_reads_are_made_with_new_secrets_once(tmp_path: Path) -> None:
    script = tmp_path / "make-env.sh"
    shutil.copy(ROOT / "deploy" / "compose" / "make-env.sh", script)
    subprocess.run(["sh", script], check=True, capture_output=True)
    names = ("portal.env", "owner.env", "postgres.env")
    texts = {name: (tmp_path / name).read_text() for name in names}
    assert all((tmp_path / name).stat().st_mode & 0o077 == 0 for name in names)
    password = re.search(r"APP_ROLE_PASSWORD=(\w{48})", texts["postgres.env"])
    assert password and f"claimyard_app:{password[1]}@" in texts["portal.env"]
    again = subprocess.run(["sh", script], check=False, capture_output=True)
    assert again.returncode
    assert {name: (tmp_path / name).read_text() for name in names} == texts
