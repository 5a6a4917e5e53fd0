"""The sockets of the gateway, protected from other users of the machine.

A process that can connect to the unix socket is trusted as the proxy, so its directory must be
closed to others and the socket itself is 0660; a user who can write into a directory above could
replace the socket. A socket left by a dead process is replaced, one in use never.
Source: attacks A1; RFC 8705 §6.5
"""

import ctypes
import errno
import fcntl
import os
import socket
import stat
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gateway.domain.errors import RealmgateError
from gateway.settings import TcpAddress, UnixAddress

BACKLOG = 2048
_SOCKET_UMASK = 0o117
_TRUSTED_DIRECTORY_MODE = 0o700
_SO_ATTACH_FILTER = 26
_DROP_NEW_CONNECTIONS = struct.pack(
    "=" + "HBBI" * 4,
    *(0x30, 0, 0, 13),  # load the flags of the TCP header
    *(0x45, 0, 1, 0x02),  # is it the SYN that opens a connection?
    *(0x06, 0, 0, 0),  # then drop the packet
    *(0x06, 0, 0, 0xFFFFFFFF),  # else keep it whole
)
"""A program of the kernel's packet filter: code, jumps if true and if false, operand."""


class ListenerRefused(RealmgateError):
    """A listener cannot be opened, or would not be safe; `str()` says why and what to do."""


def make_directory(path: Path) -> None:
    """Make a directory that only its owner may enter; one that exists is left as it is."""
    path.mkdir(mode=_TRUSTED_DIRECTORY_MODE, parents=True, exist_ok=True)


def open_listener(address: UnixAddress | TcpAddress) -> socket.socket:
    """Bind and listen, so that connections wait for the first worker. Raises ListenerRefused."""
    if isinstance(address, TcpAddress):
        return _open_tcp(address)
    make_directory(address.path.parent)
    check_directory(address.path.parent)
    with _alone_in(address.path.parent):
        _remove_stale(address.path)
        return _open_unix(address.path)


def refuse_connections(listener: socket.socket) -> None:
    """Let no further connection into the queue of a listener, in all processes that have it.

    The connections in the queue can still be accepted. A unix socket refuses others at once. TCP
    knows no such state: the packets that open connections are dropped, and their repetitions are
    refused once the socket is closed. Source: unix(7), socket(7) SO_ATTACH_FILTER
    """
    if listener.family == socket.AF_UNIX:
        listener.shutdown(socket.SHUT_RD)
        return
    program = ctypes.create_string_buffer(_DROP_NEW_CONNECTIONS)
    pointed = struct.pack("@HP", 4, ctypes.addressof(program))
    listener.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, pointed)


def close_listener(listener: socket.socket) -> None:
    """Stop listening; a unix socket's file goes too."""
    name = listener.getsockname()
    listener.close()
    if isinstance(name, str):
        Path(name).unlink(missing_ok=True)


def check_directory(directory: Path, owner: int | None = None) -> None:
    """Refuse a directory in which others than `owner` (uid, ours) could replace a socket."""
    owners = {0, os.geteuid() if owner is None else owner}
    status = directory.stat()
    if status.st_mode & stat.S_IRWXO:
        raise ListenerRefused(
            f"{directory} is open to everybody (mode {stat.S_IMODE(status.st_mode):04o}), and a"
            f" process that reaches the socket is trusted as the proxy: chmod o-rwx {directory}"
        )
    if status.st_uid not in owners:
        raise ListenerRefused(f"{directory} belongs to another user (uid {status.st_uid})")
    for parent in directory.resolve().parents:
        _check_parent(parent, owners)


def _check_parent(parent: Path, owners: set[int]) -> None:
    """Refuse a directory in which others could put another one in the place of ours."""
    status = parent.stat()
    if status.st_uid not in owners:
        raise ListenerRefused(
            f"{parent} belongs to another user (uid {status.st_uid}), who could replace the socket"
            " below it"
        )
    shared = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    if shared and not status.st_mode & stat.S_ISVTX:
        raise ListenerRefused(
            f"{parent} may be written by others, so the socket below it could be replaced:"
            f" chmod go-w {parent}"
        )


@contextmanager
def _alone_in(directory: Path) -> Iterator[None]:
    """Let one starting process at a time look for a socket and make its own."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _remove_stale(path: Path) -> None:
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise ListenerRefused(f"{path} exists and is not a socket")
    with socket.socket(socket.AF_UNIX) as probe:
        probe.setblocking(False)
        if probe.connect_ex(str(path)) != errno.ECONNREFUSED:
            raise ListenerRefused(f"{path} is in use by another process")
    path.unlink()


def _open_unix(path: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX)
    before = os.umask(_SOCKET_UMASK)
    try:
        listener.bind(str(path))
    except OSError as failure:
        listener.close()
        raise ListenerRefused(f"cannot listen on {path}: {failure.strerror}") from failure
    finally:
        os.umask(before)
    listener.listen(BACKLOG)
    return listener


def _open_tcp(address: TcpAddress) -> socket.socket:
    try:
        (family, kind, protocol, _, name), *_ = socket.getaddrinfo(
            address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        listener = socket.socket(family, kind, protocol)
    except OSError as failure:
        raise ListenerRefused(f"cannot listen on {address}: {failure.strerror}") from failure
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        listener.bind(name)
        listener.listen(BACKLOG)
    except OSError as failure:
        listener.close()
        raise ListenerRefused(f"cannot listen on {address}: {failure.strerror}") from failure
    return listener
