"""A process loads what it uses: one driver and its dialect. docs/performance-analysis.md."""

import subprocess
import sys
from functools import cache

import pytest


@cache
def _loaded(imports: str) -> frozenset[str]:
    code = f"import sys, {imports}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return frozenset(done.stdout.split())


@pytest.mark.parametrize(
    "packages",
    [
        pytest.param({"asyncpg", "sqlalchemy.dialects.postgresql"}, id="postgresql"),
        pytest.param({"alembic"}, id="a migration"),
        pytest.param({"fido2"}, id="the first key"),
        pytest.param({"joserfc"}, id="the first encrypted token"),
        pytest.param({"aiosmtplib", "gateway.mail"}, id="the first mail"),
        pytest.param({"segno"}, id="the first qr code"),
        pytest.param({"babel"}, id="the first date"),
    ],
)
def test_a_worker_on_sqlite_loads_with_its_first_use(packages: set[str]) -> None:
    assert not packages & _loaded("gateway.supervisor.worker")


def test_the_supervisor_loads_nothing_that_only_a_worker_needs() -> None:
    supervisor = "gateway.cli.installation, gateway.settings, gateway.supervisor.gateway"
    of_workers = {"sqlalchemy", "starlette", "redis", "cryptography", "jinja2", "pydantic"}
    of_realms = {"gateway.domain.realm", "gateway.domain.users", "gateway.domain.mail"}
    assert not (of_workers | of_realms) & _loaded(supervisor)
