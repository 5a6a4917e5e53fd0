"""Addresses that clients name lead the gateway to no network that its operator has not allowed.

The gateway of the tests may fetch from 127.0.0.0/8 alone; a server listens at every address of this
machine, and must not be asked. CWE-918; attacks: C20, C21
"""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import jwt
import pytest

from tests.support.administered_realm import administered_realm, person
from tests.support.administration import SECRET, Administration
from tests.support.gateway_process import Gateway, until
from tests.support.recorded_realm import RECORDED
from tests.support.registration import Registration
from tests.support.sign_in_browser import PUBLIC_URL, SignInRealm, web_client

_NAME: Final = "fetching"
_ASSERTION: Final = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
_HUGE: Final = 65 * 1024
_FORBIDDEN: Final = (
    *("http://[::1]:{port}", "http://0.0.0.0:{port}", "http://[::]:{port}", "http://0:{port}"),
    *("http://ip6-localhost:{port}", "http://[::ffff:0.0.0.0]:{port}"),
    *("http://169.254.169.254", "http://10.0.0.1", "http://192.168.0.1", "http://172.16.0.1"),
    *("http://[fd00::1]", "http://[fe80::1]", "http://[64:ff9b::a00:1]", "http://100.64.0.1"),
    *("ftp://127.0.0.1:{port}", "file:///etc/passwd", "gopher://127.0.0.1:{port}"),
    *("http://user@127.0.0.1:{port}", "http://127.0.0.1:{port}\\@example.org"),
)
_ALLOWED: Final = "http://127.0.0.1:{port}"


@dataclass
class _Listener:
    """Answers every request with `answer`, and counts them."""

    port: int = 0
    answer: bytes = b""
    asked: list[bytes] = field(default_factory=list)


@contextmanager
def _listening() -> Iterator[_Listener]:
    """Listen at every address of both families."""
    found = _Listener()
    server = socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True)
    found.port = server.getsockname()[1]

    def serve() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            with connection, suppress(OSError):
                found.asked.append(connection.recv(65536))
                connection.sendall(found.answer)

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield found
    finally:
        server.shutdown(socket.SHUT_RDWR)
        server.close()


@dataclass(frozen=True, slots=True)
class Fetching:
    """The realm, and what listens."""

    pages: SignInRealm
    listener: _Listener

    def change(self, authenticator: str = "client-secret", **attributes: str) -> bool:
        """Change the client `app`; tell whether that was accepted."""
        (found,) = self.pages.realm.get("clients?clientId=app")
        changed = {
            "clientAuthenticatorType": authenticator,
            "attributes": {**found["attributes"], **attributes},
        }
        return self.pages.realm.ask("PUT", f"clients/{found['id']}", changed).is_success


@pytest.fixture(scope="module")
def fetching(administration: Administration) -> Iterator[Fetching]:
    """Make a realm with a client whose addresses the tests choose."""
    settings: dict[str, Any] = {
        **RECORDED,
        "bruteForceProtected": False,
        "clients": [web_client("app", serviceAccountsEnabled=True)],
        "users": [person("anna")],
    }
    with (
        administered_realm(administration, _NAME, {}, **settings) as realm,
        _listening() as listener,
    ):
        yield Fetching(SignInRealm(realm), listener)


def _signed() -> str:
    now = int(time.time())
    claims = {"iss": "app", "sub": "app", "aud": f"{PUBLIC_URL}/realms/{_NAME}", "exp": now + 50}
    return jwt.encode({**claims, "jti": str(time.time_ns())}, SECRET * 4, "HS256")


def _key_set(fetching: Fetching, url: str) -> str | None:
    """Authenticate by a key of `jwks_uri`; return the error, None where it cannot be set."""
    if not fetching.change("client-jwt", **{"use.jwks.url": "true", "jwks.url": url}):
        return None
    browser = fetching.pages.browser()
    token = _signed().split(".")
    header = jwt.utils.base64url_encode(b'{"alg":"ES256","kid":"x"}').decode()
    form = {
        "grant_type": "client_credentials",
        "client_assertion_type": _ASSERTION,
        "client_assertion": f"{header}.{token[1]}.{'A' * 86}",
    }
    answer = browser.http.post(browser.protocol("token"), data=form)
    assert answer.status_code in {400, 401}, answer.text
    return str(answer.json()["error_description"])


def _request_object(fetching: Fetching, url: str) -> str | None:
    """Send `request_uri`, which the client has registered; return what the page says."""
    if not fetching.change(**{"request.uris": url}):
        return None
    page = fetching.pages.browser().open(request_uri=url)
    assert page.status == 400
    return page.text.partition("If you contact")[0]


def _sector(fetching: Fetching, url: str) -> str | None:
    """Register with `sector_identifier_uri`; return the error."""
    service = Registration(fetching.pages.realm)
    document = {
        "redirect_uris": ["https://a.test/cb"],
        "subject_type": "pairwise",
        "sector_identifier_uri": url,
    }
    answer = service.ask("POST", "openid-connect", document, token=service.initial())
    assert answer.status_code == 400, answer.text
    return str(answer.json()["error_description"])


_BY: Final = {"jwks_uri": _key_set, "request_uri": _request_object, "sector": _sector}


@pytest.mark.parametrize("fetch", _BY.values(), ids=_BY)
def test_no_address_leads_inside_and_no_answer_tells_why(
    fetching: Fetching, fetch: Callable[[Fetching, str], str | None]
) -> None:
    """attacks: C20, C21."""
    listener = fetching.listener
    said = {
        fetch(fetching, f"{pattern.format(port=listener.port)}/{fetch.__name__}/{number}")
        for number, pattern in enumerate(_FORBIDDEN)
    }
    assert listener.asked == []
    said.discard(None)
    listener.answer = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
    said.add(fetch(fetching, f"{_ALLOWED.format(port=listener.port)}/{fetch.__name__}"))
    assert len(listener.asked) == 1
    assert len(said) == 1
    listener.asked.clear()


@pytest.mark.parametrize("fetch", _BY.values(), ids=_BY)
@pytest.mark.parametrize("kind", ["redirect", "huge"])
def test_no_redirect_is_followed_and_no_huge_answer_is_read(
    fetching: Fetching, fetch: Callable[[Fetching, str], str | None], kind: str
) -> None:
    """attacks: C20, C21."""
    listener = fetching.listener
    inside = f"http://127.0.0.1:{listener.port}/inside"
    answers = {
        "redirect": f"HTTP/1.1 302 Found\r\nLocation: {inside}\r\nContent-Length: 0\r\n\r\n",
        "huge": f"HTTP/1.1 200 OK\r\nContent-Length: {_HUGE}\r\n\r\n[{' ' * _HUGE}",
    }
    listener.answer = answers[kind].encode()
    # Each has its own URL: a failure is remembered for a while.
    fetch(fetching, f"{_ALLOWED.format(port=listener.port)}/{fetch.__name__}/{kind}")
    assert len(listener.asked) == 1
    assert b" /inside " not in listener.asked.pop()


def test_a_server_that_does_not_answer_holds_no_request(fetching: Fetching) -> None:
    """attacks: C21. The client of the tests waits for ten seconds, the gateway for three."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/silent"
        assert _key_set(fetching, url) == "Unable to load public key"


def _refused_notices(gateway: Gateway) -> int:
    return gateway.log_text().count("logout notice not received")


def _has_refused_more(gateway: Gateway, before: int) -> bool:
    return _refused_notices(gateway) > before


def test_no_notice_of_a_logout_is_sent_inside(fetching: Fetching) -> None:
    """attacks: C21."""
    fetching.listener.answer = b"HTTP/1.1 204 No Content\r\n\r\n"
    gateway = fetching.pages.realm.administration.gateway
    for host, is_told in (("[::1]", False), ("0.0.0.0", False), ("127.0.0.1", True)):
        url = f"http://{host}:{fetching.listener.port}/logout"
        assert fetching.change(**{"backchannel.logout.url": url})
        browser = fetching.pages.browser()
        session = browser.sign_in().answer["session_state"]
        before = _refused_notices(gateway)
        fetching.pages.realm.change("DELETE", f"sessions/{session}")
        if is_told:
            until(lambda: fetching.listener.asked, "no notice came", 20)
            continue
        until(partial(_has_refused_more, gateway, before), "no failure was noticed", 20)
        assert fetching.listener.asked == []
    assert b"logout_token=" in fetching.listener.asked[0]
    fetching.listener.asked.clear()
