"""The users of a file: read, and prepared to be stored. Keycloak: realm import, users."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final
from uuid import uuid4

from gateway.admin.access import (
    default_role,
)
from gateway.admin.clients import service_account, service_account_name
from gateway.admin.groups import RealmIndexes
from gateway.admin.realm_files.files import embedded
from gateway.admin.users import NewUser, store_new_user
from gateway.authentication.new_passwords import NewPasswords
from gateway.authentication.unique_names import require_free_names
from gateway.domain.clients import Client
from gateway.domain.clock import Clock
from gateway.domain.errors import AlreadyExists, FieldError, InvalidInput, RepeatedName
from gateway.domain.ports.passwords import PasswordMaker
from gateway.domain.ports.storage import Stores
from gateway.domain.realm import Realm
from gateway.domain.users import Credential, User
from gateway.policies.candidate import PasswordRefused
from gateway.representations.groups import parse_group_paths
from gateway.representations.names import PrintableName
from gateway.representations.refusals import (
    attempt,
    collect_refusals,
    join,
    raise_all,
    refused,
    refused_secret,
    repeated_names,
)
from gateway.representations.roles import RoleName, parse_role_names
from gateway.representations.spelling import Names
from gateway.representations.users import NewPassword, parse_credentials, parse_user

_UPDATE_PASSWORD = "UPDATE_PASSWORD"  # noqa: S105 - the name of a required action
ROLE_LISTS = ("realmRoles", "clientRoles")
_NAMES_AT_ONCE: Final = 1_000
_NAMES = Names(("credentials", "groups", *ROLE_LISTS, "serviceAccountClientId"))


@dataclass(frozen=True, slots=True)
class UserInput:
    """A user of a file; `service_account_of` is the public name of the client it belongs to."""

    user: User
    credentials: tuple[NewPassword | Credential, ...]
    roles: tuple[RoleName, ...]
    groups: tuple[str, ...] | None
    """By path; None for those that new users join."""
    service_account_of: str | None
    path: str


def read_users(
    document: Mapping[str, Any], realm: Realm, path: str, clock: Clock
) -> tuple[UserInput, ...]:
    """Return the users of the file; raises InvalidInput with every wrong field of all of them."""
    errors: list[FieldError] = []
    read = [
        attempt(errors, None, read_user_input, item, realm, at, clock)
        for at, item in embedded(document, "users", path)
    ]
    users = tuple(user for user in read if user is not None)
    at = join(path, "users")
    names = (new.user.username for new in users)
    errors.extend(repeated_names(names, at, "each user name once"))
    if not realm.login.duplicate_emails_allowed:
        addresses = (new.user.email for new in users if new.user.email)
        errors.extend(repeated_names(addresses, at, "each address once"))
    raise_all(errors)
    return users


async def unknown_users(
    stores: Stores, realm_id: str, users: Sequence[UserInput]
) -> list[UserInput]:
    """Return the users whose names are free in the realm: those that an import adds."""
    known: set[str] = set()
    for start in range(0, len(users), _NAMES_AT_ONCE):
        names = [new.user.username for new in users[start : start + _NAMES_AT_ONCE]]
        known |= await stores.users.known(realm_id, names)
    return [new for new in users if new.user.username not in known]


def read_user_input(item: Mapping[str, Any], realm: Realm, path: str, clock: Clock) -> UserInput:
    """Return one user; raises InvalidInput with every wrong field of it."""
    errors: list[FieldError] = []
    fields = _NAMES.collect(item, path, errors)
    given = {name: value for name, (_, value) in fields.items() if value is not None}
    if "serviceAccountClientId" in given and item.get("enabled") is None:
        item = {**item, "enabled": True}
    now = clock.now()
    unknown = User("", realm.id, "", enabled=False, created_at=now)
    user = attempt(errors, unknown, partial(parse_user, now=now, path=path), item, realm.id)
    credentials: tuple[NewPassword | Credential, ...] = ()
    groups = client = None
    with collect_refusals(errors):
        if "credentials" in given:
            standard = Credential("", user.id, "password", now, "", "")
            at = join(path, "credentials")
            read = parse_credentials(given["credentials"], at, owner=user.id, standard=standard)
            credentials = tuple(map(_with_id, read))
    lists = (fields.get(name, ("", None)) for name in ROLE_LISTS)
    roles = attempt(errors, (), parse_role_names, *lists)
    with collect_refusals(errors):
        if "groups" in given:
            groups = parse_group_paths(given["groups"], fields["groups"][0])
    with collect_refusals(errors):
        if "serviceAccountClientId" in given:
            at = join(path, "serviceAccountClientId")
            client = PrintableName().read(given["serviceAccountClientId"], at)
    raise_all(errors)
    if "realmRoles" not in fields:
        roles = (default_role(realm), *roles)
    return UserInput(user, credentials, roles, groups, client, path)


def _with_id(credential: NewPassword | Credential) -> NewPassword | Credential:
    """Return the credential with an id of its own: a file may leave it out."""
    if isinstance(credential, NewPassword) or credential.id:
        return credential
    return replace(credential, id=str(uuid4()))


async def store_user_of_file(stores: Stores, realm: Realm, new: NewUser) -> None:
    """Store a user; raises InvalidInput for a name, an address, an id or a key that is taken."""
    try:
        names = await require_free_names(stores, realm, new.user)
        await store_new_user(stores, new, names)
    except AlreadyExists as taken:
        allowed = "ids, names, addresses and keys that are free"
        raise InvalidInput((RepeatedName(new.path, str(taken), allowed),)) from taken


def new_passwords(users: Iterable[UserInput]) -> Iterator[NewPassword]:
    """Yield the passwords to hash."""
    for user in users:
        for credential in user.credentials:
            if isinstance(credential, NewPassword):
                yield credential


@dataclass(frozen=True, slots=True)
class UserPreparation:
    """Does what takes long, or may fail, before users are stored."""

    realm: Realm
    indexes: RealmIndexes
    passwords: PasswordMaker
    gate: NewPasswords

    async def prepared(self, new: UserInput) -> NewUser:
        """Return the user ready to be stored; raises InvalidInput for what is unknown."""
        errors: list[FieldError] = []
        indexes = self.indexes
        role_ids = attempt(errors, (), indexes.roles.ids, new.roles, new.path, ROLE_LISTS)
        group_ids = indexes.groups.default
        if new.groups is not None:
            at = join(new.path, "groups")
            group_ids = attempt(errors, (), indexes.groups.ids, new.groups, at)
        raise_all(errors)
        user = _with_required_actions(new)
        credentials = [
            await self._hashed(credential, user, f"{new.path}.credentials[{index}].value")
            for index, credential in enumerate(new.credentials)
        ]
        return NewUser(user, tuple(credentials), role_ids, group_ids, new.path)

    async def service_account(self, new: UserInput, client: Client) -> NewUser:
        """Return the service account of the client, ready to be stored, without credentials.

        Raises InvalidInput for another name, and for what is unknown.
        """
        name = service_account_name(client)
        if new.user.username != name:
            at, allowed = join(new.path, "username"), f"{name}, after the client"
            raise refused(at, new.user.username, allowed)
        prepared = await self.prepared(replace(new, credentials=()))
        return replace(prepared, user=service_account(client, prepared.user))

    async def _hashed(
        self, credential: NewPassword | Credential, user: User, path: str
    ) -> Credential:
        """Return what is stored; a hash is not checked against the realm's rules."""
        if isinstance(credential, Credential):
            return credential
        try:
            return await self.gate.first(self.passwords, self.realm, user, credential.password)
        except PasswordRefused as refusal:
            allowed = f"a password that keeps the realm's rules ({refusal})"
            raise refused_secret(path, allowed) from refusal


def _with_required_actions(new: UserInput) -> User:
    temporary = any(credential.temporary for credential in new_passwords([new]))
    actions = new.user.required_actions
    if not temporary or _UPDATE_PASSWORD in actions:
        return new.user
    return replace(new.user, required_actions=(*actions, _UPDATE_PASSWORD))
