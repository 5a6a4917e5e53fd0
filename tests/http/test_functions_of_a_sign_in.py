"""A warm sign-in passes few functions in few files: what a reader follows from form to code.

The application runs in this process, under a profiler that notes the functions of the gateway.
"""

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, Final

import httpx2
import pytest
from click.testing import CliRunner

from gateway.bootstrap import open_services
from gateway.bootstrap.applications import build_applications
from gateway.cli import main
from gateway.http.management import Lifecycle
from gateway.settings import Settings, read_settings
from tests.support.administered_realm import SIGN_IN, person
from tests.support.administration import ELLIPTIC, PASSWORD
from tests.support.redis_server import RedisServer
from tests.support.sign_in_browser import CALLBACK, PUBLIC_URL, Page, web_client

MOST_FUNCTIONS, MOST_FILES = 436, 81
"""Both may only go down."""
_GATEWAY: Final = Path(__file__).resolve().parents[2] / "gateway"
_REALM: Final[Mapping[str, Any]] = {
    "realm": "read",
    **ELLIPTIC,
    "passwordPolicy": SIGN_IN["passwordPolicy"],
    "clients": [web_client("app")],
    "users": [person("anna", email="anna@acme.test", firstName="Anna", lastName="Arendt")],
}


@contextmanager
def _functions_of_gateway() -> Iterator[set[tuple[str, str]]]:
    """Yield the set of functions that were called: file and qualified name."""
    found: set[tuple[str, str]] = set()
    root = f"{_GATEWAY}/"

    def note(frame: FrameType, event: str, argument: object) -> None:
        del argument
        code = frame.f_code
        is_named = not code.co_name.startswith("<")  # neither a comprehension nor a lambda
        if event == "call" and is_named and code.co_filename.startswith(root):
            found.add((code.co_filename.removeprefix(root), code.co_qualname))

    sys.setprofile(note)
    try:
        yield found
    finally:
        sys.setprofile(None)


class _Browser:
    """A browser without a session: each sign-in begins with no cookie but that of its page."""

    def __init__(self, http: httpx2.AsyncClient) -> None:
        self._http = http

    async def open(self) -> Page:
        self._http.cookies.clear()
        asked = {"response_type": "code", "client_id": "app", "redirect_uri": CALLBACK}
        path = "/realms/read/protocol/openid-connect/auth"
        return Page(await self._http.get(path, params={**asked, "scope": "openid"}))

    async def submit(self, page: Page) -> Page:
        sent = {**page.form.fields, "username": "anna", "password": PASSWORD}
        return Page(await self._http.post(page.form.action, data=sent))


async def _functions_of_one(browser: _Browser) -> set[tuple[str, str]]:
    page = await browser.open()
    with _functions_of_gateway() as found:
        done = await browser.submit(page)
    assert done.answer["code"]
    return found


@pytest.fixture
def settings(tmp_path: Path, redis_server: RedisServer) -> Settings:
    """Import the realm, as an operator does."""
    realm, url = tmp_path / "realm.json", redis_server.url.reveal()
    realm.write_text(json.dumps(_REALM))
    environment = {"REALMGATE_STATE_DIR": str(tmp_path), "REALMGATE_REDIS_URL": url}
    runner = CliRunner(env=environment)
    for command in (["migrate"], ["realm", "import", str(realm)]):
        done = runner.invoke(main, command)
        assert done.exit_code == 0, done.output
    return read_settings(state_dir=tmp_path, redis_url=url, public_url=PUBLIC_URL)


async def test_a_sign_in_passes_few_functions_and_files(settings: Settings, tmp_path: Path) -> None:
    async with open_services(settings) as services:
        public = build_applications(settings, services, Lifecycle(), tmp_path).public
        transport = httpx2.ASGITransport(app=public, client=("127.0.0.1", 1))
        async with httpx2.AsyncClient(transport=transport, base_url=PUBLIC_URL) as http:
            passed = [await _functions_of_one(_Browser(http)) for _ in range(5)]
    found = min(passed, key=len)  # the first ones fill caches, and import what is imported late
    files = {file for file, _ in found}
    assert len(found) <= MOST_FUNCTIONS, sorted(found)
    assert len(files) <= MOST_FILES, sorted(files)
