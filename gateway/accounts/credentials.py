"""The user's credentials of the types that the realm checks. Keycloak: 17.4 credentials."""

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Final

from gateway.accounts.access import REMOVED_OR_DISABLED, AccountCaller, AccountRole
from gateway.authentication.account_updates import AccountUpdate, AccountUpdates
from gateway.authentication.engine import AccountChange
from gateway.authentication.engine.levels import NO_LEVEL, level_of_session
from gateway.authentication.errors import AccountDisabled, InvalidUserCredentials
from gateway.authentication.one_time_passwords import OTP
from gateway.authentication.recovery_codes import RECOVERY_CODES, RecoveryCodes, codes_threshold
from gateway.authentication.removal import (
    CredentialNotFound,
    CredentialNotRemovable,
    LevelTooLow,
    find_removable_credential,
    held_credentials,
)
from gateway.domain.errors import SecretUnreadable
from gateway.domain.events import Detail, EventType
from gateway.domain.flows import (
    CONFIGURE_RECOVERY_CODES,
    CONFIGURE_TOTP,
    DELETE_CREDENTIAL,
    KIND_OF,
    REGISTER_PASSKEY,
    REGISTER_SECURITY_KEY,
    UPDATE_PASSWORD,
)
from gateway.domain.ports.storage import Database
from gateway.domain.refusals import (
    InsufficientLevel,
    InvalidRequest,
    NotAuthenticated,
    NotFound,
    WireFamily,
)
from gateway.domain.users import PASSWORD, Credential
from gateway.domain.web_authn import PASSKEY, SECURITY_KEY
from gateway.protocol.authorization.levels import level_of, levels_of

_NO_CREDENTIAL: Final = "Credential not found"
_NOT_REMOVABLE: Final = "Credential type cannot be removed"
_UNKNOWN_LEVEL: Final = NO_LEVEL - 1
"""Of a token without a known `acr`: it deletes no credential."""


class Category(IntEnum):
    """The uses of a credential, in the order of the list."""

    BASIC_AUTHENTICATION = 1
    TWO_FACTOR = 2
    PASSWORDLESS = 3


@dataclass(frozen=True, slots=True)
class CredentialKind:
    """A type of credentials that users set up; texts and icon are keys of the type's name."""

    type: str
    category: Category
    text: str
    """The keys of its texts begin so."""
    icon: str
    action: str
    """The required action that sets it up."""
    removable: bool = True
    single: bool = False
    """A user has one at most: the action replaces it."""


CREDENTIAL_KINDS: Final = (
    CredentialKind(
        PASSWORD,
        Category.BASIC_AUTHENTICATION,
        "password",
        "kcAuthenticatorPasswordClass",
        UPDATE_PASSWORD,
        removable=False,
        single=True,
    ),
    CredentialKind(OTP, Category.TWO_FACTOR, "otp", "kcAuthenticatorOTPClass", CONFIGURE_TOTP),
    CredentialKind(
        RECOVERY_CODES,
        Category.TWO_FACTOR,
        "recovery-authn-codes",
        "kcAuthenticatorRecoveryAuthnCodesClass",
        CONFIGURE_RECOVERY_CODES,
    ),
    CredentialKind(
        SECURITY_KEY,
        Category.TWO_FACTOR,
        "webauthn",
        "kcAuthenticatorWebAuthnClass",
        REGISTER_SECURITY_KEY,
    ),
    CredentialKind(
        PASSKEY,
        Category.PASSWORDLESS,
        "webauthn-passwordless",
        "kcAuthenticatorWebAuthnPasswordlessClass",
        REGISTER_PASSKEY,
    ),
)


@dataclass(frozen=True, slots=True)
class CodesLeft:
    """How many recovery codes are left of how many, and whether these are too few."""

    left: int
    total: int
    too_few: bool


@dataclass(frozen=True, slots=True)
class OwnCredential:
    """A credential of the user; its secret data is never shown."""

    credential: Credential
    codes: CodesLeft | None = None


@dataclass(frozen=True, slots=True)
class OwnCredentialType:
    """A type with the user's credentials; an action is None where the realm has it off."""

    kind: CredentialKind
    credentials: tuple[OwnCredential, ...]
    create_action: str | None
    update_action: str | None
    removable: bool


class AccountCredentials:
    """The use cases. All raise Forbidden and StoreUnavailable."""

    def __init__(self, database: Database, updates: AccountUpdates) -> None:
        self._database = database
        self._updates = updates

    async def list_credentials(self, caller: AccountCaller) -> tuple[OwnCredentialType, ...]:
        """Return the types in their order, without those of which the user can do nothing."""
        caller.require(AccountRole.MANAGE_ACCOUNT, AccountRole.VIEW_PROFILE)
        held = await self._database.lookups.credentials(caller.realm.id, caller.user_id)
        checked = set(_checked_types(caller))
        kinds = (kind for kind in CREDENTIAL_KINDS if kind.type in checked)
        found = (_type(caller, kind, held) for kind in sorted(kinds, key=_place))
        return tuple(one for one in found if one.credentials or one.create_action)

    async def label_credential(
        self, caller: AccountCaller, credential_id: str, label: str | None
    ) -> None:
        """Store what the user calls a credential, None for nothing; raises NotFound."""
        caller.require(AccountRole.MANAGE_ACCOUNT)
        async with self._begin_update(caller) as update:
            held = await held_credentials(update)
            found = next((one for one in held if one.id == credential_id), None)
            if found is None:
                raise NotFound(_NO_CREDENTIAL)
            named = replace(found, label=label)
            await update.stores.users.update_label_and_priority(caller.realm.id, named)

    async def remove_credential(self, caller: AccountCaller, credential_id: str) -> None:
        """Delete a credential.

        Raises NotFound, InvalidRequest for a type that is not deleted, and InsufficientLevel where
        the credential has a higher level than the sign-in.
        """
        caller.require(AccountRole.MANAGE_ACCOUNT)
        async with self._begin_update(caller) as update:
            found = _removable(caller, await held_credentials(update), credential_id)
            await update.stores.users.remove_credential(caller.realm.id, found)
        _note_removal(caller, found)

    @asynccontextmanager
    async def _begin_update(self, caller: AccountCaller) -> AsyncIterator[AccountUpdate]:
        try:
            async with self._updates.begin_update(caller.realm.id, caller.user_id) as update:
                yield update
        except (InvalidUserCredentials, AccountDisabled) as refusal:
            raise NotAuthenticated(REMOVED_OR_DISABLED) from refusal


def _removable(caller: AccountCaller, held: Sequence[Credential], credential_id: str) -> Credential:
    rules = caller.entry.sign_in
    if DELETE_CREDENTIAL in rules.off and any(one.id == credential_id for one in held):
        raise InvalidRequest(_NOT_REMOVABLE, WireFamily.PROSE)
    try:
        return find_removable_credential(rules, held, credential_id, _level(caller))
    except CredentialNotFound as refusal:
        raise NotFound(_NO_CREDENTIAL) from refusal
    except CredentialNotRemovable as refusal:
        raise InvalidRequest(_NOT_REMOVABLE, WireFamily.PROSE) from refusal
    except LevelTooLow as refusal:
        raise InsufficientLevel(str(refusal)) from refusal


def _level(caller: AccountCaller) -> int:
    """Return the level of the token's `acr`, at most the session's: clients name levels freely."""
    if caller.acr is None or caller.client is None or caller.session is None:
        return _UNKNOWN_LEVEL
    level = level_of(caller.acr, levels_of(caller.realm, caller.client.client))
    if level is None:
        return _UNKNOWN_LEVEL
    return min(level, level_of_session(caller.entry.sign_in.browser, caller.session.notes))


def _note_removal(caller: AccountCaller, credential: Credential) -> None:
    """Note the event; Keycloak records a second one for a one-time password."""
    event = caller.request.event
    event.kind = EventType.REMOVE_CREDENTIAL
    event.details |= {
        Detail.CREDENTIAL_TYPE: credential.type,
        Detail.SELECTED_CREDENTIAL_ID: credential.id,
    }
    if credential.label is not None:
        event.details[Detail.CREDENTIAL_USER_LABEL] = credential.label
    if credential.type == OTP:
        event.changes = (AccountChange(EventType.REMOVE_TOTP, dict(event.details)),)


def _checked_types(caller: AccountCaller) -> Iterator[str]:
    passkeys = caller.realm.web_authn_passwordless.passkeys_enabled
    for step in caller.entry.sign_in.every_step():
        kind = KIND_OF.get(step.authenticator)
        if kind is None:
            continue
        if kind.credential is not None:
            yield kind.credential
        if kind.accepts_passkeys and passkeys:
            yield PASSKEY


def _place(kind: CredentialKind) -> tuple[int, str]:
    return kind.category, kind.type


def _type(
    caller: AccountCaller, kind: CredentialKind, held: Sequence[Credential]
) -> OwnCredentialType:
    rules = caller.entry.sign_in
    own = tuple(OwnCredential(one, _codes(caller, one)) for one in held if one.type == kind.type)
    action = None if kind.action in rules.off else kind.action
    updates = kind.single and bool(own)
    return OwnCredentialType(
        kind,
        own,
        create_action=None if updates else action,
        update_action=action if updates else None,
        removable=kind.removable and DELETE_CREDENTIAL not in rules.off,
    )


def _codes(caller: AccountCaller, credential: Credential) -> CodesLeft | None:
    """Return the recovery codes of a credential; None for another type, or an unreadable one."""
    if credential.type != RECOVERY_CODES:
        return None
    try:
        codes = RecoveryCodes.of(credential)
    except SecretUnreadable:
        return None
    total = codes.data.get("totalCodes")
    left = len(codes.left)
    too_few = left < codes_threshold(caller.realm, caller.entry.sign_in)
    return CodesLeft(left, total if isinstance(total, int) else left, too_few)
