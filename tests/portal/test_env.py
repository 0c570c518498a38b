"""A bad value stops the start with a sentence that names the variable."""

from pathlib import Path

import pytest

from portal import env


def refusal(reader: object, *arguments: object) -> str:
    with pytest.raises(env.BadSetting) as stopped:
        reader(*arguments)  # type: ignore[operator]
    return str(stopped.value)


@pytest.mark.parametrize("value", ["yes", "True", "1", ""])
def test_a_flag_is_true_or_false_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("CLAIMYARD_X", value)
    assert (
        refusal(env.flag, "X", False, "") == f"CLAIMYARD_X is {value!r}; it must be true or false"
    )


@pytest.mark.parametrize("value", ["-1", "4", "five", "1.5", "٣", ""])
def test_a_number_is_whole_and_not_below_its_least(
    monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("CLAIMYARD_X", value)
    assert "must be a whole number, 5 or more" in refusal(lambda: env.number("X", 9, "", least=5))


def test_a_secret_comes_from_the_file_without_its_last_newline(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "key").write_text("s3cret\n")
    monkeypatch.setenv("CLAIMYARD_X_FILE", str(tmp_path / "key"))
    assert env.secret("X", None, "") == "s3cret"


def test_a_secret_given_twice_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CLAIMYARD_X", "one")
    monkeypatch.setenv("CLAIMYARD_X_FILE", str(tmp_path / "other"))
    assert "set only one of them" in refusal(env.secret, "X", None, "")


def test_a_secret_file_that_cannot_be_read_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CLAIMYARD_X_FILE", str(tmp_path / "absent"))
    assert refusal(env.secret, "X", None, "").startswith("CLAIMYARD_X_FILE cannot be read")


def test_a_missing_secret_stops_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CLAIMYARD_X", raising=False)
    assert "CLAIMYARD_X is not set" in refusal(env.secret, "X", None, "signs things")


def test_several_secrets_come_from_a_file_one_on_each_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "keys").write_text("newest\nolder, oldest\n")
    monkeypatch.setenv("CLAIMYARD_X_FILE", str(tmp_path / "keys"))
    assert env.secrets("X", "", "") == ["newest", "older", "oldest"]


def test_several_secrets_may_be_none_where_there_is_a_default(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("CLAIMYARD_X", raising=False)
    assert env.secrets("X", "", "") == []
    assert "CLAIMYARD_X is not set" in refusal(env.secrets, "X", None, "opens things")


def test_a_database_url_is_taken_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAIMYARD_X", "postgresql://me:p%40ss@db:5433/yard?sslmode=require")
    found = env.database("X", None, "")
    assert (found["USER"], found["PASSWORD"], found["HOST"]) == ("me", "p@ss", "db")
    assert (found["PORT"], found["NAME"]) == ("5433", "yard")
    assert found["OPTIONS"] == {"sslmode": "require"}


def test_a_database_socket_folder_is_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAIMYARD_X", "postgresql:///yard?host=%2Frun%2Fpg")
    assert env.database("X", None, "")["HOST"] == "/run/pg"


@pytest.mark.parametrize("url", ["mysql://a/b", "postgresql://host", "nonsense"])
def test_what_is_no_postgresql_url_is_refused_without_repeating_it(
    monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    monkeypatch.setenv("CLAIMYARD_X", url)
    message = refusal(env.database, "X", None, "")
    assert "must look like postgresql://" in message
    assert url not in message.replace("postgresql://user", "")
