"""A command loads what it uses. Source: docs/performance.md, start.

Modules are counted, not seconds: the rule is the same on every machine. `scripts/bench start`
measures the time.
"""

import ast
import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from gateway.bootstrap.services import Services
from gateway.cli import main

ROOT = Path(__file__).resolve().parents[2]
NEVER = (
    *("alembic", "asyncpg", "babel", "fido2", "hypercorn", "jinja2", "joserfc", "opentelemetry"),
    *("prometheus_client", "rich", "segno", "starlette", "structlog", "uvloop"),
    *("gateway.accounts", "gateway.bootstrap.applications", "gateway.forward_auth"),
    *("gateway.http.admin", "gateway.http.pages", "gateway.mail", "gateway.protocol"),
    *("gateway.admin.realm_files", "gateway.admin.registration", "gateway.supervisor"),
)
"""What no ordinary command needs."""
FEWEST = (*NEVER, "redis", "gateway.client_policies.executors")
"""What no list needs that reads the database alone."""
COMMANDS = {
    ("--help",): (*FEWEST, "sqlalchemy", "gateway.settings", "gateway.domain.realm"),
    ("certs", "--help"): (*FEWEST, "sqlalchemy"),
    ("settings", "show"): (*FEWEST, "sqlalchemy"),
    ("user", "list", "--realm", "demo"): FEWEST,
    ("realm", "list"): (*NEVER, "redis"),
    ("certs", "deny", "list", "--realm", "demo"): (*NEVER, "redis"),
    ("certs", "expiring", "--realm", "demo"): FEWEST,
    ("guard", "list", "--realm", "demo"): FEWEST,
    ("keys", "list", "--realm", "demo"): FEWEST,
}
_RUN = """
import atexit, sys
atexit.register(lambda: print(*sys.modules, file=sys.stderr))
from gateway.cli import main
main(sys.argv[1:], prog_name="realmgate")
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the environment of an installation with the realm `demo`."""
    folder = tmp_path_factory.mktemp("commands")
    file = folder / "demo.json"
    file.write_text('{"realm": "demo", "enabled": true, "defaultSignatureAlgorithm": "ES256"}')
    own = {"REALMGATE_STATE_DIR": str(folder / "state")}
    assert CliRunner(env=own).invoke(main, ["realm", "import", str(file)]).exit_code == 0
    return {**os.environ, **own}


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_a_command_loads_only_what_it_needs(
    arguments: tuple[str, ...], environment: dict[str, str]
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _RUN, *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = done.stderr.splitlines()[-1].split()
    refused = COMMANDS[arguments]
    unneeded = [name for name in loaded if name.startswith(tuple(f"{each}." for each in refused))]
    assert sorted({*unneeded, *set(loaded) & set(refused)}) == []


def test_a_worker_loads_its_services_before_it_is_forked() -> None:
    """What is loaded later is collected, and copied for each worker."""
    modules = {
        alias
        for member in ast.walk(_class("gateway/bootstrap/services.py", Services.__name__))
        if isinstance(member, ast.ImportFrom)
        for alias in (member.module or "",)
    }
    code = (
        "import sys, gateway.supervisor.worker; from gateway.bootstrap.services import"
        " import_adapters; import_adapters(); print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert modules - set(done.stdout.split()) == set()


def _class(module: str, name: str) -> ast.ClassDef:
    tree = ast.parse((ROOT / module).read_text(encoding="utf-8"))
    (found,) = (each for each in tree.body if isinstance(each, ast.ClassDef) and each.name == name)
    return found


def _packages_with_exports() -> list[str]:
    return [
        ".".join(file.relative_to(ROOT).parts[:-1])
        for file in sorted((ROOT / "gateway").rglob("__init__.py"))
        if "load_exports(" in file.read_text(encoding="utf-8")
    ]


def test_every_exported_name_is_loaded_when_it_is_used() -> None:
    packages = _packages_with_exports()
    assert "gateway.admin.users" in packages
    for package in packages:
        file = ROOT / package.replace(".", "/") / "__init__.py"
        loaded = importlib.import_module(package)
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("gateway."):
                for alias in node.names:
                    assert getattr(loaded, alias.name) is not None
        with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
            _ = loaded.nothing
