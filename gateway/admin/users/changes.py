"""Users changed and removed by administrators.

A new password is hashed before anything is locked, and what it was hashed for is compared then.
Keycloak: PUT users/{id}, DELETE users/{id}
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

from gateway.admin.access import Acting, Change, Changes, Missing, get_user_for_update
from gateway.admin.users.drafts import changed_user
from gateway.admin.users.names import require_free_names
from gateway.admin.users.password_changes import PasswordChanges, PreparedPassword, until_unchanged
from gateway.admin.users.views import user_document
from gateway.domain.clock import Clock
from gateway.domain.errors import StoreUnavailable
from gateway.domain.events import OperationType, ResourceType
from gateway.domain.limits.patterns import PatternMatches, repeat_while_pending
from gateway.domain.ports.invalidation import client_topic, user_topic
from gateway.domain.ports.login_failures import LoginFailureStore
from gateway.domain.ports.sessions import OnlineSessionStore
from gateway.domain.ports.storage import Database
from gateway.domain.users import PRIORITY_STEP, Credential, User
from gateway.representations.users import PASSWORD, GivenUser, NewPassword, read_given_user


@dataclass(frozen=True, slots=True)
class ShortLived:
    """What is remembered of users in Redis."""

    sessions: OnlineSessionStore
    failures: LoginFailureStore


@dataclass(frozen=True, slots=True)
class _Sent:
    given: GivenUser
    document: Mapping[str, Any]


class UserChanges:
    """The use cases."""

    def __init__(
        self,
        database: Database,
        changes: Changes,
        passwords: PasswordChanges,
        short_lived: ShortLived,
        clock: Clock,
    ) -> None:
        self._database = database
        self._changes = changes
        self._passwords = passwords
        self._short_lived = short_lived
        self._clock = clock

    async def update(self, acting: Acting, user_id: str, document: Mapping[str, Any]) -> None:
        """Change what was sent of a user.

        Raises Missing, Forbidden, PreconditionFailed, AlreadyExists,
        Refused, InvalidInput (PasswordRefused, ProfileViolated among it), Overloaded and
        StoreUnavailable.
        """
        given = read_given_user(document, self._clock.now())
        await until_unchanged(
            lambda: repeat_while_pending(
                lambda matches: self._attempt(acting, user_id, _Sent(given, document), matches)
            )
        )

    async def remove(self, acting: Acting, user_id: str) -> None:
        """Forget a user, its sessions and its failures; raises Missing, PreconditionFailed."""
        async with self._changes.begin(acting) as change:
            user = await get_user_for_update(change.stores, change.realm.id, user_id)
            await require_as_known(change, user)
            realm_id = change.realm.id
            for session in await change.stores.offline_sessions.of_user(realm_id, user.id):
                await change.stores.refresh_tokens.end_of_session(realm_id, session.id)
            await change.stores.users.remove(realm_id, user.id)
            told = {"id": user.id, "username": user.username}
            change.record(OperationType.DELETE, ResourceType.USER, f"users/{user.id}", told)
            invalidate_user(change, user)
        with suppress(StoreUnavailable):  # nobody is found by them any more, and they age
            await self._short_lived.sessions.end_of_user(realm_id, user.id)
            await self._short_lived.failures.clear(realm_id, user.id)

    async def _attempt(
        self, acting: Acting, user_id: str, sent: _Sent, matches: PatternMatches
    ) -> None:
        given, document = sent.given, sent.document
        prepared = await self._prepared(acting, user_id, given, matches)
        async with self._changes.begin(acting) as change:
            before = await get_user_for_update(change.stores, change.realm.id, user_id)
            await require_as_known(change, before)
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
                # Or what is counted against the user would lock it again at the next sign-in.
                await self._short_lived.failures.clear(change.realm.id, before.id)

    async def _prepared(
        self, acting: Acting, user_id: str, given: GivenUser, matches: PatternMatches
    ) -> PreparedPassword | None:
        passwords = [one for one in given.credentials if isinstance(one, NewPassword)]
        if not passwords:
            return None
        async with self._database.read() as stores:
            realm = await stores.realms.find_by_name(acting.realm.name)
            user = await stores.users.find_by_id(acting.realm.id, user_id)
            if realm is None or user is None:
                raise Missing("User not found")
            await changed_user(stores, realm, given, user, matches)
            held = await stores.users.credentials(realm.id, user.id)
        return await self._passwords.prepare(realm, user, held, passwords[-1].password)


async def require_as_known(change: Change, user: User) -> None:
    """Raise PreconditionFailed where the caller knew the user in another state."""
    if change.acting.if_match is not None:
        rights = change.acting.rights
        change.require_match(await user_document(change.stores, change.realm, rights, user))


def invalidate_user(change: Change, user: User) -> None:
    """Invalidate what gateways remember of the user."""
    change.tell(user_topic(user.realm_id, user.id))
    if user.service_account_client is not None:
        change.tell(client_topic(user.realm_id, user.service_account_client))


async def _store_hashed(change: Change, user: User, given: GivenUser) -> None:
    """Store credentials that came hashed; a password takes the place of the one there is."""
    hashed = [one for one in given.credentials if isinstance(one, Credential)]
    if not hashed:
        return
    users, realm_id = change.stores.users, change.realm.id
    held = await users.credentials(realm_id, user.id)
    if any(one.type == PASSWORD for one in hashed):
        for one in held:
            if one.type == PASSWORD:
                await users.remove_credential(realm_id, one)
    last = max((one.priority for one in held), default=0)
    for place, one in enumerate(hashed, start=1):
        own = replace(one, id=str(uuid4()), user_id=user.id, priority=last + place * PRIORITY_STEP)
        await users.set_credential(realm_id, own)
