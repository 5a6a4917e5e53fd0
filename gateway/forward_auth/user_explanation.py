"""The decision of the rules about a user without a credential: for operators, never for callers.

The user is taken as signed in at the site now, or as the bearer of a token where the rule accepts
no sessions, with the default scopes of the site's client. The token is one for the site.
"""

from gateway.authentication.validity import (
    NoLongerValid,
    require_enabled_realm,
    require_usable_user,
)
from gateway.domain.errors import FieldError, InvalidInput
from gateway.domain.forward_auth import (
    AcceptedCredential,
    AssertedIdentity,
    Decision,
    OriginalRequest,
    Reason,
    Rule,
    Site,
    Unauthenticated,
)
from gateway.domain.ports.lookups import RealmEntry, UserEntry
from gateway.domain.ports.storage import Database
from gateway.domain.roles import render_client_role
from gateway.forward_auth.callers import CallerRights, LiveAccounts, current_rights
from gateway.forward_auth.decisions import decide_for_caller, find_rule
from gateway.forward_auth.site_table import Sites


class UserExplanations:
    """Decisions as they would be for a user."""

    def __init__(self, sites: Sites, accounts: LiveAccounts, database: Database) -> None:
        self._sites = sites
        self._accounts = accounts
        self._database = database

    async def explain(
        self, original: OriginalRequest, username: str, realm_name: str | None
    ) -> Decision:
        """Return the decision about a user; raises InvalidInput and StoreUnavailable."""
        found = find_rule(await self._sites.table(), original)
        if not isinstance(found, tuple):
            return found
        site, rule = found
        realm = await self._realm(site, realm_name or site.realms[0])
        user = await self._user(realm, username)
        refusal = _refusal(realm, user)
        if refusal is not None:
            may_sign_in = site.client is not None and AcceptedCredential.SESSION in rule.accepts
            return Unauthenticated(
                Reason.INVALID_SESSION, refusal, site, rule, may_sign_in=may_sign_in
            )
        return decide_for_caller(site, rule, await self._identity(site, rule, realm, user))

    async def _realm(self, site: Site, name: str) -> RealmEntry:
        realm = await self._accounts.realm(name)
        if realm is None or name not in site.realms:
            raise _unknown("--realm", name, f"one of the realms {', '.join(site.realms)}")
        return realm

    async def _user(self, realm: RealmEntry, username: str) -> UserEntry:
        async with self._database.read() as stores:
            found = await stores.users.find_by_username(realm.realm.id, username)
        user = None
        if found is not None:
            user = await self._accounts.directory.user(realm.realm.id, found.id)
        if user is None:
            raise _unknown("--user", username, f"the name of a user of {realm.realm.name}")
        return user

    async def _identity(
        self, site: Site, rule: Rule, realm: RealmEntry, user: UserEntry
    ) -> AssertedIdentity:
        rights = await self._rights(site, realm, user)
        is_session = AcceptedCredential.SESSION in rule.accepts
        return AssertedIdentity(
            realm=realm.realm.name,
            kind=AcceptedCredential.SESSION if is_session else AcceptedCredential.BEARER,
            subject=user.user.id,
            username=user.user.username,
            email=user.user.email,
            email_verified=user.user.email_verified,
            groups=user.groups,
            realm_roles=rights.realm_roles,
            client_roles=rights.client_roles,
            client_id=site.client,
            scopes=rights.scopes,
            audiences=frozenset(site.token_audiences(rule) or ()),
        )

    async def _rights(self, site: Site, realm: RealmEntry, user: UserEntry) -> CallerRights:
        client = site.client and await self._accounts.directory.client(realm.realm.id, site.client)
        if client:
            return current_rights(realm, client, user, client.client.default_client_scopes)
        clients = (
            render_client_role(owner, role) for owner, roles in user.roles.clients for role in roles
        )
        return CallerRights(frozenset(user.roles.realm), frozenset(clients), frozenset())


def _refusal(realm: RealmEntry, user: UserEntry) -> str | None:
    try:
        require_enabled_realm(realm.realm)
    except NoLongerValid:
        return f"the realm {realm.realm.name} is disabled"
    try:
        require_usable_user(user)
    except NoLongerValid:
        return f"the user {user.user.username} is disabled"
    return None


def _unknown(option: str, given: str, allowed: str) -> InvalidInput:
    return InvalidInput((FieldError(option, repr(given), allowed),))
