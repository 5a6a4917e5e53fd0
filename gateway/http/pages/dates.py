"""Dates and times as people of a locale write them, in UTC: a page does not know the time zone."""

from datetime import UTC, datetime

from babel import Locale, UnknownLocaleError
from babel.dates import format_skeleton, format_time, get_datetime_format

from gateway.domain.texts import ENGLISH, fallbacks


def date_time(locale: str, moment: datetime) -> str:
    """Return the date and the time to the minute, such as `Nov 23, 2026, 6:51 AM UTC`."""
    known, at = _known(locale), moment.astimezone(UTC)
    date = format_skeleton("yMMMd", at, locale=known)
    time = f"{format_time(at, 'short', locale=known)} UTC"
    pattern = str(get_datetime_format("medium", known))
    return pattern.replace("{1}", date).replace("{0}", time)


def _known(locale: str) -> Locale:
    for tag in fallbacks(locale):
        try:
            return Locale.parse(tag, sep="-")
        except (UnknownLocaleError, ValueError):
            continue
    return Locale.parse(ENGLISH)
