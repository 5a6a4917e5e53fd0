"""Functions and files of the gateway that one request passes, by a profiler around the application.

The application is built in this process, over a database and a Redis of its own, and every thread
that it starts is profiled. A comprehension or generator expression is a part of its function:
which of them have code of their own depends on the version of Python (PEP 709).
"""

import io
import json
import logging
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Final
from urllib.parse import quote

import anyio.lowlevel
import anyio.to_thread
import httpx2
import structlog

import gateway
from gateway.bootstrap import open_services
from gateway.bootstrap.applications import build_applications
from gateway.bootstrap.services import Services
from gateway.domain.clock import SystemClock
from gateway.domain.secrets import Secret
from gateway.http.management import Lifecycle
from gateway.observability.logging import configure_logging
from gateway.settings import Settings, read_settings
from gateway.supervisor.preparation import prepare
from tests.support.administration import master
from tests.support.certificates import Zoo
from tests.support.sign_in_browser import CALLBACK, PUBLIC_URL, Page, web_client
from tests.support.wire import (
    CHEAP,
    DEVICE_SUBJECT,
    PASSWORD,
    SECRET,
    app,
    device,
    protocol,
    user,
)

_PACKAGE: Final = str(Path(gateway.__file__).parent)
_WARM: Final = 3
"""Requests before the counted ones: the first ones parse and fill caches."""
_COUNTED: Final = 3
"""Requests of which the one that passes least counts: on a busy machine a cache ages in between."""
_SETTLED: Final = 2.1
"""Seconds until files of authorities and revocation lists are no longer read at each look."""
_PARTS_OF_FUNCTIONS: Final = frozenset({"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"})
_UNIX_SOCKET: Final[Any] = None
"""The peer of a request on a unix socket."""
_HOST: Final = "app.example.test"
_RULES: Final = f"""
[[sites]]
name = "app"
hosts = ["{_HOST}"]
realms = ["profiled"]
client = "portal"
rules = [{{ name = "all", paths = ["/*"] }}]
"""
_PROXY: Final = {
    "X-Forwarded-For": "203.0.113.9",
    "X-Forwarded-Proto": "https",
    "X-Request-Id": "0123456789abcdef0123456789abcdef",
}


@dataclass(frozen=True, slots=True)
class Profile:
    """The functions that a request passed, in the order of their first calls."""

    functions: tuple[CodeType, ...]

    @property
    def files(self) -> frozenset[str]:
        """Return the files of the functions."""
        return frozenset(code.co_filename for code in self.functions)

    def __str__(self) -> str:
        """Return a line for each function, in the order of first calls."""
        return "\n".join(
            f"{code.co_filename.removeprefix(_PACKAGE + '/')}:{code.co_firstlineno} "
            f"{code.co_qualname}"
            for code in self.functions
        )


class Profiler:
    """Records the functions of `gateway/` that are called, in every thread."""

    def __init__(self) -> None:
        self._codes: dict[CodeType, None] | None = None

    @contextmanager
    def watching_threads(self) -> Iterator[None]:
        """Watch this thread and those that start from now on."""
        threading.setprofile(self._record)
        sys.setprofile(self._record)
        try:
            yield
        finally:
            sys.setprofile(None)
            threading.setprofile(None)

    async def profile(
        self,
        send: Callable[[], Awaitable[object]],
        before: Callable[[], Awaitable[object]] = anyio.lowlevel.checkpoint,
    ) -> Profile:
        """Return what one request passes after some of its kind; `before` precedes each."""
        for _ in range(_WARM):
            await before()
            await send()
        profiles: list[Profile] = []
        for _ in range(_COUNTED):
            await before()
            codes: dict[CodeType, None] = {}
            self._codes = codes
            await send()
            self._codes = None
            profiles.append(Profile(tuple(filter(_is_counted, codes))))
        return min(profiles, key=lambda profile: len(profile.functions))

    def _record(self, frame: FrameType, event: str, _: object) -> None:
        if event == "call" and self._codes is not None:
            self._codes[frame.f_code] = None


def _is_counted(code: CodeType) -> bool:
    return code.co_filename.startswith(_PACKAGE) and code.co_name not in _PARTS_OF_FUNCTIONS


async def profile_requests(folder: Path, zoo: Zoo, redis_url: Secret) -> Mapping[str, Profile]:
    """Return the profile of one warm request of each kind, by its name."""
    settings = _settings(folder, zoo, redis_url)
    await anyio.to_thread.run_sync(prepare, settings)
    profiler = Profiler()
    with profiler.watching_threads(), _logging():
        async with open_services(settings) as services:
            public = build_applications(settings, services, Lifecycle(), folder).public
            await services.invalidation.start()
            transport = httpx2.ASGITransport(public, client=_UNIX_SOCKET)
            async with httpx2.AsyncClient(
                transport=transport, base_url=PUBLIC_URL, headers=_PROXY
            ) as http:
                requests = _Requests(http, profiler, zoo.directory, services)
                return {
                    "sign-in to the code": await requests.sign_in(),
                    "setting of a realm": await requests.setting(),
                    "forward-auth decision": await requests.decision(),
                    "client_credentials by mTLS": await requests.token(),
                }


@contextmanager
def _logging() -> Iterator[None]:
    """Log as a worker does by default, into memory."""
    root = logging.getLogger()
    handlers, level = root.handlers, root.level
    configure_logging("info", SystemClock(), io.BytesIO())
    root.handlers, root.level = handlers, level  # what libraries log is no part of a request
    try:
        yield
    finally:
        structlog.reset_defaults()


@dataclass(frozen=True, slots=True)
class _Requests:
    http: httpx2.AsyncClient
    profiler: Profiler
    pki: Path
    services: Services

    async def token(self) -> Profile:
        """Request a token with a client certificate."""
        certificate = quote((self.pki / "device-1.crt").read_text(), safe="")
        headers = {"ssl-client-cert": certificate, "ssl-client-verify": "SUCCESS"}
        form = {"grant_type": "client_credentials", "client_id": "device-1"}
        url = protocol("profiled", "token")
        written = max((self.pki / name).stat().st_ctime for name in ("ca.crt", "ca.crl"))
        await self._send("POST", url, 200, data=form, headers=headers)
        while time.time() < written + _SETTLED:
            await self._send("POST", url, 200, data=form, headers=headers)
        await self.services.seen_certificates.write_sightings()
        return await self._profile("POST", url, 200, data=form, headers=headers)

    async def sign_in(self) -> Profile:
        """Send the password of a user who has no session."""
        forms = [(await self._form()) for _ in range(_WARM + _COUNTED)]

        async def send() -> httpx2.Response:
            action, fields, cookie = forms.pop()
            form = {**fields, "username": "ada", "password": PASSWORD}
            return await self._send("POST", action, 302, data=form, headers={"Cookie": cookie})

        return await self.profiler.profile(send)

    async def setting(self) -> Profile:
        """Change one setting of a realm."""
        form = {"grant_type": "client_credentials", "client_id": "root", "client_secret": SECRET}
        headers = {"Authorization": f"Bearer {await self._access_token('master', form)}"}
        url = "/admin/realms/profiled"
        lifespans = iter(range(300, 400))

        async def read() -> None:
            await self._send("GET", url, 200, headers=headers)

        async def send() -> httpx2.Response:
            document = {"accessTokenLifespan": next(lifespans)}
            return await self._send("PUT", url, 204, json=document, headers=headers)

        return await self.profiler.profile(send, before=read)

    async def decision(self) -> Profile:
        """Ask as nginx whether a request with a bearer token may pass."""
        form = {
            "grant_type": "password",
            "client_id": "portal",
            "username": "ada",
            "password": PASSWORD,
        }
        headers = {
            "Authorization": f"Bearer {await self._access_token('profiled', form)}",
            "X-Original-Request": "GET /home HTTP/1.1",
            "X-Forwarded-Host": _HOST,
            "X-Realmgate-Server": f"{_HOST}:443",
        }
        return await self._profile("GET", "/.realmgate/guard/nginx", 200, headers=headers)

    async def _form(self) -> tuple[str, Mapping[str, str], str]:
        asked = {
            "response_type": "code",
            "client_id": "web",
            "redirect_uri": CALLBACK,
            "scope": "openid",
        }
        response = await self._send("GET", protocol("profiled", "auth"), 200, params=asked)
        cookie = "; ".join(f"{name}={value}" for name, value in response.cookies.items())
        self.http.cookies.clear()
        form = Page(response).form
        return form.action, form.fields, cookie

    async def _access_token(self, realm: str, form: Mapping[str, str]) -> str:
        response = await self._send("POST", protocol(realm, "token"), 200, data=form)
        return str(response.json()["access_token"])

    async def _profile(self, method: str, url: str, status: int, **sent: Any) -> Profile:
        return await self.profiler.profile(lambda: self._send(method, url, status, **sent))

    async def _send(self, method: str, url: str, status: int, **sent: Any) -> httpx2.Response:
        response = await self.http.request(method, url, **sent)
        assert response.status_code == status, response.text
        return response


def _settings(folder: Path, zoo: Zoo, redis_url: Secret) -> Settings:
    (folder / "rules.toml").write_text(_RULES)
    (folder / "realms.json").write_text(json.dumps([master(), _realm()]))
    return read_settings(
        state_dir=folder / "state",
        import_realm=(folder / "realms.json",),
        guard_file=folder / "rules.toml",
        public_url=PUBLIC_URL,
        client_ca_file=zoo.directory / "ca.crt",
        client_crl_file=zoo.directory / "ca.crl",
        admin_password=Secret("the administrator's word"),
        redis_url=redis_url,
    )


def _realm() -> dict[str, Any]:
    return {
        "realm": "profiled",
        "enabled": True,
        "sslRequired": "all",
        "defaultSignatureAlgorithm": "ES256",
        "passwordPolicy": CHEAP,
        "clients": [
            device("device-1", DEVICE_SUBJECT),
            web_client("web"),
            app("portal", redirectUris=["https://*"]),
        ],
        "users": [user("ada")],
    }
