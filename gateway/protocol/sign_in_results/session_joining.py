"""What every sign-in in a browser leads to: a user session with the client's part in it.

A new session has an id of its own. Who is signed in already keeps the
session: the client joins it, and credentials that were asked for again renew it.
Keycloak: attachSession, OIDCLoginProtocol; attacks: session fixation
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from gateway.domain.clients import OPENID_CONNECT
from gateway.domain.events import Detail, EventError, EventType
from gateway.domain.ports.directory import UserEntry
from gateway.domain.realm import Realm
from gateway.domain.sessions import UserSession, device_notes
from gateway.protocol.authorization.levels import levels_of
from gateway.protocol.claims.mapped_claims import AUTH_TIME
from gateway.protocol.errors import OAuthError, refused
from gateway.protocol.requests import ProtocolRequest
from gateway.protocol.sessions import (
    CodeIssue,
    Joined,
    NewSession,
    Participation,
    Sessions,
    no_code,
)
from gateway.protocol.sign_in_results.authentication_levels import acr_of
from gateway.protocol.sign_in_results.consents import ConsentDetail
from gateway.protocol.sign_in_results.identity_cookie import authenticated_at
from gateway.protocol.sign_in_results.sign_in_request import SignInRequest


@dataclass(frozen=True, slots=True)
class FinishedSignIn:
    """Who signed in, and how.

    `joins` is the session of the browser that was enough (single sign-on), `current` the one of its
    cookie in any case. `level` is None where the flow has no levels.
    """

    user: UserEntry
    joins: UserSession | None = None
    current: UserSession | None = None
    level: int | None = None
    remember_me: bool = False
    notes: Mapping[str, str] = field(default_factory=dict)
    consent: ConsentDetail = ConsentDetail.NOT_REQUIRED
    action: Mapping[str, str] = field(default_factory=dict)
    """`kc_action` and `kc_action_status` of an action that the client asked for."""


class DifferentUser(OAuthError):
    """Another user is signed in in this browser and stays signed in.

    Answered with a page. Keycloak: OIDCLoginProtocol
    """

    def __init__(self) -> None:
        error = refused("access_denied", "", EventError.DIFFERENT_USER_AUTHENTICATED)
        super().__init__(error.error, event=error.event)


class SessionEnded(OAuthError):
    """The session ended while the user signed in: the sign-in has to begin again."""

    def __init__(self) -> None:
        error = refused("login_required", "", EventError.USER_SESSION_NOT_FOUND)
        super().__init__(error.error, event=error.event)


class SessionJoining:
    """Begins, joins and renews the sessions of sign-ins."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    async def join(
        self,
        request: ProtocolRequest,
        asked: SignInRequest,
        finished: FinishedSignIn,
        issue: CodeIssue = no_code,
    ) -> Joined:
        """Return the session of the sign-in with the client's part, and the code for it.

        The event of `request` becomes LOGIN. Raises DifferentUser, SessionEnded and
        StoreUnavailable.
        """
        _note(request, asked, finished)
        joined = await self._joined(request, asked, finished, issue)
        request.event.session_id = joined.session.id
        request.event.details[Detail.CODE_ID] = joined.session.id
        return joined

    async def _joined(
        self,
        request: ProtocolRequest,
        asked: SignInRequest,
        finished: FinishedSignIn,
        issue: CodeIssue,
    ) -> Joined:
        realm, client, now = request.realm.realm, asked.client.client, request.now
        current = finished.joins or finished.current
        if current is not None and current.user_id != finished.user.user.id:
            raise DifferentUser
        if current is None:
            part = _participation(realm, asked, finished, now)
            new = _new_session(request, finished)
            return await self._sessions.begin_in_browser(realm, client, new, part, now, issue=issue)
        if finished.joins is not None:
            part = _participation(realm, asked, finished, authenticated_at(current))
            joined = await self._sessions.join(realm, current, client, part, now, issue=issue)
        else:
            part = _participation(realm, asked, finished, now)
            renewed = _renewed(current, finished, request)
            joined = await self._sessions.renew(realm, renewed, client, part, now, issue=issue)
        if joined is None:
            raise SessionEnded
        return joined


def _new_session(request: ProtocolRequest, finished: FinishedSignIn) -> NewSession:
    return NewSession(
        user=finished.user.user,
        address=request.remote_address,
        remember_me=finished.remember_me,
        notes=_notes({}, finished, request),
    )


def _participation(
    realm: Realm, asked: SignInRequest, finished: FinishedSignIn, signed_in: datetime
) -> Participation:
    names = levels_of(realm, asked.client.client)
    fresh = finished.joins is None
    return Participation(
        scope=" ".join(asked.scopes.names),
        acr=acr_of(finished.level, names, fresh=fresh, requested=_requested_acr(asked.claims)),
        authenticated_at=signed_in,
        claims=json.dumps(asked.claims, separators=(",", ":")) if asked.claims else "",
    )


def _requested_acr(claims: Mapping[str, Any]) -> Sequence[str]:
    """Return the classes that the parameter `claims` names. Spec: OpenID Connect Core §5.5.1.1."""
    of_token = claims.get("id_token")
    wanted = of_token.get("acr") if isinstance(of_token, dict) else None
    if not isinstance(wanted, dict):
        return ()
    values = wanted.get("values")
    several = [wanted.get("value"), *(values if isinstance(values, list) else ())]
    return tuple(value for value in several if isinstance(value, str))


def _renewed(
    session: UserSession, finished: FinishedSignIn, request: ProtocolRequest
) -> UserSession:
    return UserSession(
        id=session.id,
        realm_id=session.realm_id,
        user_id=session.user_id,
        username=finished.user.user.username,
        ip_address=request.remote_address,
        started_at=session.started_at,
        refreshed_at=session.refreshed_at,
        remember_me=session.remember_me or finished.remember_me,
        clients=session.clients,
        notes=_notes(session.notes, finished, request),
    )


def _notes(
    before: Mapping[str, str], finished: FinishedSignIn, request: ProtocolRequest
) -> Mapping[str, str]:
    signed_in = str(int(request.now.timestamp()))
    device = device_notes(request.user_agent)
    return {**before, **device, **finished.notes, AUTH_TIME: signed_in}


def _note(request: ProtocolRequest, asked: SignInRequest, finished: FinishedSignIn) -> None:
    event, user = request.event, finished.user.user
    event.begin(EventType.LOGIN)
    event.client_id, event.user_id = asked.client.client.client_id, user.id
    event.details |= {
        Detail.AUTH_METHOD: OPENID_CONNECT,
        **asked.event_details,
        Detail.CONSENT: str(finished.consent),
        Detail.USERNAME: user.username,
    }
    if finished.remember_me:
        event.details[Detail.REMEMBER_ME] = "true"
