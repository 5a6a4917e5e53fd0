"""The encryption key is private to its owner, made once, and refused clearly when it is not one."""

import base64
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from gateway.crypto.secrets_at_rest import load_or_create_keys, parse_keys
from gateway.domain.errors import InvalidInput


def encoded(key: bytes) -> str:
    return base64.b64encode(key).decode()


def test_the_first_start_writes_a_private_file_for_later_starts(tmp_path: Path) -> None:
    path = tmp_path / "secrets" / "encryption.key"
    made = load_or_create_keys(path)
    assert [len(key) for key in made] == [32]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert load_or_create_keys(path) == made
    assert [entry.name for entry in path.parent.iterdir()] == ["encryption.key"]


def test_gateways_that_start_at_once_agree_on_one_key(tmp_path: Path) -> None:
    for attempt in range(20):
        path = tmp_path / str(attempt) / "encryption.key"
        with ThreadPoolExecutor(4) as pool:
            results = set(pool.map(load_or_create_keys, [path] * 4))
        assert len(results) == 1


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o666])
def test_a_key_that_others_can_read_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "encryption.key"
    load_or_create_keys(path)
    path.chmod(mode)
    with pytest.raises(InvalidInput, match=rf"mode {mode:04o} given, mode 0600 expected"):
        load_or_create_keys(path)


def test_several_keys_are_read_newest_first(tmp_path: Path) -> None:
    path = tmp_path / "encryption.key"
    path.touch(0o600)
    path.write_text(f"{encoded(b'n' * 32)}\n{encoded(b'o' * 32)}\n")
    assert load_or_create_keys(path) == (b"n" * 32, b"o" * 32)


def test_every_bad_key_is_named_and_none_is_printed() -> None:
    bad = f"{encoded(b'k' * 16)}\n{encoded(b'g' * 32)}\nnot-base64!"
    with pytest.raises(InvalidInput) as caught:
        parse_keys(bad, "REALMGATE_ENCRYPTION_KEY")
    assert [(error.path, error.given) for error in caught.value.errors] == [
        ("REALMGATE_ENCRYPTION_KEY, key 1", "16 bytes"),
        ("REALMGATE_ENCRYPTION_KEY, key 3", "text that is not base64"),
    ]
    assert encoded(b"k" * 16) not in str(caught.value)


def test_an_empty_key_file_is_refused_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "encryption.key"
    path.touch(0o600)
    with pytest.raises(InvalidInput, match="nothing given, 32 bytes in base64 expected"):
        load_or_create_keys(path)
    assert path.read_text() == ""
