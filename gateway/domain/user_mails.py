"""A mail to a user of a realm, in the language that the user reads."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final
from uuid import uuid4

from gateway.domain.locale_selection import LocaleWishes, select_locale
from gateway.domain.mail import Mail, MailKind
from gateway.domain.realm import Realm
from gateway.domain.users import User

_SECOND: Final = timedelta(seconds=1)


def user_mail(realm: Realm, user: User, address: str, kind: MailKind, now: datetime) -> Mail:
    """Return a new mail to a user."""
    return Mail(
        id=str(uuid4()),
        realm_id=realm.id,
        realm_title=realm.display_name or realm.name,
        recipient=address,
        locale=select_locale(realm.localization, LocaleWishes(user=user.locale)),
        kind=kind,
        created_at=now,
    )


def with_link(mail: Mail, link: str, lifespan: timedelta, *arguments: str) -> Mail:
    """Return the mail with a link, which lasts for `lifespan`.

    The first argument of its texts is the lifespan in seconds; `arguments` follow.
    """
    return replace(mail, link=link, arguments=(str(lifespan // _SECOND), *arguments))
