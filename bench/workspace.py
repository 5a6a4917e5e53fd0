"""Where a run keeps its files, how long it measures, and the free ports it takes."""

import socket
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BENCH = ROOT / "bench"


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is measured. Durations are in seconds."""

    rounds: int
    seconds: int
    """One measurement of a closed loop."""
    warm_seconds: int
    """Before the first one, so that nobody is measured cold."""
    age_seconds: int
    """As long as an entry lives in the gateway's cache."""
    open_loop_seconds: float
    growth_seconds: float
    growth_requests: int
    """Memory is watched until so many requests were answered, or so many seconds have passed."""
    starts: int
    clients: int
    realms: int
    sessions: int
    users: int
    imported_users: int
    events: int
    mails: int
    mail_seconds: float
    """The longest time for which the queue is watched while it is sent."""
    timed_logins: int
    """Of each kind of refusal."""
    configured_users: int
    """That a configuration tool imports, and a tenth as many clients."""
    hostile_requests: int
    """In which the memory of a worker may hardly grow."""
    hostile_bytes: int
    """Of one document, where its endpoint takes as many."""


DEFAULT = Plan(
    rounds=4,
    seconds=3,
    warm_seconds=3,
    age_seconds=60,
    open_loop_seconds=20.0,
    growth_seconds=90.0,
    growth_requests=1_000_000,
    starts=5,
    clients=100_000,
    realms=1_000,
    sessions=1_000_000,
    users=1_000_000,
    imported_users=100_000,
    events=1_000_000,
    mails=100_000,
    mail_seconds=120.0,
    timed_logins=2_000,
    configured_users=1_000,
    hostile_requests=100_000,
    hostile_bytes=32 * 1024 * 1024,
)
QUICK = Plan(
    rounds=2,
    seconds=1,
    warm_seconds=1,
    age_seconds=2,
    open_loop_seconds=4.0,
    growth_seconds=5.0,
    growth_requests=1_000_000,
    starts=3,
    clients=100_000,
    realms=100,
    sessions=100_000,
    users=100_000,
    imported_users=20_000,
    events=300_000,
    mails=2_000,
    mail_seconds=60.0,
    timed_logins=400,
    configured_users=100,
    hostile_requests=5_000,
    hostile_bytes=1024 * 1024,
)
FULL = Plan(
    rounds=6,
    seconds=5,
    warm_seconds=5,
    age_seconds=120,
    open_loop_seconds=30.0,
    growth_seconds=1_500.0,
    growth_requests=1_000_000,
    starts=9,
    clients=100_000,
    realms=1_000,
    sessions=1_000_000,
    users=1_000_000,
    imported_users=100_000,
    events=10_000_000,
    mails=100_000,
    mail_seconds=3_600.0,
    timed_logins=2_000,
    configured_users=1_000,
    hostile_requests=100_000,
    hostile_bytes=32 * 1024 * 1024,
)


@dataclass(frozen=True, slots=True)
class Workspace:
    """The folder of one run, and its plan."""

    folder: Path
    plan: Plan

    def new_folder(self, name: str) -> Path:
        """Make a folder."""
        folder = self.folder / name
        folder.mkdir(mode=0o700)
        return folder


def free_port() -> int:
    """Return a TCP port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
