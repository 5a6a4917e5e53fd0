"""Users of a file: read, prepared to be stored, and imported in batches of one transaction each.

Known users are not changed, so an import that was stopped can be run again. Hashed credentials are
stored as they are. Keycloak: realm import, users
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import Any, Final

from gateway.admin.access import default_role, find_realm
from gateway.admin.clients import service_account
from gateway.admin.groups import RealmIndexes, load_indexes
from gateway.admin.realm_files.files import embedded
from gateway.admin.realm_files.former_members import with_current_user
from gateway.admin.users import NewUser, store_new_user, store_new_users
from gateway.authentication.passwords import NewPasswords
from gateway.authentication.unique_names import (
    named_by_address,
    require_all_free_names,
    require_free_names,
)
from gateway.domain.client_scopes import Consent
from gateway.domain.clients import Client
from gateway.domain.clock import Clock
from gateway.domain.errors import AlreadyExists, FieldError, InvalidInput, RepeatedName
from gateway.domain.ports.credentials import PasswordHasher, PasswordMaker
from gateway.domain.ports.storage import Database, Stores
from gateway.domain.random_values import uuid4
from gateway.domain.realm import Realm
from gateway.domain.users import Credential, User
from gateway.password_policies import NO_BLACKLISTS, PasswordBlacklists, PasswordRefused
from gateway.representations.field_table import FieldNames
from gateway.representations.groups import parse_group_paths
from gateway.representations.json_input import StreamedObject, check_json
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
from gateway.representations.shapes import PrintableName
from gateway.representations.users import (
    ConsentInput,
    NewPassword,
    parse_consents,
    parse_credentials,
    parse_user,
)

_UPDATE_PASSWORD = "UPDATE_PASSWORD"  # noqa: S105 - the name of a required action
ROLE_LISTS = ("realmRoles", "clientRoles")
_NAMES_AT_ONCE: Final = 1_000
_NAMES = FieldNames(
    ("credentials", "groups", *ROLE_LISTS, "serviceAccountClientId", "clientConsents")
)


@dataclass(frozen=True, slots=True)
class ImportedUser:
    """A user of a file; `service_account_of` is the public name of the client it belongs to."""

    user: User
    credentials: tuple[NewPassword | Credential, ...]
    roles: tuple[RoleName, ...]
    groups: tuple[str, ...] | None
    """By path; None for those that new users join."""
    service_account_of: str | None
    path: str
    consents: tuple[ConsentInput, ...] = ()
    document: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    """What the file has of the user."""
    sent_name: str = ""
    """The name in the file; the user is named by the address in realms that want it."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names under which the user may be stored, the one of a new user first."""
        return tuple(dict.fromkeys((self.user.username, self.sent_name or self.user.username)))


def read_users(
    document: Mapping[str, Any], realm: Realm, path: str, clock: Clock
) -> tuple[ImportedUser, ...]:
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
    stores: Stores, realm_id: str, users: Sequence[ImportedUser]
) -> list[ImportedUser]:
    """Return the users whose names are free in the realm: those that an import adds.

    A user that is stored under the name in the file is known, by whatever name a new one is stored.
    """
    known: set[str] = set()
    names = list(dict.fromkeys(name for new in users for name in new.names))
    for start in range(0, len(names), _NAMES_AT_ONCE):
        known |= await stores.users.known(realm_id, names[start : start + _NAMES_AT_ONCE])
    return [new for new in users if known.isdisjoint(new.names)]


def read_user_input(item: Mapping[str, Any], realm: Realm, path: str, clock: Clock) -> ImportedUser:
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
    consents: tuple[ConsentInput, ...] = ()
    with collect_refusals(errors):
        if "clientConsents" in given:
            at = join(path, "clientConsents")
            consents = parse_consents(given["clientConsents"], at)
    raise_all(errors)
    if "realmRoles" not in fields:
        roles = (default_role(realm), *roles)
    sent_name = user.username
    if client is None:
        user = named_by_address(realm.login, user)
    return ImportedUser(
        *(user, credentials, roles, groups, client, path, consents, item), sent_name=sent_name
    )


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


def new_passwords(users: Iterable[ImportedUser]) -> Iterator[NewPassword]:
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

    async def prepared(self, new: ImportedUser) -> NewUser:
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
        consents = tuple(self._consents(new))
        return NewUser(user, tuple(credentials), role_ids, group_ids, new.path, consents)

    def _consents(self, new: ImportedUser) -> Iterator[Consent]:
        """Yield the consents to clients of the realm; the report names the others."""
        now, user = self.gate.clock.now(), new.user
        for given in new.consents:
            client = self.indexes.roles.client_id(given.client)
            if client is not None:
                created = given.created_at or now
                updated = given.updated_at or created
                yield Consent(user.realm_id, user.id, client, given.scopes, created, updated)

    async def service_account(self, new: ImportedUser, client: Client) -> NewUser:
        """Return the service account of the client, ready to be stored, without credentials.

        It is named after the client; the report of the import says where the file named it
        otherwise. Raises InvalidInput for what is unknown.
        """
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


def _with_required_actions(new: ImportedUser) -> User:
    temporary = any(credential.temporary for credential in new_passwords([new]))
    actions = new.user.required_actions
    if not temporary or _UPDATE_PASSWORD in actions:
        return new.user
    return replace(new.user, required_actions=(*actions, _UPDATE_PASSWORD))


BATCH: Final = 500


@dataclass(frozen=True, slots=True)
class ImportProgress:
    """How far an import has come."""

    added: int = 0
    known: int = 0
    """Users that existed before, service accounts included."""
    refused: int = 0
    read: int = 0
    """How much of the file was read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UserImport:
    """Imports users of one realm from a stream."""

    database: Database
    passwords: PasswordHasher
    clock: Clock
    blacklists: PasswordBlacklists = NO_BLACKLISTS

    async def run(
        self,
        realm_name: str,
        objects: Iterable[StreamedObject],
        *,
        refuse: Callable[[InvalidInput], None] | None = None,
        progress: Callable[[ImportProgress], None] | None = None,
    ) -> ImportProgress:
        """Import every user; `refuse` is called for each one refused, and the import goes on.

        Without it the first refusal ends the import: raises InvalidInput, and earlier batches stay.
        Raises RealmNotFound.
        """
        async with self.database.read() as stores:
            realm = await find_realm(stores, realm_name)
            indexes = await load_indexes(stores, realm)
        gate = NewPasswords(self.clock, self.blacklists)
        preparation = UserPreparation(realm, indexes, self.passwords, gate)
        batches = _Batches(self.database, preparation, refuse)
        remaining, done = iter(objects), ImportProgress()
        while batch := list(islice(remaining, BATCH)):
            done = await batches.store(batch, done)
            if progress is not None:
                progress(done)
        return done


class _Batches:
    """Stores batches, and counts the users that are refused."""

    def __init__(
        self,
        database: Database,
        preparation: UserPreparation,
        refuse: Callable[[InvalidInput], None] | None,
    ) -> None:
        self._database = database
        self._preparation = preparation
        self._refuse = refuse
        self._refused = 0

    async def store(
        self, objects: Sequence[StreamedObject], done: ImportProgress
    ) -> ImportProgress:
        """Store one batch; return the progress after it."""
        users = [user for item in objects if (user := self._read(item)) is not None]
        prepared = await self._prepared(await self._unknown(users))
        added = done.added + await self._store(prepared)
        seen = done.added + done.known + done.refused + len(objects)
        return ImportProgress(added, seen - added - self._refused, self._refused, objects[-1].read)

    def _read(self, item: StreamedObject) -> ImportedUser | None:
        """Return the user; None for one that is refused, or is a client's service account."""
        path, preparation = f"users[{item.number}]", self._preparation
        try:
            if not isinstance(item.value, dict):
                raise refused(path, item.value, "a user")
            check_json(item.value, path)
            current = with_current_user(item.value)
            user = read_user_input(current, preparation.realm, path, preparation.gate.clock)
        except InvalidInput as refusal:
            self._note(refusal)
            return None
        return None if user.service_account_of is not None else user

    async def _unknown(self, users: Sequence[ImportedUser]) -> list[ImportedUser]:
        first = {user.user.username: user for user in reversed(users)}
        named = [user for user in users if first[user.user.username] is user]
        async with self._database.read() as stores:
            return await unknown_users(stores, self._preparation.realm.id, named)

    async def _prepared(self, users: Sequence[ImportedUser]) -> list[NewUser]:
        prepared = []
        for user in users:
            try:
                prepared.append(await self._preparation.prepared(user))
            except InvalidInput as refusal:
                self._note(refusal)
        return prepared

    async def _store(self, prepared: Sequence[NewUser]) -> int:
        """Store all at once; where a name or id is taken, one by one to find out which."""
        if not prepared:
            return 0
        try:
            async with self._database.write() as stores:
                users = [new.user for new in prepared]
                names = await require_all_free_names(stores, self._preparation.realm, users)
                await store_new_users(stores, prepared, names)
        except AlreadyExists:
            if self._refuse is None:
                await self._store_each(prepared)
                return len(prepared)
            return sum([await self._store_or_note(user) for user in prepared])
        return len(prepared)

    async def _store_or_note(self, user: NewUser) -> int:
        try:
            await self._store_each([user])
        except InvalidInput as refusal:
            self._note(refusal)
            return 0
        return 1

    async def _store_each(self, prepared: Sequence[NewUser]) -> None:
        async with self._database.write() as stores:
            for user in prepared:
                await store_user_of_file(stores, self._preparation.realm, user)

    def _note(self, refusal: InvalidInput) -> None:
        """Report a refusal, or raise it where the import is to end."""
        if self._refuse is None:
            raise refusal
        self._refused += 1
        self._refuse(refusal)
