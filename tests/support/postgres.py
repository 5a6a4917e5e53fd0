"""A real PostgreSQL server for the tests: its own cluster, a unix socket, nothing shared."""

import asyncio
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import asyncpg  # type: ignore[import-untyped] # asyncpg ships no types
import pytest

from gateway.domain.secrets import Secret
from tests.support.servers import running

_OWNER = "realmgate"
_DEADLINE = 30.0
_OPTIONS = {
    "listen_addresses": "",
    "fsync": "off",
    "full_page_writes": "off",
    "shared_buffers": "16MB",
    "max_connections": "40",
    "log_min_messages": "fatal",
}


def _binary(name: str) -> str:
    """Find a server binary; Debian keeps them outside of PATH."""
    versions = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), reverse=True)
    found = shutil.which(name) or (str(versions[0]) if versions else None)
    if found is None:
        pytest.fail(f"{name} is not installed: apt-get install postgresql", pytrace=False)
    return found


def _account() -> str | None:
    """Name the account that runs the server, for it refuses to run as root."""
    if os.geteuid() != 0:
        return None
    known = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in known else "nobody"


class PostgresServer:
    """One cluster in a folder of its own."""

    def __init__(self) -> None:
        # Not below pytest's folder, which belongs to root alone.
        self._folder = Path(tempfile.mkdtemp(prefix="rg-pg-", dir="/tmp"))
        self._account = _account()
        if self._account is not None:
            shutil.chown(self._folder, self._account)
        self._process: subprocess.Popen[bytes] | None = None
        self._run("initdb", "-D", self._data, "-U", _OWNER, "-A", "trust", "-N", "-E", "UTF8")

    @property
    def _data(self) -> str:
        return str(self._folder / "data")

    def _run(self, name: str, *arguments: str) -> None:
        subprocess.run(
            [_binary(name), *arguments],
            user=self._account,
            cwd=self._folder,
            env={"PATH": os.environ["PATH"], "LC_ALL": "C"},
            check=True,
            stdout=subprocess.DEVNULL,
        )

    def start(self) -> None:
        """Start the server, unless it runs, and wait until it answers."""
        if self._process is not None:
            return
        options = [part for name, value in _OPTIONS.items() for part in ("-c", f"{name}={value}")]
        self._process = subprocess.Popen(
            [_binary("postgres"), "-D", self._data, "-k", str(self._folder), *options],
            user=self._account,
            cwd=self._folder,
            env={"PATH": os.environ["PATH"], "LC_ALL": "C"},
            stdout=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + _DEADLINE
        while not self._answers():
            if time.monotonic() > deadline or self._process.poll() is not None:
                pytest.fail("PostgreSQL did not start", pytrace=False)
            time.sleep(0.02)

    def _answers(self) -> bool:
        try:
            self.execute("SELECT 1")
        except (OSError, asyncpg.PostgresError):
            return False
        return True

    def stop(self) -> None:
        """End the server as a crash would, every connection cut."""
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait(_DEADLINE)
            self._process = None

    def processes(self) -> list[int]:
        """Return the process ids of the server, the one that listens first."""
        assert self._process is not None
        listener = self._process.pid
        children = Path(f"/proc/{listener}/task/{listener}/children").read_text().split()
        return [listener, *map(int, children)]

    def remove(self) -> None:
        """Stop and delete the cluster."""
        self.stop()
        shutil.rmtree(self._folder)

    def url(self, database: str) -> Secret:
        """Return the URL of a database."""
        return Secret(f"postgresql://{_OWNER}@/{database}?host={self._folder}")

    def create_database(self) -> str:
        """Create an empty database; return its name."""
        name = f"test_{uuid4().hex}"
        self.execute(f"CREATE DATABASE {name}")
        return name

    def execute(self, statement: str, database: str = "postgres") -> None:
        """Execute one statement as the owner."""
        asyncio.run(self._execute(statement, database))

    def dump(self, database: str) -> str:
        """Return everything in the database as SQL text."""
        return subprocess.run(
            [_binary("pg_dump"), "-h", str(self._folder), "-U", _OWNER, database],
            check=True,
            capture_output=True,
            text=True,
        ).stdout

    async def _execute(self, statement: str, database: str) -> None:
        connection = await asyncpg.connect(self.url(database).reveal(), timeout=_DEADLINE)
        try:
            await connection.execute(statement)
        finally:
            await connection.close()


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """Run one PostgreSQL server for the whole session."""
    with running(PostgresServer()) as server:
        yield server


@pytest.fixture(scope="session")
def _unreliable_postgres() -> Iterator[PostgresServer]:
    with running(PostgresServer()) as server:
        yield server


@pytest.fixture
def own_postgres(_unreliable_postgres: PostgresServer) -> PostgresServer:
    """Return a running server that no other test uses meanwhile, so this one may stop it."""
    _unreliable_postgres.start()
    return _unreliable_postgres
