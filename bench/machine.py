"""The machine and the versions under a measurement: figures mean nothing without them."""

import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bench.signing import signing_limit
from bench.workspace import ROOT

_PACKAGES = ("hypercorn", "uvloop", "starlette", "cryptography", "PyJWT", "SQLAlchemy", "orjson")


def describe() -> dict[str, Any]:
    """Return the machine, the programs and the commit."""
    return {
        "measured_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": _said("git", "-C", str(ROOT), "describe", "--always", "--dirty"),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "kernel": platform.release(),
        "system": _system(),
        "python": f"{platform.python_version()} ({Path(os.path.realpath('/proc/self/exe'))})",
        "nginx": _said("nginx", "-v").rpartition("/")[2],
        "openssl": _said("openssl", "version"),
        "node": _said("node", "--version"),
        "packages": {name: version(name) for name in _PACKAGES},
        "load_average_before": round(os.getloadavg()[0], 2),
        "lone_share": lone_share(),
    }


def lone_share() -> float:
    """Return how much of the server's core a lone process gets: 1 on a machine left alone."""
    return round(min(1.0, signing_limit("RS256", 3).share), 3)


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor()


def _system() -> str:
    return platform.freedesktop_os_release().get("PRETTY_NAME", platform.system())


def _said(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=10)
    except FileNotFoundError:
        return "not installed"
    return (done.stdout or done.stderr).strip()
