"""A service that knows nothing of OAuth, behind two lines of nginx: who reaches it, and who not.

Spec: RFC 6750 §3, RFC 8705 §3
"""

import json
import re
import time
from collections.abc import Mapping
from typing import Any

from scripts.demonstration.browser import Browser, Page
from scripts.demonstration.gateway import FORBIDDEN, HTTP_OK, UNAUTHORIZED, USER, Gateway
from scripts.demonstration.https import Response
from scripts.demonstration.terminal import Terminal

API = "/api/status"
SIGN_OUT = "/.realmgate/sign-out?rd=/public"
FORGED = {"Remote-User": "root", "X-Realmgate-Client": "demo-device"}
"""Headers that a caller makes up."""
LONGEST_HEADER = len("X-Realmgate-Certificate")
TAKES_EFFECT_SECONDS = 1.0
REASON = "x-realmgate-reason"
_DESCRIPTION = re.compile(r'error_description="([^"]*)"')


def demonstrate_protected_service(gateway: Gateway, terminal: Terminal) -> None:
    """Run the steps, the one after the sign-in only with a session."""
    send_to_sign_in(gateway, terminal)
    browser = sign_in(gateway, terminal)
    token = call_api(gateway, terminal)
    if token:
        replay_token(gateway, terminal, token)
    if browser is not None:
        sign_out(gateway, terminal, browser)


def send_to_sign_in(gateway: Gateway, terminal: Terminal) -> None:
    """Ask without credentials, as a browser and as a program."""
    terminal.heading("An internal service knows nothing of OAuth: nginx asks before each request")
    terminal.line(f"GET {gateway.site}/")
    page = Browser(gateway.client).visit(f"{gateway.site}/")
    terminal.check(
        page.status == HTTP_OK
        and page.url.startswith(gateway.https + gateway.realm)
        and "username" in page.fields,
        "redirected",
        "a browser, to the sign-in page of the realm demo",
    )
    program = _ask(gateway, "/", headers=FORGED)
    _refused(
        terminal,
        program,
        "a program that sends Remote-User: root",
        "no_credential",
        "It has no credential. The service never gets the request.",
    )
    public = _ask(gateway, "/public", headers=FORGED)
    terminal.check(
        public.status == HTTP_OK and b"with your request: none." in public.content,
        "public",
        "the same at /public, which the rules open to all",
        "200, and the service received no identity: forged headers are removed.",
    )


def sign_in(gateway: Gateway, terminal: Terminal) -> Browser | None:
    """Sign in by the form of the realm; return the browser that has a session then."""
    terminal.heading(f"{USER} signs in with a browser, and the service greets {USER}")
    browser = Browser(gateway.client)
    browser.headers |= FORGED
    form = browser.visit(f"{gateway.site}/")
    terminal.line(f"POST {form.action.partition('?')[0]}")
    page = browser.submit(form, username=USER, password=gateway.user_password)
    if not _is_service(gateway, page):
        terminal.check(False, str(page.status), f"{page.url.partition('?')[0]} is not the service")
        return None
    terminal.check(True, "200", f"{page.url}, which shows the headers that it received:")
    for name, value in page.definitions.items():
        note = "not root, as the browser claims" if name == "Remote-User" else ""
        terminal.field(name, value, note, LONGEST_HEADER)
    received = page.definitions
    terminal.check(
        received.get("Remote-User") == USER
        and received.get("X-Realmgate-Credential") == "session"
        and received.get("X-Realmgate-Client") not in FORGED.values(),
        "identity",
        f"{USER}, from the gateway alone",
    )
    return browser


def call_api(gateway: Gateway, terminal: Terminal) -> str:
    """Call the API as device-1; return its token, empty where there is none."""
    terminal.heading("device-1 calls the API of the service with its certificate and its token")
    terminal.line(f"GET {gateway.site}{API}")
    answer = gateway.token("device-1")
    token = str(answer.document.get("access_token", ""))
    if not token:
        terminal.check(False, str(answer.status), answer.error)
        return ""
    bound = _ask(gateway, API, device="device-1", token=token)
    _allowed(terminal, gateway, bound, "bearer", "by its token, bound to its certificate")
    alone = _ask(gateway, API, device="device-1")
    _allowed(terminal, gateway, alone, "certificate", "by its certificate alone")
    return token


def replay_token(gateway: Gateway, terminal: Terminal, token: str) -> None:
    """Try the token of device-1 from the wrong hands."""
    terminal.heading("A thief replays the stolen token and is refused before the service")
    _refused(
        terminal,
        _ask(gateway, API, device="device-2", token=token),
        "the token of device-1 with the certificate of device-2",
        "certificate_mismatch",
        "nginx let the certificate in, the gateway compared it with cnf.",
    )
    _refused(
        terminal,
        _ask(gateway, API, token=token),
        "the token of device-1 without a certificate",
        "certificate_mismatch",
        "A copied token proves nothing without the private key.",
    )
    _refused(
        terminal,
        _ask(gateway, API, device="device-2"),
        "device-2 as itself, by its certificate",
        "client_not_allowed",
        f"Authenticated, but the rule names the client {gateway.client_id} alone.",
        status=FORBIDDEN,
    )


def sign_out(gateway: Gateway, terminal: Terminal, browser: Browser) -> None:
    """Sign out, then send the same cookie again, as a thief who has copied it would."""
    terminal.heading(f"{USER} signs out: a copy of the cookie is refused")
    host = gateway.site.removeprefix("https://").partition(":")[0]
    kept = browser.cookies[host]
    cookie = {"Cookie": "; ".join(f"{name}={value}" for name, value in kept.items())}
    before = _ask(gateway, "/", headers=cookie)
    terminal.check(before.status == HTTP_OK, "200", "a copy of the cookie, while the session lasts")
    terminal.line(f"GET {gateway.site}{SIGN_OUT}")
    page = browser.submit(browser.visit(f"{gateway.site}{SIGN_OUT}"))
    ended = time.monotonic()
    terminal.check(
        page.status == HTTP_OK and page.url == f"{gateway.site}/public",
        "signed out",
        "at the service and at the realm",
    )
    refusal = _ask(gateway, "/", headers=cookie)
    while refusal.status == HTTP_OK and time.monotonic() < ended + TAKES_EFFECT_SECONDS:
        refusal = _ask(gateway, "/", headers=cookie)
    _refused(
        terminal,
        refusal,
        "the same cookie after that",
        "invalid_session",
        "The gateway has ended the session: what the browser keeps does not count.",
    )
    again = browser.visit(f"{gateway.site}/")
    terminal.check(
        again.url.startswith(gateway.https + gateway.realm) and "username" in again.fields,
        "redirected",
        "the browser, to the sign-in page",
    )


def _ask(
    gateway: Gateway,
    path: str,
    *,
    device: str | None = None,
    token: str = "",
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Ask the service as a program."""
    sent = {"Accept": "application/json", **(headers or {})}
    if token:
        sent["Authorization"] = f"Bearer {token}"
    return gateway.client.request("GET", gateway.site + path, headers=sent, device=device)


def _is_service(gateway: Gateway, page: Page) -> bool:
    return page.status == HTTP_OK and page.url == f"{gateway.site}/"


def _allowed(
    terminal: Terminal, gateway: Gateway, response: Response, credential: str, how: str
) -> None:
    if response.status != HTTP_OK:
        terminal.check(False, str(response.status), how, _reason(response))
        return
    caller: dict[str, Any] = json.loads(response.content)["caller"]
    names = ("X-Realmgate-Client", "X-Realmgate-Credential", "X-Realmgate-Certificate")
    expected = (gateway.client_id, credential, gateway.thumbprint("device-1"))
    passed = tuple(caller.get(name) for name in names) == expected
    terminal.check(passed, "200", how)
    for name in names:
        terminal.field(name, caller.get(name), width=LONGEST_HEADER)


def _refused(
    terminal: Terminal,
    response: Response,
    who: str,
    reason: str,
    why: str,
    *,
    status: int = UNAUTHORIZED,
) -> None:
    passed = response.status == status and response.header(REASON) == reason
    terminal.check(passed, "refused", who, f"{response.status}, {_reason(response)}", why)


def _reason(response: Response) -> str:
    """Return why the gateway refused the request, with its words for the caller. RFC 6750 §3."""
    described = _DESCRIPTION.search(response.header("www-authenticate"))
    return response.header(REASON) + (f": {described[1]}" if described else "")
