"""The encryption key: a private file, created at the first start, or a given text.

The text holds one base64 key of 32 bytes per line, the newest first. The file must be readable
by its owner alone: a key that others can read protects nothing.
"""

import base64
import binascii
import os
import secrets
import stat
from pathlib import Path

from gateway.domain.errors import FieldError, InvalidInput

_KEY_BYTES = 32
_SHARED = stat.S_IRWXG | stat.S_IRWXO


def parse_keys(text: str, source: str) -> tuple[bytes, ...]:
    """Read base64 keys separated by white space; `source` names them in errors.

    Raises InvalidInput for every key that is not 32 bytes of base64, and when there is none.
    """
    lines = text.split()
    keys = [_decoded(line) for line in lines]
    errors = [
        FieldError(f"{source}, key {number}", _describe(key), f"{_KEY_BYTES} bytes in base64")
        for number, key in enumerate(keys, start=1)
        if key is None or len(key) != _KEY_BYTES
    ]
    if not lines:
        errors.append(FieldError(source, "nothing", f"{_KEY_BYTES} bytes in base64"))
    if errors:
        raise InvalidInput(tuple(errors))
    return tuple(key for key in keys if key is not None)


def load_or_create_keys(path: Path) -> tuple[bytes, ...]:
    """Read the keys in `path`; make the file with a fresh key when there is none.

    Raises InvalidInput when others may read the file or it holds no usable key, OSError when
    it cannot be read or made.
    """
    if not path.exists():
        _create(path)
    with path.open(encoding="utf-8", errors="replace") as file:
        mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
        if mode & _SHARED:
            raise InvalidInput((FieldError(str(path), f"mode {mode:04o}", "mode 0600"),))
        return parse_keys(file.read(), str(path))


def _create(path: Path) -> None:
    """Make the file whole or not at all: of two gateways that start at once, one key wins."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(base64.b64encode(secrets.token_bytes(_KEY_BYTES)) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        # A hard link fails when the name is taken, where a rename would overwrite the winner's.
        os.link(draft, path)
    except FileExistsError:
        return
    finally:
        draft.unlink()


def _decoded(line: str) -> bytes | None:
    try:
        return base64.b64decode(line, validate=True)
    except (binascii.Error, ValueError):
        return None


def _describe(key: bytes | None) -> str:
    return "text that is not base64" if key is None else f"{len(key)} bytes"
