"""Signing a browser in at a site: the authorization code flow with the site's client.

The realm's own endpoint asks the user. The code is redeemed here by the rule of the grant, without
a request: no token is issued. Spec: RFC 6749 §4.1, RFC 7636 §4.1, RFC 9207 §2.4,
OpenID Connect Core §3.1.2
"""

import hashlib
import hmac
import secrets
from dataclasses import dataclass, field, replace
from typing import Final
from urllib.parse import urlencode

from gateway.authentication.validity import is_usable_client
from gateway.domain import base64url
from gateway.domain.clients import Client
from gateway.domain.events import EventError, EventType
from gateway.domain.forward_auth import SiteSession, unusable_setting
from gateway.domain.forward_auth.site_session import cookie_scope
from gateway.domain.ports.directory import ClientEntry
from gateway.domain.ports.sign_in.pushed_requests import PushedParameters, PushedRequestStore
from gateway.domain.ports.site_sessions import SiteSessions
from gateway.domain.sessions import session_maximum_ends_at
from gateway.forward_auth.browser.pending_sign_ins import PendingSignIn
from gateway.forward_auth.browser.urls import CALLBACK_PATH
from gateway.forward_auth.browser.visit import SiteVisit
from gateway.forward_auth.live_accounts import LiveAccounts
from gateway.protocol.authorization import PageError, PageMessage, keep_pushed_request
from gateway.protocol.parameters import Parameters
from gateway.protocol.sign_in_results.code_redemption import CodeRedemption, RedeemedSignIn

_SECRET_BYTES: Final = 32
_OPENID: Final = "openid"


class SignInFailed(Exception):
    """The browser is not signed in; `str()` is the reason for the log.

    `return_url` is where the user wanted to go, None where that is not known. `is_denied` where the
    user, or the realm, has refused it.
    """

    def __init__(
        self, reason: str, return_url: str | None = None, *, is_denied: bool = False
    ) -> None:
        super().__init__(reason)
        self.return_url = return_url
        self.is_denied = is_denied


@dataclass(frozen=True, slots=True)
class BegunSignIn:
    """`url` is the realm's authorization endpoint with the request."""

    url: str = field(repr=False)
    pending: PendingSignIn


@dataclass(frozen=True, slots=True)
class SignedIn:
    """`value` is that of the session cookie: 256 random bits."""

    value: str = field(repr=False)
    session: SiteSession
    return_url: str = field(repr=False)


class SiteSignIn:
    """Begins and completes sign-ins. Methods raise PageError and StoreUnavailable."""

    def __init__(
        self,
        accounts: LiveAccounts,
        redemption: CodeRedemption,
        sessions: SiteSessions,
        pushed_requests: PushedRequestStore,
    ) -> None:
        self._accounts = accounts
        self._redemption = redemption
        self._sessions = sessions
        self._pushed_requests = pushed_requests

    async def begin(self, visit: SiteVisit, return_url: str) -> BegunSignIn:
        """Begin the sign-in that leads to a URL of the site."""
        client = (await self._client(visit)).client
        pending = PendingSignIn.new(return_url, visit.request.now)
        asked = {
            "client_id": client.client_id,
            "redirect_uri": f"{visit.origin}{CALLBACK_PATH}",
            "response_type": "code",
            "scope": " ".join(_scopes(visit, client)),
            "state": pending.state,
            "nonce": pending.nonce,
            "code_challenge": _challenge(pending.verifier),
            "code_challenge_method": "S256",
        }
        if client.authorization.pushed_requests_only:
            asked = await self._push(visit, client, asked)
        endpoint = f"{visit.request.issuer}/protocol/openid-connect/auth"
        return BegunSignIn(f"{endpoint}?{urlencode(asked)}", pending)

    async def _push(
        self, visit: SiteVisit, client: Client, asked: dict[str, str]
    ) -> dict[str, str]:
        """Keep the request for the realm's endpoint; return the parameters that name it.

        Every caller can begin a sign-in, so the request counts as that of a public client.
        """
        pushed = PushedParameters(asked, was_signed=True, is_anonymous=True)
        realm = visit.request.realm.realm
        kept = await keep_pushed_request(self._pushed_requests, realm, client, pushed)
        return {"client_id": client.client_id, "request_uri": kept.request_uri}

    async def complete(self, visit: SiteVisit, pending: PendingSignIn | None) -> SignedIn:
        """Take the realm's response; raises SignInFailed and OAuthError too.

        `pending` is what the browser kept of the sign-in that the response's `state` names.
        """
        if pending is None or not _is_named(visit, pending):
            raise SignInFailed("the browser has begun no such sign-in")
        code = _code(visit, pending)
        client = await self._client(visit)
        redeemed = await self._redeem(visit, client.client, code, pending)
        if not hmac.compare_digest((redeemed.code.nonce or "").encode(), pending.nonce.encode()):
            visit.request.event.fail(EventError.INVALID_CODE)
            raise SignInFailed("the code was issued with another nonce", pending.return_url)
        return await self._store(visit, client.client, redeemed, pending)

    async def _client(self, visit: SiteVisit) -> ClientEntry:
        realm, client_id = visit.request.realm.realm, visit.site.client
        entry = (
            None
            if client_id is None
            else await self._accounts.directory.client(realm.id, client_id)
        )
        if entry is None:
            error = EventError.CLIENT_NOT_FOUND
            raise PageError(PageMessage.clientNotFoundMessage, event_error=error)
        if not is_usable_client(entry):
            error = EventError.CLIENT_DISABLED
            raise PageError(PageMessage.clientDisabledMessage, event_error=error)
        unusable = unusable_setting(entry.client)
        if unusable is not None:
            reason = f"the client {client_id} cannot sign browsers in: {unusable}"
            error = EventError.NOT_ALLOWED
            raise PageError(PageMessage.siteClientUnusableMessage, event_error=error, reason=reason)
        return entry

    async def _redeem(
        self, visit: SiteVisit, client: Client, code: str, pending: PendingSignIn
    ) -> RedeemedSignIn:
        form = {
            "code": code,
            "redirect_uri": f"{visit.origin}{CALLBACK_PATH}",
            "code_verifier": pending.verifier,
        }
        visit.request.event.begin(EventType.CODE_TO_TOKEN)
        visit.request.event.client_id = client.client_id
        # A refresh token is never issued, so nothing could use an offline session.
        request = replace(visit.request, parameters=Parameters(form))
        return await self._redemption.redeem(request, client, only_online=True)

    async def _store(
        self, visit: SiteVisit, client: Client, redeemed: RedeemedSignIn, pending: PendingSignIn
    ) -> SignedIn:
        realm, now = visit.request.realm.realm, visit.request.now
        joined = redeemed.joined.session
        session = SiteSession(
            site=cookie_scope(visit.site),
            realm_id=realm.id,
            client=client.client_id,
            user_id=redeemed.user.user.id,
            session_id=joined.id,
            created_at=now,
        )
        end = session_maximum_ends_at(realm.session_limits, joined)
        lifespan = realm.session_limits.max_lifespan if end is None else end - now
        value = secrets.token_urlsafe(_SECRET_BYTES)
        await self._sessions.add(value, session, lifespan)
        return SignedIn(value, session, pending.return_url)


def _is_named(visit: SiteVisit, pending: PendingSignIn) -> bool:
    """Tell whether the response answers this sign-in."""
    state = visit.request.parameters.get("state") or ""
    return hmac.compare_digest(state.encode(), pending.state.encode())


def _code(visit: SiteVisit, pending: PendingSignIn) -> str:
    """Return the code of the response; raises SignInFailed."""
    sent = visit.request.parameters
    if sent.repeated:
        raise SignInFailed("the response has a parameter twice", pending.return_url)
    if sent.get("iss") != visit.request.issuer:
        raise SignInFailed("the response is of another issuer", pending.return_url)
    error = sent.get("error")
    if error is not None:
        is_denied = error == "access_denied"
        raise SignInFailed("the realm has refused it", pending.return_url, is_denied=is_denied)
    code = sent.get("code")
    if code is None:
        raise SignInFailed("the response has no code", pending.return_url)
    return code


def _scopes(visit: SiteVisit, client: Client) -> tuple[str, ...]:
    """Return `openid` and the optional scopes of the client that rules of the site require."""
    required = {scope for rule in visit.site.rules for scope in rule.requirements.scopes}
    return (_OPENID, *sorted(required.intersection(client.optional_client_scopes)))


def _challenge(verifier: str) -> str:
    digest = hashlib.sha256(verifier.encode("ascii")).digest()
    return base64url.encode(digest)
