"""From cookies to what is known of a browser, and from what a sign-in comes to back to cookies.

The id of the authentication sessions and the request for a restart are sealed: a browser can
neither make nor read them. Keycloak: 12.11
"""

from datetime import timedelta
from typing import Any, Final
from urllib.parse import quote, unquote

import orjson

from gateway.domain.errors import SecretUnreadable
from gateway.domain.ports.secrets_at_rest import SecretsAtRest
from gateway.domain.sessions import UserSession
from gateway.http.sign_in.browser_endpoint import BrowserRequest
from gateway.http.sign_in.cookies import Cookie, CookieName, expired
from gateway.protocol.browser_sign_in import Browser
from gateway.protocol.requests import ProtocolRequest
from gateway.protocol.sign_in_results.identity_cookie import (
    Identity,
    IdentityVerification,
    issue_identity,
)
from gateway.protocol.sign_in_results.sign_in_request import SignInRequest

_LONGEST_COOKIE: Final = 3_800
"""Characters: browsers keep 4096 bytes of name, value and attributes."""
_REMEMBERED: Final = timedelta(days=365)
_USERNAME: Final = "username:"
_LONGEST_NAME: Final = 255


class BrowserCookies:
    """Reads and writes the cookies of sign-ins."""

    def __init__(self, secrets: SecretsAtRest, identities: IdentityVerification) -> None:
        self._secrets = secrets
        self._identities = identities

    async def browser(self, request: BrowserRequest) -> Browser:
        """Return what is known of the browser; raises StoreUnavailable."""
        return Browser(
            session_id=self._session_id(request),
            identity=await self.identity(request),
            restart=self._restart(request),
            remembered_username=_remembered(request),
        )

    async def identity(self, request: BrowserRequest) -> Identity | None:
        """Return who is signed in: the first identity cookie that holds."""
        for value in request.cookie(CookieName.IDENTITY):
            found = await self._identities.find(request.protocol, value)
            if found is not None:
                return found
        return None

    def began(
        self, request: ProtocolRequest, asked: SignInRequest, session_id: str
    ) -> tuple[Cookie, ...]:
        """Return the cookies of a sign-in that waits for the user."""
        cookies = [self.of_sign_ins(request, session_id)]
        stored = orjson.dumps(dict(asked.stored())).decode()
        restart = self._secrets.seal(stored, _restart_context(request))
        if len(restart) <= _LONGEST_COOKIE:
            cookies.append(Cookie(CookieName.RESTART, restart))
        return tuple(cookies)

    def of_sign_ins(self, request: ProtocolRequest, session_id: str) -> Cookie:
        """Return the cookie that names the sign-ins of the browser."""
        sealed_id = self._secrets.seal(session_id, _session_context(request))
        return Cookie(CookieName.AUTHENTICATION_SESSION, sealed_id)

    def signed_in(
        self, request: ProtocolRequest, session: UserSession, remember: str | None
    ) -> tuple[Cookie, ...]:
        """Return the cookies of a session that was begun; `remember` "" forgets the user name."""
        issued = issue_identity(request.realm, request.issuer, session, request.now)
        cookies = [
            Cookie(CookieName.IDENTITY, issued.identity, issued.max_age),
            Cookie(CookieName.SESSION, issued.session, issued.session_max_age),
            expired(CookieName.RESTART),
        ]
        if remember:
            name = f"{_USERNAME}{quote(remember, safe='')}"
            cookies.append(Cookie(CookieName.REMEMBER_ME, name, _REMEMBERED))
        elif remember is not None:
            cookies.append(expired(CookieName.REMEMBER_ME))
        return tuple(cookies)

    def _session_id(self, request: BrowserRequest) -> str | None:
        for value in request.cookie(CookieName.AUTHENTICATION_SESSION):
            found = self._unsealed(value, _session_context(request.protocol))
            if found is not None:
                return found
        return None

    def _restart(self, request: BrowserRequest) -> dict[str, str] | None:
        for value in request.cookie(CookieName.RESTART):
            found = self._unsealed(value, _restart_context(request.protocol))
            if found is not None:
                document: dict[str, Any] = orjson.loads(found)
                return document
        return None

    def _unsealed(self, value: str, context: str) -> str | None:
        try:
            return self._secrets.unseal(value, context)
        except SecretUnreadable:
            return None


def signed_out() -> tuple[Cookie, ...]:
    """Return what removes the cookies of a signed-in user, and of sign-ins."""
    names = CookieName.IDENTITY, CookieName.SESSION, CookieName.AUTHENTICATION_SESSION
    return tuple(map(expired, (*names, CookieName.RESTART)))


def _remembered(request: BrowserRequest) -> str | None:
    if not request.protocol.realm.realm.login.remember_me:
        return None
    for value in request.cookie(CookieName.REMEMBER_ME):
        name = unquote(value.removeprefix(_USERNAME))
        if value.startswith(_USERNAME) and 0 < len(name) <= _LONGEST_NAME and name.isprintable():
            return name
    return None


def _session_context(request: ProtocolRequest) -> str:
    return f"authentication-session:{request.realm.realm.id}"


def _restart_context(request: ProtocolRequest) -> str:
    return f"restart:{request.realm.realm.id}"
