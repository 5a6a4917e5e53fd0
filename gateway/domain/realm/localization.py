"""Languages of the realm's pages. Keycloak: internationalization."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Localization:
    """Which languages a page may be shown in."""

    enabled: bool = False
    """`internationalizationEnabled`: users may choose a language."""
    supported_locales: tuple[str, ...] = ()
    """`supportedLocales`: the languages to choose from, in the given order."""
    default_locale: str | None = None
    """`defaultLocale`: the language before a choice."""
