"""The services that grants share, and the first tokens of a client in a session."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass

from gateway.authentication.sign_in_engine import SignInEngine
from gateway.authentication.validity import Validity, is_offline_access_granted
from gateway.domain.clients import Client
from gateway.domain.events import Detail, EventError
from gateway.domain.ports.client_keys import ClientEncrypters, Encrypter
from gateway.domain.ports.lookups import ClientEntry, Directory, UserEntry
from gateway.domain.ports.sign_in import AuthorizationCodeStore, DeviceAuthorizationStore
from gateway.domain.ports.storage import Database
from gateway.domain.sessions import client_session_ends_at, device_notes
from gateway.domain.users import User
from gateway.protocol.authorization import CheckServices
from gateway.protocol.client_authentication import ClientAuthenticator
from gateway.protocol.consents import Consents
from gateway.protocol.devices import Devices
from gateway.protocol.errors import refused
from gateway.protocol.requests import ProtocolRequest
from gateway.protocol.scopes import GrantedScopes, resolve_claims
from gateway.protocol.sender_constraint import SenderConstraint
from gateway.protocol.sessions import Joined, NewSession, Participation, Sessions
from gateway.protocol.tokens import (
    OFFLINE,
    REFRESH,
    AccessTokens,
    Issue,
    RefreshTokens,
    SessionPart,
    TokenResponse,
    id_token_encrypter,
    issue_tokens,
)


@dataclass(frozen=True, slots=True)
class ProtocolServices:
    """The services of the grants and of the endpoints that clients call."""

    directory: Directory
    database: Database
    sessions: Sessions
    validity: Validity
    sign_in_engine: SignInEngine
    refresh_tokens: RefreshTokens
    authorization_codes: AuthorizationCodeStore
    device_authorizations: DeviceAuthorizationStore
    consents: Consents
    encryption: ClientEncrypters
    constraint: SenderConstraint
    access_tokens: AccessTokens
    clients: ClientAuthenticator
    checks: CheckServices
    devices: Devices


async def issue_with_session(
    services: ProtocolServices,
    request: ProtocolRequest,
    client: ClientEntry,
    user: UserEntry,
    granted: GrantedScopes,
    *,
    grant: str,
    notes: Mapping[str, str] | None = None,
    always_refreshable: bool = False,
) -> TokenResponse:
    """Begin a session and issue its tokens; `grant` is the shortcut in the jti."""
    if granted.offline:
        require_offline_access(request, client.client, user)
    encrypter = None
    if granted.openid:
        encrypter = await id_token_encrypter(services.encryption, client.client)
    notes = {**(notes or {}), **device_notes(request.user_agent)}
    return await issue_in_session(
        services,
        request,
        client,
        user,
        granted,
        joined=await services.sessions.begin(
            request.realm.realm,
            client.client,
            NewSession(user.user, request.remote_address, notes=notes),
            Participation(" ".join(granted.names)),
            request.now,
            offline=granted.offline,
        ),
        grant=grant,
        always_refreshable=always_refreshable,
        encrypter=encrypter,
    )


async def issue_in_session(
    services: ProtocolServices,
    request: ProtocolRequest,
    client: ClientEntry,
    user: UserEntry,
    granted: GrantedScopes,
    *,
    joined: Joined,
    grant: str,
    encrypter: Encrypter | None,
    nonce: str | None = None,
    always_refreshable: bool = False,
) -> TokenResponse:
    """Issue tokens for a client that takes part in a session.

    `nonce` is that of the authorization request; `encrypter` was looked up before the code was
    spent. Raises OAuthError where a token cannot be bound or signed, and StoreUnavailable.
    """
    part = new_session_part(request, joined)
    issue = Issue(
        resolve_claims(client, user, granted, session=joined.session),
        grant,
        part,
        nonce=nonce,
        always_refreshable=always_refreshable,
        id_token_encrypter=encrypter,
    )
    tokens = issue_tokens(request, issue)
    await begin_token_family(services, request, client.client, part)
    _note_session(request, user.user, part)
    return tokens


def new_session_part(request: ProtocolRequest, joined: Joined) -> SessionPart:
    """Return the part of a client that has just joined, with the id of its refresh token."""
    return SessionPart(
        joined.session,
        joined.client_session,
        refresh_id=str(uuid.uuid4()),
        family=str(uuid.uuid4()) if request.realm.realm.refresh_tokens.revoke_on_use else None,
    )


async def begin_token_family(
    services: ProtocolServices, request: ProtocolRequest, client: Client, part: SessionPart
) -> None:
    """Store the family of the refresh token, where they rotate; raises StoreUnavailable."""
    if part.family is None:
        return
    realm = request.realm.realm
    end = client_session_ends_at(
        realm.session_limits, part.session, client.session_limits, part.client_session
    )
    async with services.database.write() as stores:
        await stores.refresh_tokens.begin(
            realm.id,
            part.family,
            session_id=part.session.id,
            token_id=part.refresh_id,
            expires_at=end,
        )


def require_offline_access(request: ProtocolRequest, client: Client, user: UserEntry) -> None:
    """Refuse an offline session that the client or the user may not have."""
    if not is_offline_access_granted(request.realm, client, user.roles):
        text = "Offline tokens not allowed for the user or client"
        raise refused("not_allowed", text, EventError.NOT_ALLOWED)


def _note_session(request: ProtocolRequest, user: User, part: SessionPart) -> None:
    event = request.event
    event.user_id, event.session_id = user.id, part.session.id
    event.details[Detail.REFRESH_TOKEN_TYPE] = OFFLINE if part.session.offline else REFRESH
    event.details[Detail.REFRESH_TOKEN_ID] = part.refresh_id
