"""Builds the distributions: what flit makes of `gateway/`, and nginx's configuration beside it.

`nginx/` stands at the top of the project, for people who include it; an installed `realmgate nginx
render` needs it too, so a wheel carries it inside the package. Spec: PEP 517, PEP 427
"""

import base64
import csv
import hashlib
import io
import zipfile
from pathlib import Path
from typing import Any

from flit_core import buildapi  # type: ignore[import-untyped] # flit
from flit_core.buildapi import (  # type: ignore[import-untyped]
    build_editable,
    build_sdist,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

SOURCE = Path(__file__).resolve().parents[1] / "nginx"
INSTALLED = "gateway/nginx_configuration"
_EARLIEST = (1980, 1, 1, 0, 0, 0)


def build_wheel(
    wheel_directory: str,
    config_settings: dict[str, Any] | None = None,
    metadata_directory: str | None = None,
) -> str:
    """Build the wheel; return its name."""
    name: str = buildapi.build_wheel(wheel_directory, config_settings, metadata_directory)
    _add(Path(wheel_directory) / name, _configuration())
    return name


def _configuration() -> dict[str, bytes]:
    """Return the files by their place in the wheel, always in the same order."""
    return {
        f"{INSTALLED}/{path.relative_to(SOURCE).as_posix()}": path.read_bytes()
        for path in sorted(SOURCE.rglob("*.conf"))
    }


def _add(wheel: Path, files: dict[str, bytes]) -> None:
    """Write the wheel anew with the files in it, and in its record."""
    with zipfile.ZipFile(wheel) as before:
        content = {entry: before.read(entry) for entry in before.infolist()}
    draft = wheel.with_suffix(".new")
    with zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED) as after:
        for entry, data in content.items():
            if entry.filename.endswith(".dist-info/RECORD"):
                for name, added in files.items():
                    after.writestr(_entry(name), added)
                after.writestr(_entry(entry.filename), data.decode() + _records(files))
            else:
                after.writestr(entry, data)
    draft.replace(wheel)


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _EARLIEST)
    entry.external_attr = 0o100644 << 16
    entry.compress_type = zipfile.ZIP_DEFLATED
    return entry


def _records(files: dict[str, bytes]) -> str:
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    for name, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        rows.writerow((name, f"sha256={digest}", len(data)))
    return text.getvalue()
