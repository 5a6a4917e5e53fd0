"""Stands in for the interpreter of a task: passes its streams and environment to `task_server`.

Only built-in modules: this process starts for every task.
"""

import _socket
import posix

_INTEGER = 4
connection = _socket.socket(_socket.AF_UNIX)
connection.connect(posix.environ[b"ANSIBLE_TASK_SERVER"])
variables = (name + b"=" + value for name, value in posix.environ.items())
streams = b"".join(stream.to_bytes(_INTEGER, "little") for stream in (0, 1, 2))
connection.sendmsg(
    [b"\0".join((posix.getcwdb(), *variables))],
    [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)],
)
posix._exit((connection.recv(1) or b"\1")[0])
