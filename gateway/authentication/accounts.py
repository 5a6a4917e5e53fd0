"""The account that a sign-in is about, with the credentials that prove it.

Finding no account takes the same work as finding one (attacks: D11).
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from gateway.authentication.brute_force_protection import is_locked_for_good
from gateway.authentication.one_time_passwords import OTP
from gateway.domain.errors import RealmgateError
from gateway.domain.ports.storage import Database
from gateway.domain.realm import Realm
from gateway.domain.unique_names import is_displayed, name_key
from gateway.domain.users import PASSWORD, Credential, User, UserQuery, sought_name


class AmbiguousAttribute(RealmgateError):
    """Several users have the value of an attribute."""


@dataclass(frozen=True, slots=True)
class Account:
    """The account of a name; the guard counts attempts under `guarded_as`.

    `credentials` are in the user's order of preference; None where they were not loaded.
    """

    user: User | None
    credentials: tuple[Credential, ...] | None = field(repr=False)
    guarded_as: str

    @property
    def password(self) -> Credential | None:
        return next((one for one in self.credentials or () if one.type == PASSWORD), None)

    @property
    def devices(self) -> tuple[Credential, ...]:
        """Those for one-time passwords."""
        return tuple(one for one in self.credentials or () if one.type == OTP)

    def credentials_of(self, kind: str) -> tuple[Credential, ...]:
        return tuple(one for one in self.credentials or () if one.type == kind)

    @property
    def may_sign_in(self) -> bool:
        """Whether a secret may be compared: a service account has none to be guessed."""
        user = self.user
        return (
            user is not None
            and user.service_account_client is None
            and not is_locked_for_good(user)
        )


class Accounts:
    """Finds accounts as they are committed now, by one query each."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def get_named_account(
        self, realm: Realm, username: str, *, is_asserted: bool = False
    ) -> Account:
        """Return the account with a user name or e-mail address that a person has entered.

        A look-alike finds it as well, where no user has the name itself: `STRASSE` finds `straße`.
        A text with characters that are not displayed is no name that a person has entered. A name
        that is asserted, such as that of a certificate, is no look-alike: the person that it was
        asserted for may be another one.
        """
        name, login = sought_name(username), realm.login
        key = name_key(name) if not is_asserted and is_displayed(name) else None
        by_address = login.login_with_email_allowed and not login.duplicate_emails_allowed
        address = name if "@" in name and by_address else None
        found = await self._database.lookups.account(realm.id, name, address, key=key)
        if found is None:
            return unknown_account(username)
        return Account(found.user, found.credentials, found.user.id)

    async def get_account_by_attributes(self, realm_id: str, values: Mapping[str, str]) -> Account:
        """Return the account whose attributes have exactly these values.

        Raises AmbiguousAttribute where several users have them, even in another case.
        """
        async with self._database.read() as stores:
            found = await stores.users.search_users(realm_id, UserQuery(attributes=values), 0, 2)
        if len(found) > 1:
            raise AmbiguousAttribute
        for user in found:
            if all(text in user.attributes.get(name, ()) for name, text in values.items()):
                return Account(user, None, user.id)
        return unknown_account("##".join(values.values()))

    async def find_account(self, realm_id: str, user_id: str) -> Account | None:
        """Return the account without its credentials; None where the user is gone."""
        found = await self._database.lookups.user(realm_id, user_id)
        return None if found is None else Account(found.value.user, None, user_id)

    async def reload_account(self, realm_id: str, user_id: str) -> Account:
        """Return the account as it is stored now, with its credentials."""
        async with self._database.read() as stores:
            user = await stores.users.find_by_id(realm_id, user_id)
            held = await stores.users.credentials(realm_id, user_id)
        return Account(user, held, user_id)

    async def get_unknown_account(self, realm_id: str, username: str) -> Account:
        """Return the account of a name that no user has, as slowly as one with credentials."""
        account = unknown_account(username)
        await self._database.lookups.user(realm_id, account.guarded_as)
        async with self._database.read() as stores:
            await stores.users.credentials(realm_id, account.guarded_as)
        return account

    async def load_credentials(self, account: Account) -> Account:
        if account.credentials is not None or account.user is None:
            return account
        user = account.user
        async with self._database.read() as stores:
            found = await stores.users.credentials(user.realm_id, user.id)
        return replace(account, credentials=found)


def unknown_account(username: str) -> Account:
    """Return the account of a name that no user has: attempts at it are counted as well."""
    name = sought_name(username)
    if is_displayed(name):
        name = name_key(name)  # look-alikes are counted together, as those of a user are
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
    return Account(None, (), f"unknown-{digest}")
