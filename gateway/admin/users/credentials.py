"""The credentials of a user. Keycloak: 7.2 (credentials, reset-password)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from gateway.admin.access import (
    Acting,
    InvalidRequest,
    NotFound,
    WireFamily,
    existing,
    get_user,
    get_user_for_update,
)
from gateway.admin.changes import Change, Changes
from gateway.admin.users.administration import invalidate_user
from gateway.authentication.new_passwords import (
    PasswordChanges,
    until_unchanged,
    with_update_password,
)
from gateway.domain.events import OperationType, ResourceType
from gateway.domain.ports.storage import Database
from gateway.domain.realm import Realm
from gateway.domain.users import PRIORITY_STEP, Credential, User
from gateway.representations.users import (
    NewPassword,
    listed_credential,
    parse_label,
    parse_new_password,
)

_SERVICE_ACCOUNT: Final = "You can not manage credentials for this user"


class UserCredentials:
    """The use cases. All raise NotFound and StoreUnavailable, those that change Forbidden."""

    def __init__(self, database: Database, changes: Changes, passwords: PasswordChanges) -> None:
        self._database = database
        self._changes = changes
        self._passwords = passwords

    async def list(self, realm: Realm, user_id: str) -> list[dict[str, Any]]:
        """Return the credentials in their order, without secrets."""
        await self.require_user(realm, user_id)
        async with self._database.read() as stores:
            held = await stores.users.credentials(realm.id, user_id)
        return [listed_credential(credential) for credential in held]

    async def reset_password(
        self, acting: Acting, user_id: str, document: Mapping[str, Any]
    ) -> None:
        """Set the password, which has to be changed at the next sign-in if it is `temporary`.

        Raises InvalidInput, PasswordRefused among it, and Overloaded.
        """
        await self.require_user(acting.realm, user_id)
        given = parse_new_password(document)
        if given is None:
            raise InvalidRequest("No password provided", WireFamily.PROSE)
        if not given.password.reveal().strip():
            raise InvalidRequest("Empty password not allowed", WireFamily.PROSE)
        await until_unchanged(lambda: self._attempt(acting, user_id, given))

    async def label(self, acting: Acting, user_id: str, credential_id: str, text: str) -> None:
        label = parse_label(text, "userLabel")
        if label is None:
            raise InvalidRequest(
                "Credential label must not be empty",
                WireFamily.OAUTH,
                code="missingCredentialLabel",
            )
        async with self._changes.begin(acting) as change:
            user, _, credential = await _found(change, user_id, credential_id)
            named = replace(credential, label=label)
            await change.stores.users.update_label_and_priority(change.realm.id, named)
            _record(change, user, f"credentials/{credential.id}/userLabel")

    async def remove(self, acting: Acting, user_id: str, credential_id: str) -> None:
        async with self._changes.begin(acting) as change:
            user, _, credential = await _found(change, user_id, credential_id)
            await change.stores.users.remove_credential(change.realm.id, credential)
            _record(change, user, f"credentials/{credential.id}")

    async def move(
        self, acting: Acting, user_id: str, credential_id: str, after: str | None
    ) -> None:
        """Move a credential behind `after`, or before all others where that is None."""
        async with self._changes.begin(acting) as change:
            user, held, credential = await _found(change, user_id, credential_id)
            others = [one for one in held if one.id != credential.id]
            places = [one.id for one in others]
            if after is None:
                place, path = 0, "moveToFirst"
            elif after == credential.id:
                return
            elif after in places:
                place, path = places.index(after) + 1, f"moveAfter/{after}"
            else:
                raise NotFound("Credential not found")
            await _order(change, [*others[:place], credential, *others[place:]])
            _record(change, user, f"credentials/{credential.id}/{path}")

    async def require_user(self, realm: Realm, user_id: str) -> None:
        async with self._database.read() as stores:
            await get_user(stores, realm.id, user_id)

    async def _attempt(self, acting: Acting, user_id: str, given: NewPassword) -> None:
        async with self._database.read() as stores:
            realm = existing(await stores.realms.find_by_name(acting.realm.name), "User not found")
            user = await get_user(stores, realm.id, user_id)
            if user.service_account_client is not None:
                raise InvalidRequest(_SERVICE_ACCOUNT, WireFamily.OAUTH, code=_SERVICE_ACCOUNT)
            held = await stores.users.credentials(realm.id, user.id)
        prepared = await self._passwords.prepare(realm, user, held, given.password)
        async with self._changes.begin(acting) as change:
            user = await get_user_for_update(change.stores, change.realm.id, user_id)
            await self._passwords.store(change.stores, change.realm, user, prepared)
            after = with_update_password(user, temporary=given.temporary)
            if after != user:
                await change.stores.users.replace(after)
            _record(change, user, "reset-password")


async def _found(
    change: Change, user_id: str, credential_id: str
) -> tuple[User, Sequence[Credential], Credential]:
    """Return the user with its row locked, its credentials, and one of them; raises NotFound."""
    user = await get_user_for_update(change.stores, change.realm.id, user_id)
    held = await change.stores.users.credentials(change.realm.id, user.id)
    credential = next((one for one in held if one.id == credential_id), None)
    return user, held, existing(credential, "Credential not found")


async def _order(change: Change, credentials: Sequence[Credential]) -> None:
    for place, credential in enumerate(credentials, start=1):
        if credential.priority != place * PRIORITY_STEP:
            moved = replace(credential, priority=place * PRIORITY_STEP)
            await change.stores.users.update_label_and_priority(change.realm.id, moved)


def _record(change: Change, user: User, path: str) -> None:
    change.record(OperationType.ACTION, ResourceType.USER, f"users/{user.id}/{path}")
    invalidate_user(change, user)
