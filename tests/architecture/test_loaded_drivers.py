"""A process loads what it uses: one driver and its dialect. Source: docs/performance.md, memory."""

import subprocess
import sys


def _loads(imports: str, *packages: str) -> bool:
    code = f"import sys, {imports}; sys.exit(bool({set(packages)} & set(sys.modules)))"
    return subprocess.run([sys.executable, "-c", code], check=False).returncode != 0


def test_a_worker_on_sqlite_loads_neither_driver_nor_dialect_of_postgresql() -> None:
    assert not _loads("gateway.supervisor.worker", "asyncpg", "sqlalchemy.dialects.postgresql")


def test_the_supervisor_loads_nothing_that_only_a_worker_needs() -> None:
    supervisor = "gateway.cli.start, gateway.settings, gateway.supervisor.gateway"
    of_workers = ("sqlalchemy", "starlette", "redis", "cryptography", "jinja2", "pydantic")
    assert not _loads(supervisor, *of_workers)


def test_a_worker_loads_what_verifies_keys_with_the_first_key() -> None:
    assert not _loads("gateway.supervisor.worker", "fido2")
