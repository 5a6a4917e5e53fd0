"""The user of an account, by an access token or a browser session, and the rights of that user.

The rights are the roles of the client `account` that the user has now, limited to the scope of the
token. A disabled user is refused with every proof. A temporary lock-out refuses new
sign-ins alone. Keycloak: 17.1 access; attacks: D3
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from gateway.authentication.validity import NoLongerValid, is_usable_client, require_usable_user
from gateway.domain.errors import InvalidToken
from gateway.domain.ports.lookups import ClientEntry, Directory, RealmEntry, UserEntry
from gateway.domain.realm import Realm
from gateway.domain.refusals import Forbidden, NotAuthenticated, NotFound
from gateway.domain.roles import EffectiveRoles
from gateway.domain.sessions import IMPERSONATOR_ID, UserSession
from gateway.protocol.claims.mapper import ClaimsFor
from gateway.protocol.claims.protocol_claims import audiences_of, only_for
from gateway.protocol.errors import OAuthError, ProofRefused
from gateway.protocol.requests import ProtocolRequest
from gateway.protocol.scopes import carried_roles, resolve_claims, still_granted
from gateway.protocol.sender_constraint import SenderConstraint, TokenCredential
from gateway.protocol.tokens import AccessTokens, ActiveToken

ACCOUNT: Final = "account"
"""The client that owns the roles, and the audience of the tokens."""
REMOVED_OR_DISABLED: Final = "the user was removed or disabled"


class AccountRole(StrEnum):
    """The roles of the client `account`. Keycloak: 17.1 access."""

    MANAGE_ACCOUNT = "manage-account"
    MANAGE_ACCOUNT_LINKS = "manage-account-links"
    VIEW_PROFILE = "view-profile"
    VIEW_APPLICATIONS = "view-applications"
    VIEW_CONSENT = "view-consent"
    MANAGE_CONSENT = "manage-consent"
    VIEW_GROUPS = "view-groups"
    DELETE_ACCOUNT = "delete-account"


_ROLES: Final = {role.value: role for role in AccountRole}
_READING: Final = frozenset(role for role in AccountRole if role.startswith("view-"))


@dataclass(frozen=True, slots=True)
class AccountCaller:
    """A user who reads or changes the own account.

    `session` is the user's, None for a token without one. `client` is the client of the token, None
    for a page of the gateway. `acr` is that of the token. Changes are noted in the event of
    `request`.
    """

    request: ProtocolRequest
    user: UserEntry
    roles: frozenset[AccountRole]
    session: UserSession | None = None
    client: ClientEntry | None = None
    acr: str | None = None

    @property
    def entry(self) -> RealmEntry:
        return self.request.realm

    @property
    def realm(self) -> Realm:
        return self.request.realm.realm

    @property
    def user_id(self) -> str:
        return self.user.user.id

    def has(self, *sufficient: AccountRole) -> bool:
        """Tell whether the user has one of the roles; an impersonated one only reads.

        **Here** alone: an administrator who may impersonate could change the address, and with it
        the password, of the user. Keycloak permits it.
        """
        session = self.session
        is_impersonated = session is not None and IMPERSONATOR_ID in session.notes
        roles = self.roles & _READING if is_impersonated else self.roles
        return not roles.isdisjoint(sufficient)

    def require(self, *sufficient: AccountRole) -> None:
        """Raise Forbidden unless the user has one of the roles."""
        if not self.has(*sufficient):
            raise Forbidden(f"none of the roles {', '.join(sufficient)} of the client {ACCOUNT}")

    def is_current(self, session: UserSession) -> bool:
        """Return whether the user is signed in by this session."""
        return self.session is not None and self.session.id == session.id


class AccountAccess:
    """Finds the caller. Methods raise NotAuthenticated, NotFound and StoreUnavailable."""

    def __init__(
        self, access_tokens: AccessTokens, constraint: SenderConstraint, directory: Directory
    ) -> None:
        self._access_tokens = access_tokens
        self._constraint = constraint
        self._directory = directory

    async def by_token(
        self, request: ProtocolRequest, credential: TokenCredential | None
    ) -> AccountCaller:
        """Return the bearer of a token for `account`; raises ProofRefused and OriginRefused too."""
        await self._require_offered(request)
        if credential is None:
            raise NotAuthenticated("no bearer token")
        try:
            active = await self._access_tokens.find_active(request, credential.token)
            await self._constraint.require(request, active.client.client, active.claims, credential)
        except ProofRefused:
            raise
        except (InvalidToken, OAuthError) as error:
            raise NotAuthenticated(str(error)) from error
        _require_audience(request.realm, active)
        if active.user.user.service_account_client is not None:
            raise NotAuthenticated("service accounts have no account to manage")
        request.page.require(active.client.client.allowed_origins)
        acr = active.claims.get("acr")
        return self._known(
            AccountCaller(
                request,
                active.user,
                _account_roles(_held(request.realm, active)),
                active.session,
                active.client,
                acr if isinstance(acr, str) else None,
            )
        )

    async def by_session(self, request: ProtocolRequest, session: UserSession) -> AccountCaller:
        """Return the user of a live session of a browser, with all roles that the user has."""
        await self._require_offered(request)
        found = await self._directory.user(request.realm.realm.id, session.user_id)
        try:
            user = require_usable_user(found)
        except NoLongerValid as refusal:
            raise NotAuthenticated(REMOVED_OR_DISABLED) from refusal
        return self._known(AccountCaller(request, user, _account_roles(user.roles), session))

    async def _require_offered(self, request: ProtocolRequest) -> None:
        if not is_usable_client(await self._directory.client(request.realm.realm.id, ACCOUNT)):
            raise NotFound("account management not enabled")

    @staticmethod
    def _known(caller: AccountCaller) -> AccountCaller:
        """Note the caller in the event of the request: events name the client `account`."""
        event = caller.request.event
        event.client_id, event.user_id = ACCOUNT, caller.user_id
        return caller


def _held(realm: RealmEntry, active: ActiveToken) -> EffectiveRoles:
    names = str(active.claims.get("scope", "")).split()
    granted = still_granted(realm, active.client.client, names)
    return carried_roles(active.client, active.user, granted.permitted_to(active.user.roles))


def _account_roles(held: EffectiveRoles) -> frozenset[AccountRole]:
    names = next((names for client, names in held.clients if client == ACCOUNT), ())
    return frozenset(_ROLES[name] for name in names if name in _ROLES)


def _require_audience(realm: RealmEntry, active: ActiveToken) -> None:
    """Raise NotAuthenticated unless the token, as introspection shows it, is for `account`."""
    audiences = audiences_of(active.claims)
    if ACCOUNT not in audiences and active.context.lightweight:
        names = str(active.claims.get("scope", "")).split()
        granted = still_granted(realm, active.client.client, names)
        context = resolve_claims(active.client, active.user, granted, session=active.session)
        wanted, mapped = only_for(active.claims), context.map_claims(ClaimsFor.INTROSPECTION)
        audiences = tuple(name for name in mapped.audiences if wanted is None or name in wanted)
    if ACCOUNT not in audiences:
        raise NotAuthenticated(f"the token is not for the audience {ACCOUNT}")
