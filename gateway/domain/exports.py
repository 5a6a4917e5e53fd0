"""Names that a package exports, each loaded with its first use.

`from gateway.admin.users import UserListing` then loads the module of that class alone. A command
needs few modules of a capability, and all of them would take most of its time. The package has its
imports once, in `if TYPE_CHECKING:`, where type checkers and people read them.
Source: PEP 562
"""

import ast
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any


def load_exports(package: str, file: str) -> Callable[[str], Any]:
    """Return `__getattr__` of a package whose source is `file`."""

    def load(name: str) -> Any:
        module = _exporting_modules(file).get(name)
        if module is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = getattr(import_module(module), name)
        setattr(sys.modules[package], name, found)
        return found

    return load


@cache
def _exporting_modules(file: str) -> dict[str, str]:
    """Return the module of each exported name."""
    return {
        alias.name: imported.module or ""
        for block in ast.parse(Path(file).read_text(encoding="utf-8")).body
        if isinstance(block, ast.If)
        for imported in block.body
        if isinstance(imported, ast.ImportFrom)
        for alias in imported.names
    }
