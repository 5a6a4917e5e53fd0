"""A folder of files as Kubernetes mounts it, and every way in which its files are replaced.

`<name>` is a link to `..data/<name>`, and `..data` a link to a folder of one version.
"""

import itertools
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

_VERSIONS: Final = itertools.count()


def make_mount(folder: Path, files: Mapping[str, bytes]) -> Path:
    """Make the folder; return it."""
    folder.mkdir()
    _switch_version(folder, files)
    for name in files:
        (folder / name).symlink_to(f"..data/{name}")
    return folder


def _switch_version(folder: Path, files: Mapping[str, bytes]) -> None:
    version = folder / f"..version-{next(_VERSIONS)}"
    version.mkdir()
    for name, content in files.items():
        (version / name).write_bytes(content)
    link = folder / "..data_tmp"
    link.symlink_to(version.name)
    link.replace(folder / "..data")


def _by_link(folder: Path, name: str, content: bytes) -> None:
    """Switch `..data` to another version, as Kubernetes does."""
    others = {path.name: path.read_bytes() for path in (folder / "..data/").iterdir()}
    _switch_version(folder, others | {name: content})


def _by_rename(folder: Path, name: str, content: bytes) -> None:
    """Move a new file over the old one, as `realmgate certs` does."""
    draft = folder / "..data" / f".{name}.new"
    draft.write_bytes(content)
    draft.replace(folder / "..data" / name)


def _in_place(folder: Path, name: str, content: bytes) -> None:
    """Write into the same inode."""
    with (folder / name).open("r+b") as file:
        file.truncate()
        file.write(content)


def _with_its_times(folder: Path, name: str, content: bytes) -> None:
    """Write into the same inode, and set the times back."""
    before = (folder / name).stat()
    assert before.st_size == len(content)
    _in_place(folder, name, content)
    os.utime(folder / name, ns=(before.st_atime_ns, before.st_mtime_ns))


def _renamed_with_its_times(folder: Path, name: str, content: bytes) -> None:
    """Move a file of the same size and time over the old one."""
    before = (folder / name).stat()
    _by_rename(folder, name, content)
    os.utime(folder / name, ns=(before.st_atime_ns, before.st_mtime_ns))


def _removed_and_created(folder: Path, name: str, content: bytes) -> None:
    """Remove the file and create another."""
    file = folder / "..data" / name
    file.unlink()
    file.write_bytes(content)


def _with_its_folder(folder: Path, name: str, content: bytes) -> None:
    """Put another folder in the place of this one."""
    other = folder.with_name(f"{folder.name}-{next(_VERSIONS)}")
    shutil.copytree(folder, other, symlinks=True)
    (other / name).write_bytes(content)
    folder.rename(folder.with_name(f"{folder.name}-{next(_VERSIONS)}"))
    other.rename(folder)


WAYS: Final[Mapping[str, Callable[[Path, str, bytes], None]]] = {
    "rename": _by_rename,
    "in place": _in_place,
    "in place, same size and time": _with_its_times,
    "rename, same size and time": _renamed_with_its_times,
    "removed and created": _removed_and_created,
    "link switched": _by_link,
    "folder replaced": _with_its_folder,
}
