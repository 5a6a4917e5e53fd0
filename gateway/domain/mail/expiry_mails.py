"""Mails ahead of time about what expires: who gets them, and how long ahead.

Own attributes of a realm; docs/operations.md describes them.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import uuid4

from gateway.domain.expiry import Expiration
from gateway.domain.limits.caches import cached
from gateway.domain.locale_selection import LocalePreferences, select_locale
from gateway.domain.mail.message import Mail, MailKind, MailNotSent, ascii_address, mail_time
from gateway.domain.realm import Realm

EXPIRY_MAIL_RECIPIENTS: Final = "realmgate.certificates.expiry.mail.recipients"
EXPIRY_MAIL_DAYS: Final = "realmgate.certificates.expiry.mail.days"
MOST_RECIPIENTS: Final = 10
STANDARD_DAYS: Final = (1, 7, 30)
MOST_MAILED: Final = 50
"""Lines of one mail; the others are counted."""
_MOST_DAYS: Final = 10
_LONGEST: Final = 365
_DAY: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class ExpiryMailSettings:
    """The recipients of mails, and how many days ahead; without recipients none is sent."""

    recipients: tuple[str, ...] = ()
    days: tuple[int, ...] = STANDARD_DAYS
    """In rising order."""

    def stage(self, left: timedelta) -> int | None:
        """Return the least number of days that is not shorter than the time left, if any."""
        return next((days for days in self.days if timedelta() < left <= days * _DAY), None)


def expiry_mails_of(realm: Realm) -> ExpiryMailSettings:
    """Return what the attributes of the realm say; an unusable value is refused where written."""
    attributes = realm.attributes
    return _settings(
        attributes.get(EXPIRY_MAIL_RECIPIENTS, ""), attributes.get(EXPIRY_MAIL_DAYS, "")
    )


def are_recipients(text: str) -> bool:
    """Tell whether the text lists mail addresses with commas or spaces between them."""
    listed = _listed(text)
    return len(listed) <= MOST_RECIPIENTS and all(map(_is_address, listed))


def are_days(text: str) -> bool:
    """Tell whether the text lists numbers of days with commas or spaces between them."""
    listed = _listed(text)
    return len(listed) <= _MOST_DAYS and all(map(_is_number_of_days, listed))


def expiry_mail(
    realm: Realm, recipient: str, expiring: Sequence[Expiration], now: datetime
) -> Mail:
    """Return a mail about what expires.

    Its first argument is the number of things; the others are lists in JSON, one for each of the
    first ones: kind, end, days left, subject, the owners as pairs of kind and name, and the renewal
    as a pair of kind and value.
    """
    return Mail(
        id=str(uuid4()),
        realm_id=realm.id,
        realm_title=realm.display_name or realm.name,
        recipient=recipient,
        locale=select_locale(realm.localization, LocalePreferences()),
        kind=MailKind.CERTIFICATES_EXPIRE,
        created_at=now,
        arguments=(str(len(expiring)), *(_line(each, now) for each in expiring[:MOST_MAILED])),
        theme=realm.email_theme or "",
    )


def _line(each: Expiration, now: datetime) -> str:
    left = max((each.expires_at - now) // _DAY, 0)
    return json.dumps(
        [
            each.kind.value,
            mail_time(each.expires_at),
            str(left),
            each.subject,
            [(owner.kind.value, owner.name) for owner in each.owners],
            (each.renewal.kind.value, each.renewal.value),
        ]
    )


def _listed(text: str) -> list[str]:
    return text.replace(",", " ").split()


def _is_address(text: str) -> bool:
    try:
        ascii_address(text)
    except MailNotSent:
        return False
    return True


def _is_number_of_days(text: str) -> bool:
    return (
        text.isascii()
        and text.isdecimal()
        and len(text) <= len(str(_LONGEST))
        and (1 <= int(text) <= _LONGEST)
    )


@cached(64 * 1024)
def _settings(recipients: str, days: str) -> ExpiryMailSettings:
    if not are_recipients(recipients) or not are_days(days):
        return ExpiryMailSettings()
    numbers = sorted({int(each) for each in _listed(days)})
    return ExpiryMailSettings(
        tuple(dict.fromkeys(_listed(recipients))), tuple(numbers) or STANDARD_DAYS
    )
