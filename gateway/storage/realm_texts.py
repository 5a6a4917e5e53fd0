"""Texts of realms, and lists of forbidden passwords.

Texts are cached by locale: they are not part of a realm's entry, which every token request loads,
because there may be megabytes. A password list is a file with a password a line, searched off the
event loop when a password is set, without regard to case.
Keycloak: passwordBlacklist, whose files lie in data/password-blacklists
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from gateway.domain.clock import Clock
from gateway.domain.errors import StoreUnavailable
from gateway.domain.limits.caches import SizedCache
from gateway.domain.ports.invalidation import REALM_TOPIC, Invalidation
from gateway.domain.ports.storage import Database, DocumentKind
from gateway.domain.secrets import Secret
from gateway.password_policies import missing_blacklist

_MOST_BYTES: Final = 8 * 1024 * 1024
_NO_TEXTS: Final[Mapping[str, str]] = {}


@dataclass(frozen=True, slots=True)
class _Kept:
    texts: Mapping[str, str]
    loaded_at: datetime


class RealmTextCache:
    """RealmTexts over a database, no older than `age`."""

    def __init__(
        self, database: Database, clock: Clock, invalidation: Invalidation, age: timedelta
    ) -> None:
        self._database = database
        self._clock = clock
        self._age = age
        self._kept: SizedCache[tuple[str, str], _Kept] = SizedCache(_MOST_BYTES)
        self._version = 0
        invalidation.subscribe(self._forget_topic)

    async def find_texts(
        self, realm_id: str, locales: Sequence[str]
    ) -> Mapping[str, Mapping[str, str]]:
        now = self._clock.now()
        found = {locale: self._fresh(realm_id, locale, now) for locale in locales}
        missing = [locale for locale, texts in found.items() if texts is None]
        if missing:
            try:
                found |= await self._load_texts(realm_id, missing, now)
            except StoreUnavailable:
                found |= dict.fromkeys(missing)
        return {locale: texts for locale, texts in found.items() if texts}

    def _fresh(self, realm_id: str, locale: str, now: datetime) -> Mapping[str, str] | None:
        kept = self._kept.get((realm_id, locale))
        if kept is None or not kept.loaded_at <= now < kept.loaded_at + self._age:
            return None
        return kept.texts

    async def _load_texts(
        self, realm_id: str, locales: Sequence[str], now: datetime
    ) -> dict[str, Mapping[str, str] | None]:
        version, found = self._version, {}
        async with self._database.read() as stores:
            for locale in locales:
                document = await stores.documents.find_document(
                    realm_id, DocumentKind.LOCALIZATION, locale
                )
                found[locale] = document or _NO_TEXTS
        # What changed meanwhile may not be in what was read.
        if version == self._version:
            for locale, texts in found.items():
                self._kept.put((realm_id, locale), _Kept(texts, now))
        return dict(found)

    def _forget_topic(self, topic: str | None) -> None:
        if topic is None or topic.startswith(REALM_TOPIC):
            self._version += 1
            self._kept.clear()


class FilePasswordBlacklists:
    """The lists in one folder."""

    def __init__(self, folder: Path) -> None:
        """Use the files in `folder`, which may be missing."""
        self._folder = folder

    async def contains(self, name: str, password: Secret) -> bool:
        """Return whether the list has the password; raises InvalidInput without the list."""
        return await asyncio.to_thread(self._contains, name, password.reveal().lower())

    def _contains(self, name: str, wanted: str) -> bool:
        if not name or "/" in name or name in {".", ".."}:
            raise missing_blacklist(name)
        try:
            with (self._folder / name).open(encoding="utf-8", errors="replace") as lines:
                return any(line.rstrip("\r\n").lower() == wanted for line in lines)
        except (OSError, ValueError) as failure:  # a name with NUL is a ValueError
            raise missing_blacklist(name) from failure
