"""Keeps the byte code of what Ansible sends to each task in ANSIBLE_BYTE_CODE.

Each task is a process of its own that imports its program from an archive. Python keeps no byte
code of archives, and compiling takes longer than all else that the process does.
"""

import hashlib
import marshal
import os
import zipimport
from collections.abc import Callable
from pathlib import Path
from types import CodeType

_FOLDER = Path(os.environ["ANSIBLE_BYTE_CODE"])
_compile: Callable[[str, bytes], CodeType] = zipimport._compile_source  # type: ignore[attr-defined]


def _compile_once(path: str, source: bytes) -> CodeType:
    file = _FOLDER / hashlib.sha256(source).hexdigest()
    if file.exists():
        found: CodeType = marshal.loads(file.read_bytes())  # noqa: S302 - our own file
        return found
    code = _compile(path, source)
    unfinished = file.with_suffix(f".{os.getpid()}")
    unfinished.write_bytes(marshal.dumps(code))
    unfinished.replace(file)
    return code


zipimport._compile_source = _compile_once  # type: ignore[attr-defined]
