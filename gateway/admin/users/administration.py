"""Users created, changed, enabled, disabled, unlocked and removed by administrators.

The profile of the realm validates the values, the realm's settings say whether a name may change;
unknown required actions are ignored. A password is hashed before any lock is held. Names and
addresses stay reserved until the end of the transaction, so that the second of two equal users is
refused. Keycloak: 7.2 (POST users, PUT users/{id}, DELETE users/{id})
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any, Final

from gateway.admin.access import Acting, existing, get_user, get_user_for_update, require_may_join
from gateway.admin.changes import Administration, Change, Changes
from gateway.admin.users.listing import user_document
from gateway.authentication import brute_force_protection
from gateway.authentication.brute_force_protection import is_locked_for_good, without_lockout_reason
from gateway.authentication.new_users import (
    NewUser,
    default_actions,
    default_role_ids,
    expect_actions,
    expect_default_role,
    store_new_users,
)
from gateway.authentication.passwords import PasswordChanges, PreparedPassword, until_unchanged
from gateway.authentication.realm_profile import expect_profile, locked_names, profile_rules
from gateway.authentication.removal import AccountRemoval
from gateway.authentication.unique_names import (
    expect_free_names,
    named_by_address,
    require_free_names,
)
from gateway.domain.events import OperationType, ResourceType
from gateway.domain.flows import REQUIRED_ACTIONS, UPDATE_PASSWORD
from gateway.domain.limits.patterns import PatternMatches, repeat_while_pending
from gateway.domain.ports.invalidation import client_topic, user_topic
from gateway.domain.ports.login_failures import LoginFailureStore
from gateway.domain.ports.storage import Stores
from gateway.domain.random_values import uuid4
from gateway.domain.realm import Realm
from gateway.domain.refusals import InvalidRequest, WireFamily
from gateway.domain.secrets import Secret
from gateway.domain.user_profile import (
    EMAIL,
    USERNAME,
    Sent,
    UserProfile,
    Values,
    Violation,
    cleaned,
    merged,
    values_of,
    with_values,
)
from gateway.domain.users import (
    MOST_CREDENTIALS,
    PASSWORD,
    PRIORITY_STEP,
    Credential,
    User,
    last_priority,
)
from gateway.representations.user_profile import ProfileViolated
from gateway.representations.users import NewPassword, UserInput, parse_user_input, require_storable

_NO_NAME: Final = "User name is missing"
_REQUIRED: Final = "error-user-attribute-required"


async def new_user(
    stores: Stores, realm: Realm, given: UserInput, now: datetime, matches: PatternMatches
) -> User:
    """Return the user to create; raises InvalidRequest, InvalidInput and MatchesPending."""
    blank = User(str(uuid4()), realm.id, "", enabled=False, created_at=now)
    values = given.sent.values
    if realm.login.registration_email_as_username:
        locked = frozenset({USERNAME})
        if not cleaned(values.get(EMAIL, ())) and cleaned(values.get(USERNAME, ())):
            raise ProfileViolated([Violation(EMAIL, _REQUIRED, (EMAIL,))])
    else:
        locked = frozenset()
    rules = await profile_rules(stores, realm)
    made = _validated(rules, given.sent, None, locked, matches)
    name = EMAIL if locked else USERNAME
    if name not in made:
        raise InvalidRequest(_NO_NAME)
    user = with_values(blank, {**made, USERNAME: made[name]})
    require_storable(user)
    due = await default_actions(stores, realm.id)
    return replace(
        user,
        enabled=given.enabled is True,
        email_verified=given.email_verified is True,
        created_at=given.created_at or now,
        required_actions=_actions((*due, *(given.required_actions or ())), due, given),
    )


async def changed_user(
    stores: Stores, realm: Realm, given: UserInput, before: User, matches: PatternMatches
) -> User:
    """Return the changed user; raises InvalidRequest, InvalidInput and MatchesPending."""
    name = given.sent.values.get(USERNAME)
    if name is not None and not cleaned(name):
        raise InvalidRequest(_NO_NAME)
    follows = realm.login.registration_email_as_username
    values = {
        name: texts
        for name, texts in given.sent.values.items()
        if not (follows and name == USERNAME)
    }
    sent = Sent(values, given.sent.whole)
    rules = await profile_rules(stores, realm)
    made = _validated(rules, sent, values_of(before), locked_names(realm.login), matches)
    user = with_values(before, made)
    if follows and user.email is None and before.email is not None:
        raise InvalidRequest(_NO_NAME)
    user = named_by_address(realm.login, user)
    if user != before:
        require_storable(user)
    return _switched(user, before, given)


def _validated(
    rules: UserProfile,
    sent: Sent,
    known: Values | None,
    locked: frozenset[str],
    matches: PatternMatches,
) -> Values:
    made = merged(rules, sent, known, locked, matches)
    matches.require_decided()
    if made.violations:
        raise ProfileViolated(made.violations)
    return made.values


def _switched(user: User, before: User, given: UserInput) -> User:
    """Return the user with the sent flags and actions; omitted ones keep their values."""
    if given.enabled is True:
        user = replace(user, attributes=brute_force_protection.without_lockout_reason(user))
    known = before.required_actions
    asked = known if given.required_actions is None else given.required_actions
    return replace(
        user,
        enabled=_or(given.enabled, before.enabled),
        email_verified=_or(given.email_verified, before.email_verified),
        required_actions=_actions(asked, known, given),
    )


def _or(given: bool | None, before: bool) -> bool:  # noqa: FBT001 - values to choose from
    return before if given is None else given


def _actions(asked: Sequence[str], known: Sequence[str], given: UserInput) -> tuple[str, ...]:
    """Return the required actions; unknown ones only if the user had them before."""
    actions = [name for name in asked if name in REQUIRED_ACTIONS or name in known]
    if any(isinstance(one, NewPassword) and one.temporary for one in given.credentials):
        actions.append(UPDATE_PASSWORD)
    return tuple(dict.fromkeys(actions))


_NAMES: Final = (USERNAME, EMAIL)


async def _store_user(
    change: Change, user: User, given: UserInput, prepared: PreparedPassword | None
) -> None:
    stores, realm = change.stores, change.realm
    joined = await _groups(change, given)
    await require_may_join(change.acting, stores, joined)
    names = await require_free_names(stores, realm, user)
    role_ids = await default_role_ids(stores, realm)
    groups = dict.fromkeys([*await stores.groups.default(realm.id), *joined])
    credentials = _credentials(user, given, prepared)
    new = NewUser(user, credentials, role_ids, tuple(groups))
    await store_new_users(stores, [new], names)


def _expect(realm: Realm, given: UserInput, stores: Stores) -> None:
    """Name what creating a user reads; only a realm or a name that differs is read apart."""
    expect_profile(stores, realm)
    expect_actions(stores, realm.id)
    expect_default_role(stores, realm)
    stores.groups.expect_default(realm.id)
    username, email = (next(iter(given.sent.values.get(name, ())), None) for name in _NAMES)
    if realm.login.registration_email_as_username:
        username = email
    expect_free_names(stores, realm, username, email)


def _new_password(given: UserInput) -> Secret | None:
    passwords = [one.password for one in given.credentials if isinstance(one, NewPassword)]
    return passwords[-1] if passwords else None


async def _groups(change: Change, given: UserInput) -> list[str]:
    found: list[str] = []
    for path in given.groups:
        group = await change.stores.group_catalogue.find_by_path(change.realm.id, path)
        if group is None:
            raise InvalidRequest(f"There is no group {path}")
        found.append(group.id)
    return found


def _credentials(
    user: User, given: UserInput, prepared: PreparedPassword | None
) -> tuple[Credential, ...]:
    made = () if prepared is None else prepared.change.stored
    brought = [one for one in given.credentials if isinstance(one, Credential)]
    return tuple(
        replace(one, id=str(uuid4()), user_id=user.id, priority=place * PRIORITY_STEP)
        for place, one in enumerate((*made, *brought), start=1)
    )


async def _require_match(change: Change, user: User) -> None:
    rights = change.acting.rights
    await change.require_loaded_match(user_document, change.stores, change.realm, rights, user)


def invalidate_user(change: Change, user: User) -> None:
    """Remove the user, and the client whose service account it is, from the gateways' caches."""
    change.invalidate(user_topic(user.realm_id, user.id))
    if user.service_account_client is not None:
        change.invalidate(client_topic(user.realm_id, user.service_account_client))


async def _store_hashed(change: Change, user: User, given: UserInput) -> None:
    """Store credentials that came hashed; a password replaces the existing one."""
    hashed = [one for one in given.credentials if isinstance(one, Credential)]
    if not hashed:
        return
    users, realm_id = change.stores.users, change.realm.id
    held = await users.credentials(realm_id, user.id)
    last = last_priority(held)
    if any(one.type == PASSWORD for one in hashed):
        for one in held:
            if one.type == PASSWORD:
                await users.remove_credential(realm_id, one)
        held = tuple(one for one in held if one.type != PASSWORD)
    if len(held) + len(hashed) > MOST_CREDENTIALS:
        raise InvalidRequest(f"A user has at most {MOST_CREDENTIALS} credentials", WireFamily.PROSE)
    for place, one in enumerate(hashed, start=1):
        own = replace(one, id=str(uuid4()), user_id=user.id, priority=last + place * PRIORITY_STEP)
        await users.set_credential(realm_id, own)


class UserAdministration(Administration):
    """Creates, changes, enables, disables, unlocks and removes users.

    All methods raise StoreUnavailable, and NotFound for an unknown user.
    """

    def __init__(
        self,
        changes: Changes,
        passwords: PasswordChanges,
        removal: AccountRemoval,
        login_failures: LoginFailureStore,
    ) -> None:
        super().__init__(changes)
        self._passwords = passwords
        self._removal = removal
        self._login_failures = login_failures

    async def create_user(self, acting: Acting, document: Mapping[str, Any]) -> str:
        """Create a user and return its id.

        Raises AlreadyExists, InvalidRequest, InvalidInput (PasswordRefused, ProfileViolated too),
        Forbidden for a group that gives rights beyond the caller's, Overloaded, StoreUnavailable.
        """
        given = parse_user_input(document, self._clock.now())
        attempt = partial(self._attempt_creation, acting, given, document)
        return await until_unchanged(lambda: repeat_while_pending(attempt))

    async def _attempt_creation(
        self,
        acting: Acting,
        given: UserInput,
        document: Mapping[str, Any],
        matches: PatternMatches,
    ) -> str:
        prepared = await self._prepare_new_password(acting, given, matches)
        expected = partial(_expect, acting.realm, given)
        async with self._changes.begin(acting, expect=expected) as change:
            user = await new_user(change.stores, change.realm, given, change.now, matches)
            if prepared is not None:
                prepared.require_current(change.realm, user, ())
            await _store_user(change, user, given, prepared)
            path = f"users/{user.id}"
            # Nothing is to be invalidated: that an id is unknown is remembered nowhere.
            change.record(OperationType.CREATE, ResourceType.USER, path, document)
        return user.id

    async def _prepare_new_password(
        self, acting: Acting, given: UserInput, matches: PatternMatches
    ) -> PreparedPassword | None:
        password = _new_password(given)
        if password is None:
            return None
        async with self._database.read() as stores:
            realm = existing(
                await stores.realms.find_by_name(acting.realm.name), "Realm not found."
            )
            user = await new_user(stores, realm, given, self._clock.now(), matches)
        return await self._passwords.prepare(realm, user, (), password)

    async def update_user(self, acting: Acting, user_id: str, document: Mapping[str, Any]) -> None:
        """Change the fields that were sent.

        Raises NotFound, Forbidden, PreconditionFailed, AlreadyExists, InvalidRequest, InvalidInput
        (PasswordRefused, ProfileViolated among it), Overloaded and StoreUnavailable.
        """
        given = parse_user_input(document, self._clock.now())
        attempt = partial(self._attempt_update, acting, user_id, given, document)
        await until_unchanged(lambda: repeat_while_pending(attempt))

    async def remove_user(self, acting: Acting, user_id: str) -> None:
        """Remove a user, its sessions and its failures; raises NotFound, PreconditionFailed."""
        async with self._changes.begin(acting) as change:
            user = await get_user_for_update(change.stores, change.realm.id, user_id)
            await _require_match(change, user)
            await self._removal.remove_account(change.stores, user)
            document = {"id": user.id, "username": user.username}
            change.record(OperationType.DELETE, ResourceType.USER, f"users/{user.id}", document)
            invalidate_user(change, user)
        await self._removal.end_sessions(user)

    async def _attempt_update(
        self,
        acting: Acting,
        user_id: str,
        given: UserInput,
        document: Mapping[str, Any],
        matches: PatternMatches,
    ) -> None:
        prepared = await self._prepare_password(acting, user_id, given, matches)
        async with self._changes.begin(acting) as change:
            before = await get_user_for_update(change.stores, change.realm.id, user_id)
            await _require_match(change, before)
            after = await changed_user(change.stores, change.realm, given, before, matches)
            await require_free_names(change.stores, change.realm, after, before)
            if prepared is not None:
                await self._passwords.store(change.stores, change.realm, before, prepared)
            await _store_hashed(change, before, given)
            if after != before:
                await change.stores.users.replace(after)
            change.record(OperationType.UPDATE, ResourceType.USER, f"users/{before.id}", document)
            invalidate_user(change, after)
            if after.enabled and not before.enabled:
                # Or the failures counted so far would lock the user at the next failed sign-in.
                await self._login_failures.clear(change.realm.id, before.id)

    async def _prepare_password(
        self, acting: Acting, user_id: str, given: UserInput, matches: PatternMatches
    ) -> PreparedPassword | None:
        password = _new_password(given)
        if password is None:
            return None
        async with self._database.read() as stores:
            realm = existing(await stores.realms.find_by_name(acting.realm.name), "User not found")
            user = await get_user(stores, realm.id, user_id)
            await changed_user(stores, realm, given, user, matches)
            held = await stores.users.credentials(realm.id, user.id)
        return await self._passwords.prepare(realm, user, held, password)

    async def disable_user(self, acting: Acting, user_id: str) -> None:
        """Disable a user: sign-ins and all its tokens are rejected.

        The user profile is not applied: an account with invalid attributes can be disabled.
        """
        async with self._changes.begin(acting) as change:
            user = await get_user_for_update(change.stores, change.realm.id, user_id)
            await _store_enabled(change, user, enabled=False)
            invalidate_user(change, user)

    async def enable_user(self, acting: Acting, user_id: str) -> None:
        """Enable a user, and end a lock-out."""
        await self._enable(acting, user_id, lambda _: True)

    async def unlock_user(self, acting: Acting, user_id: str) -> bool:
        """End a lock-out, temporary or permanent; return whether there was one.

        A user whom an administrator has disabled stays disabled.
        """
        return await self._enable(acting, user_id, is_locked_for_good)

    async def _enable(self, acting: Acting, user_id: str, is_due: Callable[[User], bool]) -> bool:
        """Clear the user's failures, then enable the account if it is due.

        In this order, or a sign-in that fails in between would lock the account again. If Redis is
        unavailable, the account is enabled before StoreUnavailable is raised.
        """
        cleared = None
        try:
            cleared = await self._login_failures.clear(acting.realm.id, user_id)
        finally:
            async with self._changes.begin(acting) as change:
                user = await get_user_for_update(change.stores, change.realm.id, user_id)
                enables = is_due(user)
                if enables:
                    await _store_enabled(change, user, enabled=True)
                if cleared is not None:
                    path = f"attack-detection/brute-force/users/{user.id}"
                    change.record(OperationType.DELETE, ResourceType.USER_LOGIN_FAILURE, path)
                invalidate_user(change, user)
        return bool(cleared) or enables


async def _store_enabled(change: Change, user: User, *, enabled: bool) -> None:
    attributes = without_lockout_reason(user) if enabled else user.attributes
    after = replace(user, enabled=enabled, attributes=attributes)
    if after != user:
        await change.stores.users.replace(after)
    document = {"enabled": enabled}
    change.record(OperationType.UPDATE, ResourceType.USER, f"users/{user.id}", document)
