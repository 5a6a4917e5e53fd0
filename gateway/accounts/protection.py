"""What an account lacks of the protections that its realm offers to users."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum, auto

from gateway.accounts.access import AccountCaller
from gateway.accounts.credentials import Category, OwnCredentialType
from gateway.authentication.recovery_codes import RECOVERY_CODES


class MissingProtection(Enum):
    """One protection that is missing."""

    SECOND_FACTOR = auto()
    """A password alone signs the user in."""
    RECOVERY_CODES = auto()
    """The user has a second factor, and no codes for the day that it is lost."""
    ENOUGH_RECOVERY_CODES = auto()
    EMAIL = auto()
    """A forgotten password cannot be reset by mail."""


@dataclass(frozen=True, slots=True)
class Lack:
    """A missing protection, and the types of credentials that users set up against it."""

    missing: MissingProtection
    remedies: tuple[OwnCredentialType, ...] = ()


def list_missing_protections(
    caller: AccountCaller, found: Iterable[OwnCredentialType]
) -> tuple[Lack, ...]:
    """Return what the realm offers and the account, with these credentials, lacks."""
    return tuple(_lacks(caller, tuple(found)))


def _lacks(caller: AccountCaller, found: tuple[OwnCredentialType, ...]) -> Iterator[Lack]:
    codes = [each for each in found if each.kind.type == RECOVERY_CODES]
    strong = [
        each
        for each in found
        if each.kind.category is not Category.BASIC_AUTHENTICATION and each not in codes
    ]
    offered = tuple(each for each in strong if each.create_action is not None)
    if offered and not any(each.credentials for each in strong):
        yield Lack(MissingProtection.SECOND_FACTOR, offered)
    has_second_factor = any(
        each.credentials for each in strong if each.kind.category is Category.TWO_FACTOR
    )
    for each in codes:
        if has_second_factor and not each.credentials and each.create_action is not None:
            yield Lack(MissingProtection.RECOVERY_CODES, (each,))
        if any(own.codes is not None and own.codes.too_few for own in each.credentials):
            yield Lack(MissingProtection.ENOUGH_RECOVERY_CODES, (each,))
    if caller.realm.login.reset_password_allowed and not caller.user.user.email:
        yield Lack(MissingProtection.EMAIL)
