"""The bars that every module of the program keeps. Source: the plan in docs/architecture.md."""

import ast
import re
import statistics
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import chain
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MOST_MODULES, MOST_LINES = 600, 127_900
LONGEST_MODULE, SHORTEST_MEDIAN = 600, 120
SMALL_MODULE, MOST_SMALL_MODULES = 40, 60
"""Of `gateway/`: a module is a concept that is looked up, neither a line nor a book."""
MEDIAN_FUNCTION, MOST_FUNCTIONS = 10, 40
LARGEST_FOLDER = 40
ENVIRONMENT = {"environ", "environb", "getenv", "getenvb", "putenv", "unsetenv"}
READS_ENVIRONMENT = {"gateway/settings/sources.py"}
CATCHES_EVERYTHING = {"gateway/http/errors.py", "gateway/listeners.py"}
VAGUE = {"base", "common", "helper", "helpers", "manager", "misc", "util", "utils"}
TOP_LEVEL = {
    "CHANGELOG.md",
    "Dockerfile",
    "LICENSE",
    "README.md",
    "SECURITY.md",
    "bench",
    "certs",
    "docker-compose.yml",
    "docs",
    "gateway",
    "mkdocs.yml",
    "nginx",
    "proxies",
    "pyproject.toml",
    "requirements-clients.lock",
    "requirements-dev.lock",
    "requirements-docs.lock",
    "requirements.lock",
    "scripts",
    "tests",
    "var",
}
MODULES = sorted(
    str(path.relative_to(ROOT))
    for path in chain((ROOT / "gateway").rglob("*.py"), (ROOT / "scripts").rglob("*.py"))
)


@cache
def tree(module: str) -> ast.Module:
    """Parse a module."""
    return ast.parse((ROOT / module).read_text(encoding="utf-8"))


def lines(module: str) -> int:
    """Count a module's lines."""
    return len((ROOT / module).read_text(encoding="utf-8").splitlines())


def functions() -> Iterator[int]:
    """Yield the length of every function, its docstring not counted."""
    for module in MODULES:
        for node in ast.walk(tree(module)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                body = node.body[1:] if ast.get_docstring(node) else node.body
                if body:
                    yield (body[-1].end_lineno or 0) - body[0].lineno + 1


def test_every_module_tells_which_rule_it_owns() -> None:
    assert [module for module in MODULES if not ast.get_docstring(tree(module))] == []


def test_whatever_a_module_cites_can_be_looked_up() -> None:
    texts = {
        module: " ".join((ast.get_docstring(tree(module)) or "").split()) for module in MODULES
    }
    assert [module for module, text in texts.items() if re.search(r"RFC(?! \d{4})", text)] == []
    without_a_place = [
        (module, standard)
        for module, text in texts.items()
        for standard in re.findall(r"\bSpec: ([^;]*)", text)
        if not re.search(r"\d|https://", standard)
    ]
    assert without_a_place == []


def test_the_top_level_holds_only_what_a_newcomer_expects() -> None:
    names = {path.name for path in ROOT.iterdir()}
    built = {name for name in names if name.startswith(".") or name.endswith(".egg-info")}
    assert names - built - TOP_LEVEL == set()


def test_every_module_is_named_for_what_it_holds() -> None:
    named = {module: VAGUE.intersection(Path(module).with_suffix("").parts) for module in MODULES}
    assert {module: vague for module, vague in named.items() if vague} == {}


def test_no_module_is_longer_than_can_be_read_at_a_sitting() -> None:
    assert {module: lines(module) for module in MODULES if lines(module) > LONGEST_MODULE} == {}


def test_rooms_are_few_and_large() -> None:
    """A file of six lines costs a reader the same click as an algorithm."""
    lengths = [lines(module) for module in MODULES if module.startswith("gateway/")]
    assert len(lengths) <= MOST_MODULES
    assert sum(lengths) <= MOST_LINES
    assert statistics.median(lengths) >= SHORTEST_MEDIAN
    assert sum(length <= SMALL_MODULE for length in lengths) <= MOST_SMALL_MODULES


def test_no_folder_is_larger_than_can_be_seen_at_once() -> None:
    folders = Counter(
        str(Path(module).parent) for module in MODULES if Path(module).name != "__init__.py"
    )
    assert {folder for folder, modules in folders.items() if modules > LARGEST_FOLDER} == set()


def test_functions_are_short() -> None:
    lengths = sorted(functions())
    assert statistics.median(lengths) <= MEDIAN_FUNCTION
    assert statistics.quantiles(lengths, n=20)[-1] <= MOST_FUNCTIONS


def test_the_package_names_no_test() -> None:
    """Rows that name tests are documents: docs/setting-effects.toml, docs/realm-settings.toml."""
    naming = re.compile(r"tests/\w+/|\btest_\w+\.py|::test_\w+")
    shipped = [path for path in (ROOT / "gateway").rglob("*") if path.is_file()]
    texts = {path: path.read_bytes().decode("utf-8", "ignore") for path in shipped}
    naming_tests = [path for path, text in texts.items() if naming.search(text)]
    assert [path for path in naming_tests if path.suffix != ".pyc"] == []


def test_one_module_reads_the_environment() -> None:
    readers = {
        module for module in MODULES for node in ast.walk(tree(module)) if _reads_environment(node)
    }
    assert readers == READS_ENVIRONMENT


def _reads_environment(node: ast.AST) -> bool:
    match node:
        case ast.Attribute(value=ast.Name(id="os"), attr=name):
            return name in ENVIRONMENT
        case ast.ImportFrom(module="os", names=names):
            return any(alias.name in ENVIRONMENT for alias in names)
        case _:
            return False


def test_only_the_boundaries_catch_everything() -> None:
    catchers = {
        module for module in MODULES for node in ast.walk(tree(module)) if _catches_everything(node)
    }
    assert catchers - CATCHES_EVERYTHING == set()
    assert "gateway/http/errors.py" in catchers


def _catches_everything(node: ast.AST) -> bool:
    """Tell whether it catches all there is, also where it raises it again: `finally` undoes."""
    match node:
        case ast.ExceptHandler(type=ast.Tuple(elts=kinds)):
            caught: list[ast.expr | None] = [*kinds]
        case ast.ExceptHandler(type=kind):
            caught = [kind]
        case ast.Call(func=ast.Name(id="suppress") | ast.Attribute(attr="suppress"), args=kinds):
            caught = [*kinds]
        case _:
            return False
    return any(
        kind is None or (isinstance(kind, ast.Name) and kind.id in {"Exception", "BaseException"})
        for kind in caught
    )


@pytest.mark.parametrize(
    "code",
    [
        "try: pass\nexcept: pass",
        "try: pass\nexcept Exception: pass",
        "try: pass\nexcept (OSError, BaseException): pass",
        "try: pass\nexcept BaseException:\n    undo()\n    raise",
        "with suppress(Exception): pass",
        "with contextlib.suppress(OSError, Exception): pass",
    ],
)
def test_every_spelling_of_catching_everything_is_found(code: str) -> None:
    assert any(map(_catches_everything, ast.walk(ast.parse(code))))


@pytest.mark.parametrize("code", ["os.environ['A']", "from os import getenv", "os.getenv('A')"])
def test_every_spelling_of_reading_the_environment_is_found(code: str) -> None:
    assert any(map(_reads_environment, ast.walk(ast.parse(code))))
