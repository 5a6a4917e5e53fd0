"""TCP ports for programs that the tests start.

They are taken from below those that the system gives to outgoing connections: such a connection
of any other program could have the port by the moment it is listened on.
"""

import random
import socket

ADDRESS = "127.0.0.1"
_FIRST, _BEYOND = 15_000, 32_000
_ANY = random.SystemRandom()


def free_port() -> int:
    """Return a port that nobody listened on a moment ago."""
    return free_ports(1)[0]


def free_ports(count: int) -> list[int]:
    """Return so many of them, each another."""
    found: list[int] = []
    while len(found) < count:
        port = _ANY.randrange(_FIRST, _BEYOND)
        if port not in found and _is_free(port):
            found.append(port)
    return found


def is_listening(port: int) -> bool:
    """Tell whether a program accepts connections on the port."""
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex((ADDRESS, port)) == 0


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind((ADDRESS, port))
        except OSError:
            return False
    return True
