"""Users of a partial import. Keycloak: 7.1 (partialImport)."""

from collections.abc import Mapping, Sequence

from gateway.admin.access import (
    Change,
    ControlledObject,
    ObjectKind,
    require_may_control,
    require_may_grant,
    require_may_join,
)
from gateway.admin.groups import RealmIndexes
from gateway.admin.realm_files.user_import import UserInput, UserPreparation
from gateway.admin.users import NewPasswords, NewUser, require_free_names, store_new_user
from gateway.domain.errors import AlreadyExists, FieldError, InvalidInput
from gateway.domain.ports.passwords import PasswordMaker
from gateway.domain.ports.sessions import OnlineSessionStore
from gateway.domain.users import User
from gateway.representations.realm_files import Action, IfExists, Kind, Outcome
from gateway.representations.refusals import describe


class PartialUsers:
    """Adds, skips or replaces, within one change."""

    def __init__(
        self,
        change: Change,
        policy: IfExists,
        indexes: RealmIndexes,
        passwords: tuple[PasswordMaker, NewPasswords],
        online_sessions: OnlineSessionStore,
    ) -> None:
        hasher, gate = passwords
        self._change = change
        self._policy = policy
        self._preparation = UserPreparation(change.realm, indexes, hasher, gate)
        self._online_sessions = online_sessions

    async def take(
        self, given: Sequence[UserInput], *, new_clients: Mapping[str, str]
    ) -> list[Outcome]:
        """Store the users; `new_clients` have their service accounts already.

        Raises AlreadyExists, Forbidden, and InvalidInput, PasswordRefused among it.
        """
        known = [await self._known(new, new_clients) for new in given]
        if self._policy is IfExists.FAIL:
            for new, before in zip(given, known, strict=True):
                if before is not None:
                    raise _exists(new)
        return [
            await self._take(new, before, new_clients)
            for new, before in zip(given, known, strict=True)
        ]

    async def _known(self, new: UserInput, new_clients: Mapping[str, str]) -> User | None:
        """Return who has the name or the address; a service account that was just made has not."""
        users, realm = self._change.stores.users, self._change.realm
        if new.service_account_of in new_clients:
            return None
        found = await users.find_by_username(realm.id, new.user.username)
        if found is None and new.user.email and not realm.login.duplicate_emails_allowed:
            found = await users.find_by_email(realm.id, new.user.email)
        return found

    async def _take(
        self, new: UserInput, before: User | None, new_clients: Mapping[str, str]
    ) -> Outcome:
        if before is not None and self._policy is IfExists.SKIP:
            return Outcome(Action.SKIPPED, Kind.USER, new.user.username, before.id)
        prepared = await self._preparation.prepared(new)
        await require_may_grant(self._change.acting, self._change.stores, prepared.role_ids)
        await require_may_join(self._change.acting, self._change.stores, prepared.group_ids)
        if new.service_account_of is not None:
            return await self._grant(new, prepared, before, new_clients)
        if before is not None:
            await self._forget(new, before)
        await require_free_names(self._change.stores, self._change.realm, new.user)
        await store_new_user(self._change.stores, prepared)
        action = Action.ADDED if before is None else Action.OVERWRITTEN
        return Outcome(action, Kind.USER, new.user.username, new.user.id)

    async def _forget(self, new: UserInput, before: User) -> None:
        if before.username != new.user.username or before.service_account_client is not None:
            # Somebody else has the address, or it is a client's: nobody asked for their end.
            raise _exists(new)
        stores, realm_id = self._change.stores, self._change.realm.id
        await self._require_may_control(before)
        await stores.users.remove(realm_id, before.id)
        await self._online_sessions.end_of_user(realm_id, before.id)

    async def _require_may_control(self, user: User) -> None:
        controlled = ControlledObject(ObjectKind.USER, user.id)
        await require_may_control(self._change.acting, self._change.stores, controlled, lock=True)

    async def _grant(
        self,
        new: UserInput,
        prepared: NewUser,
        before: User | None,
        new_clients: Mapping[str, str],
    ) -> Outcome:
        """Give the account of a client the roles that were sent with it."""
        stores, realm_id = self._change.stores, self._change.realm.id
        client = new_clients.get(new.service_account_of or "")
        account = before
        if client is not None:
            account = await stores.users.find_service_account(realm_id, client)
        if account is None or account.service_account_client is None:
            given, allowed = describe(new.service_account_of), "a client with a service account"
            at = f"{new.path}.serviceAccountClientId"
            raise InvalidInput((FieldError(at, given, allowed),))
        await self._require_may_control(account)
        await stores.roles.grant(realm_id, account.id, prepared.role_ids)
        action = Action.ADDED if before is None else Action.OVERWRITTEN
        return Outcome(action, Kind.USER, new.user.username, account.id)


def _exists(new: UserInput) -> AlreadyExists:
    return AlreadyExists(f"User with user name {new.user.username} already exists.")
