"""The rules file while the gateway runs: a valid version replaces the rules, no other does."""

from collections.abc import Callable
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from gateway.crypto.x509.authorities import WatchedFile
from gateway.domain.errors import InvalidInput
from gateway.representations.sites import parse_rules_file
from gateway.storage.current_sites import RulesFile


def _toml(name: str) -> str:
    return f'[[sites]]\nname = "{name}"\nhosts = ["{name}.example.org"]\nrealms = ["demo"]\n'


def _overwrite(path: Path, text: str) -> None:
    path.write_text(text)


def _move(path: Path, target: Path) -> None:
    path.rename(target)


def _replace(path: Path, text: str) -> None:
    """Replace the file as an editor does."""
    new = path.with_suffix(".new")
    new.write_text(text)
    _move(new, path)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "rules.toml"
    found.write_text(_toml("first"))
    return found


@pytest.fixture
def file(path: Path) -> RulesFile:
    made = RulesFile(WatchedFile(path), str(path), parse_rules_file)
    made.load()
    return made


def names(file: RulesFile) -> list[str]:
    return [site.name for site in file.sites]


@pytest.mark.parametrize("write", [_overwrite, _replace])
async def test_a_new_version_replaces_the_rules(
    file: RulesFile, path: Path, write: Callable[[Path, str], None]
) -> None:
    assert names(file) == ["first"]
    write(path, _toml("second"))
    await file.refresh()
    assert names(file) == ["second"]


async def test_a_file_with_errors_logs_them_all_and_keeps_the_rules(
    file: RulesFile, path: Path
) -> None:
    _replace(path, _toml("a b").replace("demo", "d/e"))
    with capture_logs() as logs:
        await file.refresh()
        await file.refresh()
    assert names(file) == ["first"]
    (log,) = logs
    assert (log["event"], log["log_level"]) == ("rules file refused", "error")
    found = [error.partition(" given")[0].removeprefix(f"{path}: ") for error in log["errors"]]
    assert found == [
        'sites[0].name: "a b"',
        "sites[0].hosts[0]: 'a b.example.org': the host is neither a host name nor an address",
        'sites[0].realms[0]: "d/e"',
    ]
    _replace(path, _toml("third"))
    await file.refresh()
    assert names(file) == ["third"]


async def test_a_vanished_file_is_reported_once_and_the_rules_stay(
    file: RulesFile, path: Path
) -> None:
    away = path.with_suffix(".away")
    _move(path, away)
    with capture_logs() as logs:
        for _ in range(3):
            await file.refresh()
    assert [log["event"] for log in logs] == ["rules file refused"]
    assert names(file) == ["first"]
    _move(away, path)
    with capture_logs() as logs:
        await file.refresh()
    assert [log["event"] for log in logs] == ["rules file read"]


def test_a_start_with_a_file_that_is_missing_or_wrong_fails(path: Path) -> None:
    path.write_text("rules = []")
    with pytest.raises(InvalidInput, match="rules: the file has no such field"):
        RulesFile(WatchedFile(path), str(path), parse_rules_file).load()
    path.unlink()
    with pytest.raises(InvalidInput, match="No such file"):
        RulesFile(WatchedFile(path), str(path), parse_rules_file).load()
