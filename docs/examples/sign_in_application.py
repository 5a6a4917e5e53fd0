"""A web application that people sign in to with Realmgate: it shows the claims of who is there.

It uses the authorization code flow with PKCE, and keeps tokens out of the browser:

    pip install starlette hypercorn 'pyjwt[crypto]'
    ISSUER=https://id.example.org/realms/demo CLIENT_ID=demo-app CLIENT_SECRET_FILE=secret \
        APPLICATION_URL=https://app.example.org \
        hypercorn --bind unix:/run/app/app.sock 'sign_in_application:from_environment()'

The client's redirect URI is APPLICATION_URL/callback; people return to APPLICATION_URL/ after they
have signed out. Behind a private authority, set SSL_CERT_FILE to its certificate.
Spec: OpenID Connect Core §3.1, RFC 7636, RFC 9207, OpenID Connect RP-Initiated Logout §2
"""

import base64
import hashlib
import json
import logging
import os
import secrets
import time
import urllib.error
import urllib.request
from collections import OrderedDict
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import jwt
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

ALGORITHMS = ["RS256", "PS256", "ES256", "EdDSA"]  # what you expect, never what the token says
REQUIRED = ["exp", "iat", "iss", "aud", "sub", "nonce"]
MOST, TIMEOUT_SECONDS = 1_000, 10
SIGN_IN_SECONDS, SESSION_SECONDS = 600, 3_600
INSTANTS = {"exp", "iat", "auth_time", "nbf"}
LOG = logging.getLogger("sign_in_application")
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; base-uri 'none';"
    " frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class SignInFailed(Exception):
    """The user is not signed in; the text is for the user."""


@dataclass(frozen=True, slots=True)
class Started:
    """A sign-in that this browser has begun: what must come back, and what only we know."""

    state: str
    nonce: str
    verifier: str


@dataclass(frozen=True, slots=True)
class SignedIn:
    """Who is signed in."""

    claims: dict[str, Any]
    id_token: str


class Remembered:
    """Values that browsers have a cookie for: so many at most, and each for a while."""

    def __init__(self, cookie: str, seconds: int, *, secure: bool) -> None:
        self._cookie, self._seconds, self._secure = cookie, seconds, secure
        self._values: OrderedDict[str, tuple[float, Any]] = OrderedDict()

    def keep(self, response: Response, value: object) -> None:
        """Keep a value for the browser that gets this response, under a new name each time."""
        name = secrets.token_urlsafe(32)
        self._values[name] = (time.monotonic() + self._seconds, value)
        while len(self._values) > MOST:
            self._values.popitem(last=False)
        response.set_cookie(
            self._cookie, name, httponly=True, samesite="lax", secure=self._secure, path="/"
        )

    def find(self, request: Request) -> Any:
        """Return the value of the browser, None where there is none."""
        ends, value = self._values.get(request.cookies.get(self._cookie, ""), (0.0, None))
        return value if time.monotonic() < ends else None

    def take(self, request: Request) -> Any:
        """Return the value of the browser, and forget it."""
        value = self.find(request)
        self._values.pop(request.cookies.get(self._cookie, ""), None)
        return value


class Provider:
    """The realm: where users sign in, and where codes become tokens."""

    def __init__(self, issuer: str, client_id: str, client_secret: str, callback: str) -> None:
        self._issuer, self._client_id, self._callback = issuer, client_id, callback
        self._endpoints = f"{issuer}/protocol/openid-connect"
        credentials = f"{quote(client_id, safe='')}:{quote(client_secret, safe='')}"
        self._basic = "Basic " + base64.b64encode(credentials.encode()).decode()
        self._keys = jwt.PyJWKClient(f"{self._endpoints}/certs", lifespan=300)

    def sign_in_url(self, started: Started) -> str:
        """Return where the browser goes to sign in."""
        digest = hashlib.sha256(started.verifier.encode()).digest()
        return f"{self._endpoints}/auth?" + urlencode(
            {
                "response_type": "code",
                "client_id": self._client_id,
                "redirect_uri": self._callback,
                "scope": "openid profile email",
                "state": started.state,
                "nonce": started.nonce,
                "code_challenge": base64.urlsafe_b64encode(digest).rstrip(b"=").decode(),
                "code_challenge_method": "S256",
            }
        )

    def sign_out_url(self, user: SignedIn, home: str) -> str:
        """Return where the browser goes to sign out of all applications."""
        asked = {"id_token_hint": user.id_token, "post_logout_redirect_uri": home}
        return f"{self._endpoints}/logout?{urlencode(asked)}"

    def finish(self, started: Started | None, answer: dict[str, str]) -> SignedIn:
        """Return who has signed in; raises SignInFailed."""
        if started is None or not secrets.compare_digest(started.state, answer.get("state", "")):
            raise SignInFailed("This sign-in was not begun in this browser, or long ago.")
        if answer.get("iss", self._issuer) != self._issuer:
            raise SignInFailed("The answer comes from another provider.")
        if "code" not in answer:
            raise SignInFailed(f"The provider says: {answer.get('error', 'nothing')}")
        id_token = self._redeem(answer["code"], started.verifier)
        return SignedIn(self._verified(id_token, started.nonce), id_token)

    def _redeem(self, code: str, verifier: str) -> str:
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self._callback,
            "code_verifier": verifier,
        }
        request = urllib.request.Request(  # noqa: S310 - the address is the operator's own
            f"{self._endpoints}/token",
            urlencode(form).encode(),
            {"Authorization": self._basic},
        )
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as response:  # noqa: S310
                return str(json.load(response)["id_token"])
        except (OSError, ValueError, KeyError) as failure:
            LOG.error("no token for the code: %s", failure)  # noqa: TRY400 - never the code
            raise SignInFailed("The provider gave no token for the code.") from failure

    def _verified(self, id_token: str, nonce: str) -> dict[str, Any]:
        try:
            key = self._keys.get_signing_key_from_jwt(id_token)
            claims: dict[str, Any] = jwt.decode(
                id_token,
                key.key,
                algorithms=ALGORITHMS,
                issuer=self._issuer,
                audience=self._client_id,
                options={"require": REQUIRED},
            )
        except jwt.PyJWTError as wrong:
            LOG.error("the ID token is refused: %s", wrong)  # noqa: TRY400 - never the token
            raise SignInFailed("The token of the provider is not valid.") from wrong
        if not secrets.compare_digest(nonce, str(claims["nonce"])):
            raise SignInFailed("The token belongs to another sign-in.")
        return claims


def application(provider: Provider, home: str) -> Starlette:
    """Return the application; `home` is its own address."""
    secure = home.startswith("https:")
    sign_ins = Remembered("demo_sign_in", SIGN_IN_SECONDS, secure=secure)
    users = Remembered("demo_user", SESSION_SECONDS, secure=secure)

    async def start(request: Request) -> Response:
        user: SignedIn | None = users.find(request)
        return _page(_WELCOME if user is None else _claims_page(user))

    async def sign_in(_: Request) -> Response:
        started = Started(*(secrets.token_urlsafe(48) for _ in range(3)))
        response = RedirectResponse(provider.sign_in_url(started), 303, HEADERS)
        sign_ins.keep(response, started)
        return response

    async def callback(request: Request) -> Response:
        started, answer = sign_ins.take(request), dict(request.query_params)
        try:
            # The provider is asked for tokens, and perhaps for its keys: off the event loop.
            user = await run_in_threadpool(provider.finish, started, answer)
        except SignInFailed as failed:
            return _page(_FAILED.format(reason=escape(str(failed))), 400)
        response = RedirectResponse(home, 303, HEADERS)
        users.keep(response, user)
        return response

    async def sign_out(request: Request) -> Response:
        user: SignedIn | None = users.take(request)
        target = home if user is None else provider.sign_out_url(user, home)
        return RedirectResponse(target, 303, HEADERS)

    async def style(_: Request) -> Response:
        return Response(_STYLE, media_type="text/css")

    return Starlette(
        routes=[
            Route("/", start),
            Route("/sign-in", sign_in, methods=["POST"]),
            Route("/callback", callback),
            Route("/sign-out", sign_out, methods=["POST"]),
            Route("/style.css", style),
        ]
    )


def _page(content: str, status: int = 200) -> Response:
    return HTMLResponse(_FRAME.format(content=content), status, HEADERS)


def _claims_page(user: SignedIn) -> str:
    name = user.claims.get("name") or user.claims.get("preferred_username") or "stranger"
    rows = "".join(
        f"<tr><th scope=row>{escape(claim)}</th><td>{escape(_readable(claim, value))}</td></tr>"
        for claim, value in user.claims.items()
    )
    return _SIGNED_IN.format(name=escape(str(name)), rows=rows)


def _readable(claim: str, value: object) -> str:
    if claim in INSTANTS and isinstance(value, int):
        return f"{value}  ({datetime.fromtimestamp(value, UTC):%Y-%m-%d %H:%M:%S} UTC)"
    return value if isinstance(value, str) else json.dumps(value)


def from_environment() -> Starlette:
    """Return the application as the environment says."""
    home = os.environ["APPLICATION_URL"].rstrip("/") + "/"
    secret = Path(os.environ["CLIENT_SECRET_FILE"]).read_text(encoding="utf-8").strip()
    issuer, client_id = os.environ["ISSUER"], os.environ["CLIENT_ID"]
    return application(Provider(issuer, client_id, secret, f"{home}callback"), home)


_FRAME = """<!doctype html><html lang="en"><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>Demo application</title>
<link rel="stylesheet" href="/style.css"><main><p class="app">Demo application</p>{content}</main>
"""
_WELCOME = """<h1>You are not signed in</h1>
<p>Sign in with the realm that this application trusts.</p>
<form method="post" action="/sign-in"><button>Sign in</button></form>"""
_SIGNED_IN = """<h1>Hello, {name}</h1>
<p>Your ID token says:</p><table>{rows}</table>
<form method="post" action="/sign-out"><button>Sign out</button></form>"""
_FAILED = """<h1>You are not signed in</h1><p role="alert">{reason}</p>
<form method="post" action="/sign-in"><button>Try again</button></form>"""
_STYLE = """:root{color-scheme:light dark;font:16px/1.5 system-ui,sans-serif}
body{margin:0;background:light-dark(#f4f5f7,#14171c);color:light-dark(#1c2230,#e8eaf0)}
main{max-width:46rem;margin:3rem auto;padding:2rem;border-radius:12px;overflow-wrap:anywhere;
background:light-dark(#fff,#1d222a);box-shadow:0 1px 3px #0003}
.app{margin:0;color:light-dark(#4d5870,#a4aec2)}h1{margin:.2rem 0 1rem;font-size:1.6rem}
table{width:100%;border-collapse:collapse;margin:0 0 1.5rem}
th,td{padding:.35rem .5rem;text-align:start;vertical-align:top;
border-bottom:1px solid light-dark(#e2e5eb,#333a46)}
th{width:11rem;font-weight:600}td{font-family:ui-monospace,monospace;font-size:.9rem}
button{font:inherit;padding:.6rem 1.4rem;border:0;border-radius:8px;background:#2456c4;color:#fff}
button:focus-visible{outline:3px solid #2456c4;outline-offset:3px}
"""
