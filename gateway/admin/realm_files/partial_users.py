"""Users of a partial import. Keycloak: 7.1 (partialImport)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from gateway.admin.access import (
    ControlledObject,
    ObjectKind,
    require_may_control,
    require_may_grant,
    require_may_join,
)
from gateway.admin.changes import Change
from gateway.admin.realm_files.user_inputs import UserInput, UserPreparation
from gateway.admin.users import NewUser, store_new_user
from gateway.authentication.unique_names import require_free_names
from gateway.domain.errors import AlreadyExists
from gateway.domain.ports.sessions import OnlineSessionStore
from gateway.domain.users import User
from gateway.representations.realm_files import Action, IfExists, Kind, Outcome
from gateway.representations.refusals import refused


@dataclass(frozen=True, slots=True)
class PartialUsers:
    """Adds, skips or replaces users. `new_clients` have their service accounts already."""

    change: Change
    policy: IfExists
    preparation: UserPreparation
    online_sessions: OnlineSessionStore
    new_clients: Mapping[str, str]

    async def store(self, given: Sequence[UserInput]) -> list[Outcome]:
        """Store the users; raises AlreadyExists, Forbidden, InvalidInput, PasswordRefused."""
        known = [await self._known(new) for new in given]
        if self.policy is IfExists.FAIL:
            for new, before in zip(given, known, strict=True):
                if before is not None:
                    raise _exists(new)
        return [await self._store(new, before) for new, before in zip(given, known, strict=True)]

    async def _known(self, new: UserInput) -> User | None:
        """Return the user with the name or the address, but no new service account."""
        users, realm = self.change.stores.users, self.change.realm
        if new.service_account_of in self.new_clients:
            return None
        found = await users.find_by_username(realm.id, new.user.username)
        if found is None and new.user.email and not realm.login.duplicate_emails_allowed:
            found = await users.find_by_email(realm.id, new.user.email)
        return found

    async def _store(self, new: UserInput, before: User | None) -> Outcome:
        action = self.policy.action(exists=before is not None)
        if before is not None and action is Action.SKIPPED:
            return Outcome(action, Kind.USER, new.user.username, before.id)
        prepared = await self.preparation.prepared(new)
        await require_may_grant(self.change.acting, self.change.stores, prepared.role_ids)
        await require_may_join(self.change.acting, self.change.stores, prepared.group_ids)
        if new.service_account_of is not None:
            account = await self._replace_account(new, prepared, before)
            return Outcome(action, Kind.USER, new.user.username, account.id)
        if before is not None:
            await self._remove(new, before)
        names = await require_free_names(self.change.stores, self.change.realm, prepared.user)
        await store_new_user(self.change.stores, prepared, names)
        return Outcome(action, Kind.USER, new.user.username, new.user.id)

    async def _remove(self, new: UserInput, before: User) -> None:
        if before.username != new.user.username or before.service_account_client is not None:
            # Another user has the address, or it is a service account: the import names neither.
            raise _exists(new)
        stores, realm_id = self.change.stores, self.change.realm.id
        await self._require_may_control(before)
        await stores.users.remove(realm_id, before.id)
        await self.online_sessions.end_of_user(realm_id, before.id)

    async def _require_may_control(self, user: User) -> None:
        controlled = ControlledObject(ObjectKind.USER, user.id)
        await require_may_control(self.change.acting, self.change.stores, controlled, lock=True)

    async def _replace_account(
        self, new: UserInput, prepared: NewUser, before: User | None
    ) -> User:
        """Re-create a service account as the import has it; it keeps its name and its client."""
        stores, realm_id = self.change.stores, self.change.realm.id
        client = self.new_clients.get(new.service_account_of or "")
        account = before
        if client is not None:
            account = await stores.users.find_service_account(realm_id, client)
        if account is None or account.service_account_client is None:
            at, allowed = f"{new.path}.serviceAccountClientId", "a client with a service account"
            raise refused(at, new.service_account_of, allowed)
        await self._require_may_control(account)
        await stores.users.remove(realm_id, account.id)
        await self.online_sessions.end_of_user(realm_id, account.id)
        owner = account.service_account_client
        user = replace(prepared.user, username=account.username, service_account_client=owner)
        names = await require_free_names(stores, self.change.realm, user)
        await store_new_user(stores, replace(prepared, user=user, credentials=()), names)
        return user


def _exists(new: UserInput) -> AlreadyExists:
    return AlreadyExists(f"User with user name {new.user.username} already exists.")
