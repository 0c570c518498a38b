"""`make demo`: the whole portal on one machine, with everything it needs."""

import argparse
import contextlib
import fcntl
import http.client
import os
import shutil
import signal
import socket
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import psycopg
from psycopg import sql

from embedded import postgres, valkey
from embedded.processes import Command, ProcessFailedError, die_with_parent, free_port
from embedded.state import State
from embedded.supervisor import BOLD, RED, Log, Service, Stopped, Supervisor

ROOT = Path(__file__).resolve().parents[1]
STATE = ROOT / "var" / "demo"
APP_ROLE = "claimyard_app"
WEB_PORT = 8000
#: Ended first to last: nobody loses its database before it has put its work away.
STOP_ORDER = [
    ["web", "beat", "worker", "watch", "placement"],
    ["fleet", "cluster", "kubernetes"],
    ["valkey"],
    ["postgres"],
]
LOGINS = (("platform admin", "admin"), ("approver", "approver"), ("tenant editor", "editor"))
PYTHON_ENVIRONMENT = {
    "PYTHONUNBUFFERED": "1",
    "DJANGO_SETTINGS_MODULE": "portal.settings",
    # Celery's advice is right for an installation; a demo in a container is often root.
    "PYTHONWARNINGS": "ignore:You're running the worker with superuser privileges",
}
PREPARE = f"""
import django
django.setup()
from django.core.management import call_command
call_command("migrate", verbosity=0)
call_command("grant_app_role", "{APP_ROLE}")
"""


class Demo:
    """Starts the parts in the order in which they need each other."""

    def __init__(self, supervisor: Supervisor, state: State, *, kubernetes: bool) -> None:
        self.supervisor = supervisor
        self.state = state
        self.kubernetes = kubernetes
        self.environment: dict[str, str] = {}

    def start(self, listener: socket.socket) -> Path:
        """Start everything behind `listener`; returns the cluster's kubeconfig."""
        url = address_of(listener)
        self.environment |= self.state.portal_environment(url)
        kubeconfig, cluster = self._start_cluster()
        owner = self._start_databases()
        self._start_web(listener)
        self.supervisor.run(python("migrate", "-c", PREPARE, environment=owner))
        self._start_fleet(kubeconfig, cluster)
        self.supervisor.wait(lambda: answers(url), "the login page", 120)
        self.supervisor.log.say(f"the login page answers at {url}/; filling the demo")
        self._start_workers()
        self._fill(kubeconfig)
        return kubeconfig

    def _start_databases(self) -> dict[str, str]:
        """Both servers; returns the environment of a process that may change tables."""
        database = postgres.prepare(self.state.folder / "postgres")
        server = self.supervisor.start(database.command).process
        broker = valkey.prepare(self.state.folder / "valkey")
        self.supervisor.start(broker.command)
        assert server
        postgres.wait_ready(database, server)
        password = self.state.secret("app_role_password")
        self._make_app_role(database.url, password)
        self.environment["CLAIMYARD_REDIS_URL"] = broker.url
        self.environment["CLAIMYARD_DATABASE_URL"] = (
            f"postgresql://{APP_ROLE}:{password}@127.0.0.1:{database.port}/{postgres.DATABASE}"
        )
        return {**self.environment, "CLAIMYARD_DATABASE_URL": database.url}

    def _make_app_role(self, url: str, password: str) -> None:
        """The app's own role, which can change neither tables nor the audit log."""
        with psycopg.connect(url, autocommit=True) as connection:
            known = connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [APP_ROLE])
            verb = sql.SQL("ALTER" if known.fetchone() else "CREATE")
            connection.execute(
                sql.SQL("{} ROLE {} LOGIN PASSWORD {}").format(
                    verb, sql.Identifier(APP_ROLE), sql.Literal(password)
                )
            )

    def _start_cluster(self) -> tuple[Path, Service]:
        """The API server, whose port is part of the address under which the portal knows it."""
        if self.kubernetes:
            from embedded import controlplane

            folder = self.state.short_path("kubernetes")
            port = self.state.port("kubernetes_port", free_port)
            flags = (f"-port={port}", f"-pod-proxy={folder.with_name('pods.sock')}")
            command = controlplane.command(folder, *flags)
        else:
            folder = self.state.folder / "cluster"
            folder.mkdir(mode=0o700, exist_ok=True)
            port = self.state.port("cluster_port", free_port)
            arguments = ("serve", f"--dir={folder}", f"--port={port}", "--die-with-parent")
            command = python("cluster", "-m", "simulator", *arguments)
        return folder / "kubeconfig", self.supervisor.start(command)

    def _start_fleet(self, kubeconfig: Path, cluster: Service) -> None:
        """The nodes, as soon as there is an API server that they can join."""

        def ready() -> bool:
            return any(line.startswith("ready ") for line in cluster.last_lines)

        self.supervisor.wait(ready, "the cluster", 120)
        arguments = [f"--kubeconfig={kubeconfig}", "--scenario=demo", "--die-with-parent"]
        if self.kubernetes:
            pods = self.state.short_path("kubernetes").with_name("pods.sock")
            arguments += ["--nodes-only", f"--egress={pods}"]
        self.supervisor.start(python("fleet", "-m", "simulator", "fleet", *arguments))

    def _start_web(self, listener: socket.socket) -> None:
        arguments = ("portal.wsgi", f"--bind=fd://{listener.fileno()}", "--workers=1")
        more = ("--worker-class=gthread", "--threads=8", "--no-control-socket")
        self.supervisor.start(
            python(
                "web",
                *("-m", "gunicorn", *arguments, *more, "--log-level=warning"),
                environment=self.environment,
                keep_open=(listener.fileno(),),
            )
        )

    def _start_workers(self) -> None:
        celery = ("celery", "-A", "portal", "--quiet")
        worker = ("worker", "--concurrency=2", "--without-mingle", "--without-gossip")
        for name, *arguments in (
            ("watch", "workers.watch"),
            ("worker", *celery, *worker, "--loglevel=WARNING"),
            ("placement", "workers.placement"),
            ("beat", *celery, "beat", "--loglevel=WARNING", "--pidfile="),
        ):
            self.supervisor.start(python(name, "-m", *arguments, environment=self.environment))

    def _fill(self, kubeconfig: Path) -> None:
        password = {"CLAIMYARD_DEMO_PASSWORD": self.state.secret("password")}
        arguments = ("manage.py", "fill_demo", f"--kubeconfig={kubeconfig}")
        self.supervisor.run(python("fill", *arguments, environment=self.environment | password))
        migrations = ("manage.py", "fill_migrations")
        self.supervisor.run(python("fill", *migrations, environment=self.environment))


def python(
    name: str,
    *arguments: str,
    environment: Mapping[str, str] | None = None,
    keep_open: tuple[int, ...] = (),
) -> Command:
    return Command(
        name,
        (sys.executable, *arguments),
        {**PYTHON_ENVIRONMENT, **(environment or {})},
        folder=ROOT,
        keep_open=keep_open,
    )


def address_of(listener: socket.socket) -> str:
    return f"http://127.0.0.1:{listener.getsockname()[1]}"


def listen(wanted: int) -> socket.socket:
    """The web server's socket, on the first free port from `wanted` on.

    It is ours, so that no other demo takes the port in between, and so that a web server which is
    started again loses no connection.
    """
    for port in range(wanted, wanted + 100):
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", port))
            listener.listen(128)
        except OSError:
            listener.close()
            continue
        return listener
    raise ProcessFailedError(f"no free port among {wanted} to {wanted + 99}")


def answers(url: str) -> bool:
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=2)
    try:
        connection.request("GET", "/healthz")
        return connection.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


@contextlib.contextmanager
def only_one(folder: Path) -> Iterator[None]:
    """Refuse a second demo on the same data."""
    with (folder / "lock").open("a+", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            raise ProcessFailedError(
                f"a demo of this checkout is running already (process {lock.read().strip()})"
            ) from None
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        yield


def reset(folder: Path) -> None:
    if folder.exists():
        with only_one(folder):
            postgres.forget(folder / "postgres")
            shutil.rmtree(folder)
    print("The demo's data are gone.")


def greet(log: Log, url: str, password: str, kubeconfig: Path, seconds: float) -> None:
    log.say()
    log.say(f"  Claimyard is ready after {seconds:.0f} s: {url}/", BOLD)
    log.say()
    for role, name in LOGINS:
        log.say(f"    {role:<15} {name:<9} {password}")
    log.say()
    config = kubeconfig.resolve()
    config = config.relative_to(ROOT) if config.is_relative_to(ROOT) else config
    log.say(f"  The cluster: .venv/bin/kubectl --kubeconfig={config} get nodes")
    log.say("  Ctrl-C ends all of it. The data stay; `make demo-reset` forgets them.")
    log.say()


def run(folder: Path, port: int, *, kubernetes: bool) -> None:
    began = time.monotonic()
    state = State(folder)
    with only_one(folder), state.short_paths(), contextlib.closing(listen(port)) as listener:
        log = Log(sys.stdout, folder / "demo.log")
        supervisor = Supervisor(log)
        with contextlib.closing(log), supervisor.signals():
            try:
                kubeconfig = Demo(supervisor, state, kubernetes=kubernetes).start(listener)
                seconds = time.monotonic() - began
                greet(log, address_of(listener), state.secret("password"), kubeconfig, seconds)
                while not supervisor.stopping:
                    supervisor.watch()
            except Stopped:
                pass
            except ProcessFailedError as error:
                log.say(str(error), RED)
                raise SystemExit(1) from None
            finally:
                log.say("stopping")
                supervisor.stop_all(STOP_ORDER)


def main() -> None:
    parser = argparse.ArgumentParser(prog="make demo", description=__doc__)
    parser.add_argument("--cluster", choices=("simulator", "kubernetes"), default="simulator")
    parser.add_argument("--port", type=int, default=WEB_PORT, help="the first port to try")
    parser.add_argument("--state", type=Path, default=STATE, help="where the data live")
    parser.add_argument("--reset", action="store_true", help="forget the data")
    parser.add_argument("--die-with-parent", action="store_true", help="end when `make` ends")
    arguments = parser.parse_args()
    if arguments.die_with_parent:
        die_with_parent(signal.SIGTERM)
    kept = {"CLAIMYARD_LOG_LEVEL"}
    for name in [one for one in os.environ if one.startswith("CLAIMYARD_") and one not in kept]:
        del os.environ[name]  # a demo does not touch anybody's real database
    try:
        if arguments.reset:
            reset(arguments.state)
        else:
            run(arguments.state, arguments.port, kubernetes=arguments.cluster == "kubernetes")
    except ProcessFailedError as error:
        raise SystemExit(str(error)) from None


if __name__ == "__main__":
    main()
