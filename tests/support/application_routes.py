"""Every route of the public application."""

import asyncio
import re
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from starlette.routing import BaseRoute, Route, Router
from starlette.types import ASGIApp

from gateway.bootstrap import open_services
from gateway.bootstrap.applications import build_applications
from gateway.http.account_api import AccountEndpoint
from gateway.http.admin.routing import AdminUrls
from gateway.http.management import Lifecycle
from gateway.http.realm_endpoint import GuardedEndpoint
from gateway.http.registration import ROUTE as REGISTRATION
from gateway.settings import read_settings

_PLACEHOLDER: Final = re.compile(r"\{(\w+)(?::\w+)?\}")
_REGISTRATION_PATHS: Final = (
    *("default", "default/no-client", "openid-connect", "openid-connect/no-client"),
    *("install/no-client", "no-provider"),
)


@dataclass(frozen=True, slots=True)
class Served:
    """A path pattern and what serves it."""

    path: str
    endpoint: ASGIApp

    @property
    def guarded(self) -> GuardedEndpoint:
        """Return the endpoint; the architecture test asserts that each is one."""
        assert isinstance(self.endpoint, GuardedEndpoint), self.path
        return self.endpoint

    @property
    def headers(self) -> dict[str, str]:
        """Return what makes a request one to this route: pages of people have the same URLs."""
        is_json = isinstance(self.endpoint, AccountEndpoint)
        return {"Accept": "application/json"} if is_json else {}

    @property
    def is_of_a_realm(self) -> bool:
        """Tell whether the path names a realm."""
        return "{realm}" in self.path

    def urls(self, realm: str) -> list[str]:
        """Return URLs of the route; what is not the realm does not exist."""
        path = self.path.replace("{realm}", realm)
        if self.path == REGISTRATION:
            return [path.replace("{rest:path}", rest) for rest in _REGISTRATION_PATHS]
        return [_PLACEHOLDER.sub(r"no-\1", path)]


@cache
def served() -> tuple[Served, ...]:
    """Return every route; no database and no Redis is asked."""
    return asyncio.run(_read())


async def _read() -> tuple[Served, ...]:
    with tempfile.TemporaryDirectory() as folder:
        settings = read_settings(state_dir=Path(folder))
        async with open_services(settings) as services:
            applications = build_applications(settings, services, Lifecycle(), Path(folder))
            return tuple(_walk(_router(applications.public).routes))


def _router(application: ASGIApp) -> Router:
    """Return the router behind all layers."""
    while not isinstance(application, Router):
        application = application._app  # type: ignore[attr-defined]
    return application


def _walk(routes: Iterable[BaseRoute]) -> Iterator[Served]:
    for route in routes:
        match route:
            case Route():
                yield Served(route.path, route.endpoint)
            case AdminUrls():
                for path, endpoint in route.endpoints.items():
                    yield Served(path, endpoint)
            case _:
                raise AssertionError(f"routes of an unknown kind: {route}")
