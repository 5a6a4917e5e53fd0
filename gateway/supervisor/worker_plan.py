"""What every worker is given, in a module that loads nothing of the program."""

import socket
from dataclasses import dataclass
from pathlib import Path

from gateway.settings import Settings
from gateway.supervisor.servers import Server


@dataclass(frozen=True, slots=True)
class WorkerPlan:
    """What every worker is given: settings, sockets, the server, and where counters stand."""

    settings: Settings
    public: socket.socket
    management: socket.socket
    server: Server
    metrics_directory: Path
