"""How a realm's pages look: attributes of the realm, described in docs/sign-in-pages.md."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from gateway.http.pages.colors import Color, parse_color
from gateway.http.pages.links import safe_image

ACCENT: Final = "realmgate.login.accentColor"
LOGO: Final = "realmgate.login.logo"
DARK_LOGO: Final = "realmgate.login.logoDark"
_DARK_MODE: Final = "darkMode"
"""Keycloak's attribute: `false` keeps pages light."""


@dataclass(frozen=True, slots=True)
class Appearance:
    """What the attributes of a realm change; an unusable value changes nothing."""

    accent: Color | None = None
    logo: str = ""
    dark_logo: str = ""
    light_only: bool = False


def appearance_of(attributes: Mapping[str, str]) -> Appearance:
    """Return the appearance that the attributes of a realm set."""
    return Appearance(
        accent=parse_color(attributes.get(ACCENT, "")),
        logo=safe_image(attributes.get(LOGO, "")),
        dark_logo=safe_image(attributes.get(DARK_LOGO, "")),
        light_only=attributes.get(_DARK_MODE, "").lower() == "false",
    )
