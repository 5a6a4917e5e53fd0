"""The own credentials: which types there are, those the user has, and their labels.

A type is listed where a flow of the realm checks it. Keycloak: 17.4
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Final

from gateway.accounts.access import AccountCaller, AccountRole
from gateway.admin.access import NotAuthenticated, NotFound
from gateway.authentication.account_updates import AccountUpdates
from gateway.authentication.errors import AccountDisabled, InvalidUserCredentials
from gateway.authentication.one_time_password import OTP
from gateway.authentication.recovery_code_check import codes_threshold
from gateway.authentication.recovery_codes import RECOVERY_CODES, RecoveryCodes
from gateway.domain.errors import SecretUnreadable
from gateway.domain.flows import (
    CONFIGURE_RECOVERY_CODES,
    CONFIGURE_TOTP,
    KIND_OF,
    UPDATE_PASSWORD,
    SignInRules,
)
from gateway.domain.ports.storage import Database
from gateway.domain.users import Credential
from gateway.representations.users import PASSWORD

_NO_CREDENTIAL: Final = "Credential not found"
_DELETE: Final = "delete_credential"
"""The required action without which no credential is deleted."""


class Category(IntEnum):
    """What a credential is for, in the order of the list."""

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
        "webauthn",
        Category.TWO_FACTOR,
        "webauthn",
        "kcAuthenticatorWebAuthnClass",
        "webauthn-register",
    ),
    CredentialKind(
        "webauthn-passwordless",
        Category.PASSWORDLESS,
        "webauthn-passwordless",
        "kcAuthenticatorWebAuthnPasswordlessClass",
        "webauthn-register-passwordless",
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

    async def list(self, caller: AccountCaller) -> tuple[OwnCredentialType, ...]:
        """Return the types in their order, without those of which the user can do nothing."""
        caller.require(AccountRole.MANAGE_ACCOUNT, AccountRole.VIEW_PROFILE)
        async with self._database.read() as stores:
            held = await stores.users.credentials(caller.realm.id, caller.user_id)
        rules = caller.entry.sign_in
        checked = set(_checked_types(rules))
        kinds = (kind for kind in CREDENTIAL_KINDS if kind.type in checked)
        found = (_type(caller, kind, held) for kind in sorted(kinds, key=_place))
        return tuple(one for one in found if one.credentials or one.create_action)

    async def label(self, caller: AccountCaller, credential_id: str, label: str | None) -> None:
        """Store what the user calls a credential, None for nothing; raises NotFound."""
        caller.require(AccountRole.MANAGE_ACCOUNT)
        try:
            async with self._updates.begin(caller.realm.id, caller.user_id) as update:
                users = update.stores.users
                held = await users.credentials(caller.realm.id, caller.user_id)
                found = next((one for one in held if one.id == credential_id), None)
                if found is None:
                    raise NotFound(_NO_CREDENTIAL)
                await users.set_credential(caller.realm.id, replace(found, label=label))
        except (InvalidUserCredentials, AccountDisabled) as refusal:
            raise NotAuthenticated("the user is gone or disabled") from refusal


def _checked_types(rules: SignInRules) -> Iterator[str]:
    """Yield the types of credentials that the flows of the realm check."""
    for flow in (rules.browser, rules.direct_grant, *rules.flows.values()):
        for step in () if flow is None else flow.every_step():
            kind = KIND_OF.get(step.authenticator)
            if kind is not None and kind.credential is not None:
                yield kind.credential


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
        removable=kind.removable and _DELETE not in rules.off,
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
