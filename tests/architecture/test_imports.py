"""A name is imported from the module that defines it, or from the package whose interface it is.

`implicit_reexport` lets a package list its interface once, as imports; modules must not use it.
"""

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def modules() -> dict[str, ast.Module]:
    """Every module under gateway/ that is no package, by its dotted name."""
    return {
        ".".join(path.relative_to(ROOT).with_suffix("").parts): ast.parse(path.read_text())
        for path in (ROOT / "gateway").rglob("*.py")
        if path.name != "__init__.py"
    }


def imported_names(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, str]]:
    """Yield module and name of what is imported from modules of the gateway."""
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("gateway"):
            yield from ((node.module or "", alias.name) for alias in node.names)


def test_a_module_does_not_pass_on_what_it_imports() -> None:
    known = modules()
    passed_on = {
        module: {name for _, name in imported_names(tree.body)} for module, tree in known.items()
    }
    importing = [
        path
        for folder in ("gateway", "tests", "bench", "scripts")
        for path in (ROOT / folder).rglob("*.py")
        if "node_modules" not in path.parts
    ]
    assert [
        f"{path.relative_to(ROOT)} imports {name} from {module}"
        for path in importing
        for module, name in imported_names(ast.walk(ast.parse(path.read_text())))
        if name in passed_on.get(module, ())
    ] == []
