"""A PostgreSQL server for one measurement: its own cluster, a unix socket, nothing shared."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.processes import BenchError, running, until

_OWNER = "realmgate"
_OPTIONS = {
    "listen_addresses": "",
    # What is measured is read, or is a size: nobody waits for a disk.
    "fsync": "off",
    "max_wal_size": "8GB",
    "log_min_messages": "error",
}


@dataclass(frozen=True, slots=True)
class Postgres:
    """A running server."""

    folder: Path

    def url(self, database: str) -> str:
        """Return the URL of a database."""
        return f"postgresql://{_OWNER}@/{database}?host={self.folder}"


@contextmanager
def postgres(cores: str) -> Iterator[Postgres]:
    """Run a server with the database `realmgate` until the block ends."""
    account = _account()
    # Not in the folder of the run, which belongs to root alone.
    with tempfile.TemporaryDirectory(prefix="realmgate-postgres-") as name:
        folder = Path(name)
        if account is not None:
            shutil.chown(folder, account)
        _run(
            account, folder, "initdb", "-D", "data", "-U", _OWNER, "-A", "trust", "-N", "-E", "UTF8"
        )
        log = folder / "log"
        log.touch()
        command: list[str | Path] = [
            *_as(account),
            _binary("postgres"),
            "-D",
            folder / "data",
            "-k",
            folder,
        ]
        command += [part for item in _OPTIONS.items() for part in ("-c", "=".join(item))]
        with running(command, cores=cores, log=log, environment=_ENVIRONMENT, cwd=folder) as server:
            ready = ["pg_isready", "-q", "-h", str(folder), "-U", _OWNER]
            until(lambda: _succeeds(*ready), "PostgreSQL", server, log)
            _run(account, folder, "createdb", "-h", str(folder), "-U", _OWNER, "realmgate")
            yield Postgres(folder)


_ENVIRONMENT = {"PATH": os.environ["PATH"], "LC_ALL": "C"}


def _account() -> str | None:
    """Name the account that runs the server, for it refuses to run as root."""
    if os.geteuid() != 0:
        return None
    known = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in known else "nobody"


def _as(account: str | None) -> list[str]:
    return [] if account is None else ["setpriv", f"--reuid={account}", "--clear-groups"]


def _binary(name: str) -> str:
    """Find a program of the server; Debian keeps them outside of PATH."""
    versions = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), reverse=True)
    found = shutil.which(name) or (str(versions[0]) if versions else None)
    if found is None:
        raise BenchError(f"{name} is not installed: apt-get install postgresql")
    return found


def _run(account: str | None, folder: Path, name: str, *arguments: str) -> None:
    command = [*_as(account), _binary(name), *arguments]
    done = subprocess.run(
        command, cwd=folder, env=_ENVIRONMENT, check=False, capture_output=True, text=True
    )
    if done.returncode:
        raise BenchError(f"{name} failed: {done.stderr[-800:]}")


def _succeeds(name: str, *arguments: str) -> bool:
    return not subprocess.run([_binary(name), *arguments], check=False).returncode
