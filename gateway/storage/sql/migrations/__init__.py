"""The schema's history. Revisions are four digits, one after another."""

from pathlib import Path
from typing import Final

_REVISION: Final = "revision_"
_FILES: Final = Path(__file__).with_name("versions").glob(f"{_REVISION}*.py")
HEAD: Final = max(file.stem.removeprefix(_REVISION) for file in _FILES)
"""The schema this version of the program works with: the newest revision."""
