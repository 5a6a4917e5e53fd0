"""Runs each task of Ansible in a fork of a process that has imported its libraries.

Ansible starts an interpreter per task, which spends most of its time on the same imports.
Arguments: a folder with the package `ansible` as Ansible sends it, and the socket to listen on.
`task_client.py` takes the place of the interpreter.
"""

import gc
import os
import signal
import socket
import sys
import traceback
from importlib import import_module
from types import ModuleType
from typing import NoReturn

_LIBRARIES = (
    "ansible.module_utils.basic",
    "ansible.module_utils.urls",
    "ansible.module_utils._internal._ansiballz._loader",
)
_LARGEST_ENVIRONMENT = 65_536


def _serve(path: str) -> NoReturn:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(16)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    gc.freeze()
    sys.stdout.write("listening\n")
    sys.stdout.flush()
    while True:
        connection, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            _run_task(connection)
        connection.close()


def _run_task(connection: socket.socket) -> NoReturn:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    message, streams, _, _ = socket.recv_fds(connection, _LARGEST_ENVIRONMENT, 3)
    for standard, stream in enumerate(streams):
        os.dup2(stream, standard)
        os.close(stream)
    folder, *variables = message.split(b"\0")
    os.chdir(folder)
    os.environ.clear()
    for variable in variables:
        name, _, value = variable.partition(b"=")
        os.environb[name] = value
    sys.argv = [""]
    sys.modules["__main__"] = main = ModuleType("__main__")
    code = 0
    try:
        exec(compile(sys.stdin.buffer.read(), "<stdin>", "exec"), main.__dict__)  # noqa: S102 - Ansible's program
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # noqa: BLE001 - as an interpreter ends
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    connection.send(bytes([code]))
    os._exit(code)


if __name__ == "__main__":
    sys.path.insert(0, sys.argv[1])
    for library in _LIBRARIES:
        import_module(library)
    _serve(sys.argv[2])
