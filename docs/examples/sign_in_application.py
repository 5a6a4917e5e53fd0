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
OF_USERS = (
    *("name", "preferred_username", "given_name", "family_name"),
    *("email", "email_verified", "sub"),
)
LOG = logging.getLogger("sign_in_application")
STYLE = Path(__file__).with_name("style.css").read_text(encoding="utf-8")
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

    @property
    def account_url(self) -> str:
        """Where users manage their accounts."""
        return f"{self._issuer}/account/"

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
        return _page(_WELCOME if user is None else _claims_page(user, provider.account_url))

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
        return Response(STYLE, media_type="text/css")

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


def _claims_page(user: SignedIn, account_url: str) -> str:
    name = user.claims.get("name") or user.claims.get("preferred_username") or "stranger"
    of_user = {claim: user.claims[claim] for claim in OF_USERS if claim in user.claims}
    others = {claim: value for claim, value in user.claims.items() if claim not in of_user}
    return _SIGNED_IN.format(
        name=escape(str(name)),
        account=escape(account_url),
        of_user=_listed(of_user),
        others=_listed(others),
    )


def _listed(claims: dict[str, Any]) -> str:
    return "".join(
        f"<div><dt>{escape(claim)}</dt><dd>{_readable(claim, value)}</dd></div>"
        for claim, value in claims.items()
    )


def _readable(claim: str, value: object) -> str:
    if claim in INSTANTS and isinstance(value, int):
        instant = datetime.fromtimestamp(value, UTC)
        return f"{instant:%Y-%m-%d %H:%M:%S} UTC <small>{value}</small>"
    return escape(value if isinstance(value, str) else json.dumps(value))


def from_environment() -> Starlette:
    """Return the application as the environment says."""
    home = os.environ["APPLICATION_URL"].rstrip("/") + "/"
    secret = Path(os.environ["CLIENT_SECRET_FILE"]).read_text(encoding="utf-8").strip()
    issuer, client_id = os.environ["ISSUER"], os.environ["CLIENT_ID"]
    return application(Provider(issuer, client_id, secret, f"{home}callback"), home)


_FRAME = """<!doctype html><html lang="en"><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>Demo application</title>
<link rel="stylesheet" href="/style.css"><main>
<header><svg width="28" height="28" viewBox="0 0 28 28" aria-hidden="true">
<rect width="28" height="28" rx="7"/><path d="M8 9h12M8 14h12M8 19h7"/></svg>
<p>Demo application</p></header>{content}</main>
"""
_WELCOME = """<section><h1>You are not signed in</h1>
<p>Sign in with your account of the realm. This application learns who you are, and never sees your
password.</p>
<form method="post" action="/sign-in"><button>Sign in</button></form></section>"""
_SIGNED_IN = """<section><div class="greeting"><h1>Hello, {name}</h1>
<form method="post" action="/sign-out"><button class="quiet">Sign out</button></form></div>
<p>These are the claims of your ID token. <a href="{account}">Manage your account</a></p>
<h2>About you</h2><dl>{of_user}</dl>
<h2>About this sign-in</h2><dl>{others}</dl></section>"""
_FAILED = """<section><h1>You are not signed in</h1><p role="alert">{reason}</p>
<form method="post" action="/sign-in"><button>Try again</button></form></section>"""
