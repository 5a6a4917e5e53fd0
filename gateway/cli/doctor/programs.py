"""Programs that the system has installed, and the configuration that its nginx reports."""

import os
import re
import shutil
import subprocess
from typing import Final

_SYSTEM_FOLDERS: Final = "/usr/local/sbin:/usr/sbin:/sbin"
"""Where Debian installs nginx: not in the PATH of users."""
_SECONDS: Final = 10
_EMERGENCY: Final = re.compile(r"\[emerg\] (?:\d+#\d+: )?(.*)")


class NginxUnreadable(Exception):
    """`nginx -T` gives no configuration; `str()` says why."""


def find_program(name: str) -> str | None:
    """Return the path of a program, None where it is not installed."""
    return shutil.which(name) or shutil.which(name, path=_SYSTEM_FOLDERS)


def installed_configuration() -> str:
    """Return the output of `nginx -T`; raises NginxUnreadable.

    nginx reads certificates and keys too, and creates log files that are missing. It gets nothing
    of the environment, which has the gateway's secrets. Source: https://nginx.org/en/docs/switches.html
    """
    binary = find_program("nginx")
    if binary is None:
        raise NginxUnreadable("nginx is not installed here")
    try:
        done = subprocess.run(
            [binary, "-T"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=_SECONDS,
            env={"PATH": os.defpath},
        )
    except (OSError, subprocess.TimeoutExpired) as failure:
        raise NginxUnreadable(f"nginx -T cannot be run: {failure}") from failure
    if done.returncode:
        raise NginxUnreadable(f"nginx -T failed: {_reason(done.stderr)}")
    return done.stdout.decode(errors="replace")


def _reason(errors: bytes) -> str:
    """Return nginx's reason, which is not always in the last line."""
    text = errors.decode(errors="replace")
    found = _EMERGENCY.search(text)
    return found[1] if found else (text.splitlines() or ["without a reason"])[-1]
