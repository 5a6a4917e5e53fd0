"""What every worker is given, in a module that loads nothing of the program."""

import socket
from dataclasses import dataclass
from pathlib import Path

from gateway.settings import Settings


@dataclass(frozen=True, slots=True)
class WorkerPlan:
    """What every worker is given: settings, sockets, and where counters stand."""

    settings: Settings
    public: socket.socket
    management: socket.socket
    metrics_directory: Path
