"""Dates and times as people of a locale write them, in UTC: a page does not know the time zone.

Babel is loaded with the first page that shows a date: it takes 1 MB, and 4 MB with a locale.
"""

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from gateway.domain.texts import ENGLISH, fallbacks

if TYPE_CHECKING:
    from babel import Locale


def date_time(locale: str, moment: datetime) -> str:
    """Return the date and the time to the minute, such as `Nov 23, 2026, 6:51 AM UTC`."""
    from babel.dates import (  # noqa: PLC0415 - see above
        format_skeleton,
        format_time,
        get_datetime_format,
    )

    known, at = _known(locale), moment.astimezone(UTC)
    date = format_skeleton("yMMMd", at, locale=known)
    time = f"{format_time(at, 'short', locale=known)} UTC"
    pattern = str(get_datetime_format("medium", known))
    return pattern.replace("{1}", date).replace("{0}", time)


def _known(locale: str) -> "Locale":
    from babel import Locale, UnknownLocaleError  # noqa: PLC0415 - see above

    for tag in fallbacks(locale):
        try:
            return Locale.parse(tag, sep="-")
        except (UnknownLocaleError, ValueError):
            continue
    return Locale.parse(ENGLISH)
