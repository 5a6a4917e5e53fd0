"""Days and milliseconds in the queries of requests. Keycloak: 10.5 (dates)."""

import re
from datetime import UTC, date, datetime, time, timedelta
from typing import Final

from gateway.admin.access import BadRequest
from gateway.protocol.parameters import Parameters

_DAY: Final = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")
_EPOCH: Final = re.compile(r"\+?[0-9]{1,19}")
_FIRST: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LAST_MILLISECOND: Final = 253_402_300_799_999
"""The end of the year 9999."""


def instant(sent: Parameters, name: str) -> tuple[datetime, datetime | None] | None:
    """Return the beginning of the day or millisecond, and of the next one.

    Raises BadRequest in Keycloak's words.
    """
    text = sent.get(name)
    if text is None:
        return None
    if _EPOCH.fullmatch(text) and int(text) < 2**63:
        milliseconds = min(int(text), _LAST_MILLISECOND)
        return _from(_FIRST + timedelta(milliseconds=milliseconds), timedelta(milliseconds=1))
    try:
        day = date.fromisoformat(text) if _DAY.fullmatch(text) else None
    except ValueError:
        day = None
    if day is None:
        expected = "expected format is yyyy-MM-dd or an Epoch timestamp"
        raise BadRequest(f"Invalid value for '{name}', {expected}")
    return _from(datetime.combine(day, time(), UTC), timedelta(days=1))


def _from(beginning: datetime, length: timedelta) -> tuple[datetime, datetime | None]:
    try:
        return beginning, beginning + length
    except OverflowError:
        return beginning, None
