"""The list of overrides of Hypercorn and h11 is complete and fits the installed versions."""

import inspect
from importlib.metadata import version
from pkgutil import resolve_name
from types import ModuleType
from typing import Any

import h11
import pytest
from hypercorn.asyncio.tcp_server import TCPServer
from hypercorn.asyncio.worker_context import EventWrapper
from hypercorn.protocol import ProtocolWrapper
from hypercorn.protocol.h11 import H11Protocol

from gateway.supervisor.server import CHECKED_VERSIONS, OVERRIDES, connections, http11

LIBRARIES = tuple(CHECKED_VERSIONS)
ATTRIBUTES: dict[str, type] = {
    kind.__name__: kind
    for kind in (TCPServer, ProtocolWrapper, H11Protocol, h11.Connection, EventWrapper)
}
"""Classes whose constructor sets attributes that the class itself does not name."""


def library_bases(kind: type) -> list[type]:
    """Return the classes of Hypercorn and h11 that `kind` derives from."""
    return [base for base in kind.__mro__ if base.__module__.split(".")[0] in LIBRARIES]


def overridden(module: ModuleType) -> set[str]:
    """Return the dotted names of what the classes of `module` replace in their library bases."""
    return {
        f"{base.__module__}.{base.__qualname__}.{name}"
        for _, kind in inspect.getmembers(module, inspect.isclass)
        if kind.__module__ == module.__name__
        for base in library_bases(kind)
        for name, value in vars(kind).items()
        if name in vars(base) and (inspect.isfunction(value) or isinstance(value, property))
    }


@pytest.mark.parametrize("library", CHECKED_VERSIONS)
def test_the_overrides_match_the_installed_version(library: str) -> None:
    assert version(library) == CHECKED_VERSIONS[library], (
        "check gateway/supervisor/server/__init__.py against the installed version"
    )


@pytest.mark.parametrize("dotted", OVERRIDES)
def test_the_library_still_has_what_is_replaced(dotted: str) -> None:
    owner_name, _, name = dotted.rpartition(".")
    owner: Any = resolve_name(owner_name)
    if not hasattr(owner, name):
        assert f"self.{name}" in inspect.getsource(ATTRIBUTES[owner.__name__])


@pytest.mark.parametrize("module", [connections, http11])
def test_every_override_is_listed(module: ModuleType) -> None:
    found = overridden(module)
    assert found
    assert found - OVERRIDES.keys() == set()
