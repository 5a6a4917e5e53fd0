"""Instants as Keycloak sends them: whole milliseconds since 1970."""

from datetime import UTC, datetime, timedelta
from typing import Any

from gateway.representations.shapes import Count

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_YEAR_3000 = 32_503_680_000_000


class Milliseconds:
    """An instant of the first thousand years after 1970."""

    def read(self, value: Any, path: str) -> datetime:
        count = Count(most=_YEAR_3000, unit="milliseconds since 1970").read(value, path)
        return _EPOCH + count * _MILLISECOND

    def write(self, value: datetime) -> int:
        return (value - _EPOCH) // _MILLISECOND
