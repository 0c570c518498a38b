"""What the simulated API server keeps, through every kind of end."""

import os
import re
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from simulator.apiserver import Options, running
from simulator.apiserver.journal import PUT, Journal, Line
from simulator.apiserver.server import expire
from tests.contract.client import Client
from tests.contract.objects import config_map, config_maps, definition

PATH = config_maps("default")
REPOSITORY = Path(__file__).resolve().parents[2]


def started(folder: Path, *flags: str) -> tuple[subprocess.Popen[str], str]:
    words = [sys.executable, "-m", "simulator", "serve", "--dir", str(folder), *flags]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=REPOSITORY)
    assert process.stdout
    line = process.stdout.readline()
    match = re.fullmatch(r"ready port=(\d+) kubeconfig=(\S+)\n", line)
    assert match, line
    return process, match[2]


def ended(process: subprocess.Popen[str], number: int) -> int:
    process.send_signal(number)
    code = process.wait(timeout=30)
    assert process.stdout
    process.stdout.close()
    return code


def test_everything_survives_a_kill(tmp_path: Path) -> None:
    process, kubeconfig = started(tmp_path)
    api = Client(kubeconfig)
    kept = api.create(PATH, config_map("kept", x="1")).body
    api.create(PATH, config_map("gone"))
    api.delete(f"{PATH}/gone")
    last = api.patch(f"{PATH}/kept", {"data": {"x": "2"}}).body
    ended(process, signal.SIGKILL)
    process, kubeconfig = started(tmp_path)
    api = Client(kubeconfig)
    found = api.get(f"{PATH}/kept").body
    assert found == last and found["metadata"]["uid"] == kept["metadata"]["uid"]
    assert api.get(f"{PATH}/gone").status == 404
    after = api.create(PATH, config_map("new")).body["metadata"]["resourceVersion"]
    assert int(after) > int(last["metadata"]["resourceVersion"])
    assert ended(process, signal.SIGTERM) == 0


def test_the_same_port_and_token_can_be_had_again(tmp_path: Path) -> None:
    with running(tmp_path) as first:
        port, token, ca = int(first.url.rpartition(":")[2]), first.token, first.ca
    with running(tmp_path, Options(port=port)) as second:
        assert (second.url, second.token, second.ca) == (first.url, token, ca)
        assert Client(second.kubeconfig).get("/readyz").body == "ok"


def test_a_directory_and_a_port_have_one_server(tmp_path: Path) -> None:
    with running(tmp_path / "one") as server:
        port = server.url.rpartition(":")[2]
        words = [sys.executable, "-m", "simulator", "serve", "--port", port, "--dir"]
        for folder, reason in (("one", "another simulated cluster runs in"), ("two", "is taken")):
            done = subprocess.run(
                [*words, str(tmp_path / folder)],
                capture_output=True,
                text=True,
                cwd=REPOSITORY,
                timeout=60,
                check=False,
            )
            assert done.returncode == 1
            assert done.stderr.startswith("error: ") and reason in done.stderr
            assert "Traceback" not in done.stderr


def test_the_server_dies_with_its_parent(tmp_path: Path) -> None:
    program = f"""
import subprocess, sys, time
words = ["-m", "simulator", "serve", "--dir", {str(tmp_path)!r}, "--die-with-parent"]
child = subprocess.Popen([sys.executable, *words], stdout=subprocess.PIPE, text=True)
child.stdout.readline()
print(child.pid, flush=True)
time.sleep(60)
"""
    parent = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, cwd=REPOSITORY
    )
    assert parent.stdout
    child = int(parent.stdout.readline())
    ended(parent, signal.SIGKILL)
    for _ in range(200):
        try:
            os.kill(child, 0)
        except ProcessLookupError:
            return
        state = Path(f"/proc/{child}/stat")
        if state.exists() and state.read_text().rpartition(")")[2].split()[0] == "Z":
            return
        time.sleep(0.05)
    pytest.fail("the server outlived its parent")


def test_the_log_is_compacted_and_nothing_is_lost(tmp_path: Path) -> None:
    with running(tmp_path, Options(compact_bytes=20_000)) as server:
        api = Client(server.kubeconfig)
        api.create(PATH, config_map("quiet", x="kept"))
        api.create(PATH, config_map("busy"))
        for number in range(150):
            last = api.patch(f"{PATH}/busy", {"data": {"n": f"{number:04}"}}).body
    files = {path.name: path.stat().st_size for path in (tmp_path / "objects").iterdir()}
    assert sum(size for name, size in files.items() if name.startswith("journal")) < 60_000
    assert any(name.startswith("snapshot.") for name in files)
    with running(tmp_path) as server:
        api = Client(server.kubeconfig)
        assert api.get(f"{PATH}/busy").body == last
        assert api.get(f"{PATH}/quiet").body["data"] == {"x": "kept"}


def test_a_cut_line_is_as_if_never_written(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    assert list(journal.load()) == []
    first = Line(PUT, "things", 2, "default/a", b'{"metadata":{"name":"a"}}')
    second = Line(PUT, "things", 3, "default/b", b'{"metadata":{"name":"b"}}')
    journal.append(first)
    journal.append(second)
    journal.close()
    (log,) = tmp_path.glob("journal.*")
    whole = log.read_bytes()
    for length in range(len(first.encoded()), len(whole)):
        log.write_bytes(whole[:length])
        again = Journal(tmp_path)
        assert list(again.load()) == [first]
        third = Line(PUT, "things", 4, "default/c", b"{}")
        again.append(third)
        again.close()
        assert list(Journal(tmp_path).load()) == [first, third]


def test_an_unfinished_snapshot_does_not_count(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    list(journal.load())
    line = Line(PUT, "things", 2, "default/a", b"{}")
    journal.append(line)
    journal.close()
    (tmp_path / "snapshot.unfinished").write_bytes(b"put things 9 default/z {}\n")
    assert list(Journal(tmp_path).load()) == [line]


def test_history_is_bounded_and_slow_watchers_are_told(tmp_path: Path) -> None:
    with running(tmp_path, Options(history=10)) as server:
        api = Client(server.kubeconfig)
        old = api.create(PATH, config_map("a")).body["metadata"]["resourceVersion"]
        for number in range(50):
            new = api.patch(f"{PATH}/a", {"data": {"n": str(number)}}).body
        with api.watch(PATH, resourceVersion=old) as watch:
            event = watch.next()
            assert (event["type"], event["object"]["code"]) == ("ERROR", 410)
        recent = str(int(new["metadata"]["resourceVersion"]) - 5)
        with api.watch(PATH, resourceVersion=recent) as watch:
            assert len(watch.seen(5)) == 5


def test_an_older_version_serves_no_taint_rules(tmp_path: Path) -> None:
    with running(tmp_path, Options(minor=34)) as server:
        api = Client(server.kubeconfig)
        assert api.get("/version").body["minor"] == "34"
        assert api.get("/apis/resource.k8s.io/v1/devicetaintrules").status == 404
        assert api.get("/apis/resource.k8s.io/v1/deviceclasses").status == 200


def test_a_service_account_token_opens_the_door(tmp_path: Path) -> None:
    with running(tmp_path) as server:
        api = Client(server.kubeconfig)
        request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        path = "/api/v1/namespaces/default/serviceaccounts/default/token"
        token = api.create(path, request).body["status"]["token"]
        headers = {"Authorization": f"Bearer {token}"}
        review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
        path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
        answer = api.ask("POST", path, review, headers=headers)
        name = "system:serviceaccount:default:default"
        assert answer.body["status"]["userInfo"]["username"] == name
        forged = f"{token[:-4]}AAAA"
        answer = api.ask("GET", PATH, headers={"Authorization": f"Bearer {forged}"})
        assert answer.status == 401
        acting = {"Impersonate-User": "alice", "Impersonate-Group": "team-a"}
        answer = api.ask("POST", path, review, headers=acting)
        assert answer.body["status"]["userInfo"]["username"] == "alice"


def test_events_expire_by_their_last_write(tmp_path: Path) -> None:
    events = "/api/v1/namespaces/default/events"
    with running(tmp_path) as server:
        api = Client(server.kubeconfig)
        event = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"}}
        event["involvedObject"] = {"namespace": "default"}
        assert api.create(events, event).status == 201
        kind = server.api.kinds.find("", "v1", "events")
        assert kind
        now = datetime.now(UTC)
        expire(server.store, kind, now - timedelta(seconds=5))
        assert api.get(f"{events}/e").status == 200
        expire(server.store, kind, now + timedelta(seconds=5))
        assert api.get(f"{events}/e").status == 404


def test_a_body_beyond_the_limit_is_refused(tmp_path: Path) -> None:
    with running(tmp_path) as server:
        answer = Client(server.kubeconfig).create(PATH, config_map("big", x="y" * (3 << 20)))
        assert (answer.status, answer.body["reason"]) == (413, "RequestEntityTooLarge")


def test_names_may_hold_blanks_and_line_ends(tmp_path: Path) -> None:
    path = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "rules": []}
    names = ["one two", "line\nend", "system:x"]
    with running(tmp_path) as server:
        for name in names:
            made = Client(server.kubeconfig).create(path, role | {"metadata": {"name": name}})
            assert made.status == 201
    with running(tmp_path) as server:
        items = Client(server.kubeconfig).get(path).body["items"]
        assert sorted(item["metadata"]["name"] for item in items) == sorted(names)


def test_what_is_nested_too_deeply_is_refused(tmp_path: Path) -> None:
    deep: dict[str, object] = {}
    for _ in range(900):
        deep = {"properties": {"x": deep}}
    made = definition("widgets", "example.com")
    made["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = deep
    with running(tmp_path) as server:
        api = Client(server.kubeconfig)
        path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        answer = api.create(path, made)
        assert answer.status == 400
        assert api.get(path).body["items"] == []
