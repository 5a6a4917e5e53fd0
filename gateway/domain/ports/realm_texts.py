"""Texts of realms for pages. They may lag behind the database by seconds, as a directory may."""

from collections.abc import Mapping, Sequence
from typing import Protocol


class RealmTexts(Protocol):
    """Finds the texts that administrators wrote (admin API `localization`)."""

    async def find(self, realm_id: str, locales: Sequence[str]) -> Mapping[str, Mapping[str, str]]:
        """Return the texts by locale, then by key, of those locales that have any.

        While the database is unavailable there may be none: a page is shown all the same.
        """
