"""Watches: what a client sees of changes, and how it is told that it missed some."""

from collections.abc import Callable
from contextlib import AbstractContextManager

from tests.contract.client import Client
from tests.contract.objects import config_map, config_maps

OLD = "1"


def listed_revision(api: Client, path: str) -> str:
    revision: str = api.get(path).body["metadata"]["resourceVersion"]
    return revision


def test_a_watch_tells_what_follows_a_list_in_order(api: Client, namespace: str) -> None:
    path = config_maps(namespace)
    chosen = {"labelSelector": "mine"}
    revision = listed_revision(api, path)
    with api.watch(path, resourceVersion=revision, **chosen) as watch:
        api.create(path, config_map("a", {"mine": ""}))
        api.patch(f"{path}/a", {"data": {"x": "1"}})
        api.delete(f"{path}/a")
        assert watch.seen(3) == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]


def test_a_watch_without_revision_starts_with_what_there_is(api: Client, namespace: str) -> None:
    path = config_maps(namespace)
    for name in ("a", "b"):
        api.create(path, config_map(name, {"mine": ""}))
    with api.watch(path, labelSelector="mine") as watch:
        assert sorted(watch.seen(2)) == [("ADDED", "a"), ("ADDED", "b")]


def test_an_object_that_leaves_the_selection_is_deleted_to_the_watcher(
    api: Client, namespace: str
) -> None:
    path = config_maps(namespace)
    revision = listed_revision(api, path)
    with api.watch(path, resourceVersion=revision, labelSelector="mine=yes") as watch:
        api.create(path, config_map("a", {"mine": "yes"}))
        changed = api.patch(f"{path}/a", {"metadata": {"labels": {"mine": "no"}}}).body
        again = api.patch(f"{path}/a", {"metadata": {"labels": {"mine": "yes"}}}).body
        first, second, third = (watch.next() for _ in range(3))
    assert [first["type"], second["type"], third["type"]] == ["ADDED", "DELETED", "ADDED"]
    assert second["object"]["metadata"]["labels"] == {"mine": "yes"}
    assert second["object"]["metadata"]["resourceVersion"] == changed["metadata"]["resourceVersion"]
    assert third["object"]["metadata"]["resourceVersion"] == again["metadata"]["resourceVersion"]


def test_a_deletion_carries_a_newer_revision_than_the_last_change(
    api: Client, namespace: str
) -> None:
    path = config_maps(namespace)
    made = api.create(path, config_map("a", {"mine": ""})).body
    revision = made["metadata"]["resourceVersion"]
    with api.watch(path, resourceVersion=revision, labelSelector="mine") as watch:
        api.delete(f"{path}/a")
        gone = watch.next()
    assert gone["type"] == "DELETED"
    assert int(gone["object"]["metadata"]["resourceVersion"]) > int(revision)
    assert gone["object"]["metadata"]["uid"] == made["metadata"]["uid"]


def test_initial_events_end_with_a_marked_bookmark(api: Client, namespace: str) -> None:
    path = config_maps(namespace)
    api.create(path, config_map("a", {"mine": ""}))
    asked = {
        "sendInitialEvents": "true",
        "resourceVersionMatch": "NotOlderThan",
        "allowWatchBookmarks": "true",
        "labelSelector": "mine",
    }
    with api.watch(path, **asked) as watch:
        first, mark = watch.next(), watch.next()
    assert (first["type"], first["object"]["metadata"]["name"]) == ("ADDED", "a")
    assert mark["type"] == "BOOKMARK"
    meta = mark["object"]["metadata"]
    assert meta["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert int(meta["resourceVersion"]) >= int(first["object"]["metadata"]["resourceVersion"])
    assert mark["object"]["kind"] == "ConfigMap"


def test_a_watch_ends_at_its_time(api: Client, namespace: str) -> None:
    path = config_maps(namespace)
    asked = {"resourceVersion": listed_revision(api, path), "labelSelector": "none"}
    with api.watch(path, timeoutSeconds=1, **asked) as watch:
        assert watch.status == 200
        assert [event for event in watch if event["type"] != "BOOKMARK"] == []


def test_one_object_can_be_watched(api: Client, namespace: str) -> None:
    path = config_maps(namespace)
    revision = listed_revision(api, path)
    with api.watch(path, resourceVersion=revision, fieldSelector="metadata.name=b") as watch:
        api.create(path, config_map("a"))
        api.create(path, config_map("b"))
        assert watch.seen(1) == [("ADDED", "b")]


def test_a_forgotten_revision_is_answered_with_410(
    restartable: Callable[[], AbstractContextManager[Client]],
) -> None:
    path = config_maps("default")
    with restartable() as api:
        old = api.create(path, config_map("a")).body["metadata"]["resourceVersion"]
        for number in range(3):
            api.patch(f"{path}/a", {"data": {"n": str(number)}})
    with restartable() as api, api.watch(path, resourceVersion=old) as watch:
        event = watch.next()
        assert event["type"] == "ERROR"
        assert event["object"]["code"] == 410
        assert event["object"]["reason"] == "Expired"
        assert event["object"]["message"].startswith(f"too old resource version: {old} (")


def test_objects_and_revisions_outlive_the_server(
    restartable: Callable[[], AbstractContextManager[Client]],
) -> None:
    path = config_maps("default")
    with restartable() as api:
        before = api.create(path, config_map("kept", x="1")).body
    with restartable() as api:
        after = api.get(f"{path}/kept").body
        assert after == before
        changed = api.patch(f"{path}/kept", {"data": {"x": "2"}}).body
        assert int(changed["metadata"]["resourceVersion"]) > int(
            before["metadata"]["resourceVersion"]
        )
