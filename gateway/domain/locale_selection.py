"""Which language a page is shown in. Keycloak: 12.12.

Only where the realm enables internationalization; else pages are in English. The first
preference that the realm supports decides, in the order of the fields of `LocalePreferences`; then
the realm's default.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from gateway.domain.realm import Localization
from gateway.domain.texts import ENGLISH, language_of

_LONGEST: Final = 1_000
"""Characters of a header or parameter that are read."""
_MOST: Final = 20
"""Languages of one preference that are considered."""
_TAG: Final = re.compile(r"[A-Za-z]{2,8}(?:[-_][A-Za-z0-9]{1,8}){0,4}")
_WEIGHTED: Final = re.compile(r"([A-Za-z0-9_-]{1,35})(?:;q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalePreferences:
    """Where a user's language comes from, the strongest source first; empty without one."""

    chosen: str = ""
    """`kc_locale`: the user chose it on a page of this sign-in."""
    user: str = ""
    """The attribute `locale` of the user."""
    client: str = ""
    """`ui_locales`: separated by spaces, the best first."""
    cookie: str = ""
    """`KEYCLOAK_LOCALE`: chosen in this browser before."""
    browser: str = ""
    """The header Accept-Language."""


def select_locale(settings: Localization, preferences: LocalePreferences) -> str:
    """Return the locale of a page, written as the realm supports it."""
    if not settings.enabled:
        return ENGLISH
    preferred = (
        (preferences.chosen,),
        (preferences.user,),
        preferences.client[:_LONGEST].split()[:_MOST],
        (preferences.cookie,),
        _by_weight(preferences.browser),
    )
    for tags in preferred:
        found = _supported(settings.supported_locales, tags)
        if found is not None:
            return found
    return settings.default_locale or ENGLISH


def supported_locale(settings: Localization, tag: str) -> str | None:
    """Return the supported locale that a user chose, None where the realm offers none like it."""
    found = _supported(settings.supported_locales, (tag,)) if settings.enabled else None
    return found if found is not None and _TAG.fullmatch(found) else None


def _supported(supported: tuple[str, ...], tags: Iterable[str]) -> str | None:
    """Return the supported locale that fits the first tag that any fits."""
    for tag in tags:
        if not _TAG.fullmatch(tag):
            continue
        fitting = [locale for locale in supported if _fits(locale, tag)]
        if fitting:
            return min(fitting, key=lambda locale: _normal(locale) != _normal(tag))
    return None


def _fits(locale: str, tag: str) -> bool:
    """Tell whether the languages are the same and the countries do not differ."""
    first, second = _country(locale), _country(tag)
    same_country = not first or not second or first == second
    return language_of(locale) == language_of(tag) and same_country


def _country(tag: str) -> str:
    parts = _normal(tag).split("-")[1:]
    return next((part for part in parts if len(part) in {2, 3} and not part.startswith("x")), "")


def _normal(tag: str) -> str:
    return tag.replace("_", "-").lower()


def _by_weight(header: str) -> list[str]:
    """Return the languages of Accept-Language, the most preferred first. Spec: RFC 9110 §12.5.4."""
    return [tag for _, tag in sorted(_weighted(header), key=lambda pair: -pair[0])][:_MOST]


def _weighted(header: str) -> Iterator[tuple[float, str]]:
    for part in header[:_LONGEST].split(","):
        found = _WEIGHTED.fullmatch("".join(part.split()))
        weight = float(found.group(2) or 1) if found else 0.0
        if found and weight > 0:
            yield weight, found.group(1)
