"""How the sign-in pages of a realm look: attributes of the realm that Keycloak does not have.

`docs/sign-in-pages.md` describes them. An unusable value is refused where it is written, and
changes nothing where it is stored already.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

ACCENT_COLOR: Final = "realmgate.login.accentColor"
LOGO: Final = "realmgate.login.logo"
DARK_LOGO: Final = "realmgate.login.logoDark"
_DARK_MODE: Final = "darkMode"
"""Keycloak's attribute: `false` keeps pages light."""
_COLOR: Final = re.compile(r"#([0-9A-Fa-f]{6}|[0-9A-Fa-f]{3})")
_LONGEST_LINK: Final = 2_048
_LONGEST_IMAGE: Final = 32_768
_URL_CHARACTERS: Final = r"[^\x00-\x20\x7f\\<>\"'`]*"
_IMAGE_URL: Final = re.compile(
    rf"https://[A-Za-z0-9.-]+(:\d{{1,5}})?(/{_URL_CHARACTERS})?|/(?!/){_URL_CHARACTERS}"
)
_EMBEDDED_IMAGE: Final = re.compile(
    r"data:image/(png|jpeg|gif|webp|svg\+xml);base64,[A-Za-z0-9+/]+=*"
)


@dataclass(frozen=True, slots=True)
class Appearance:
    """What the attributes of a realm change; empty texts change nothing."""

    accent_color: str = ""
    """`#rrggbb` or `#rgb`."""
    logo: str = ""
    dark_logo: str = ""
    """In place of `logo` on dark pages."""
    light_only: bool = False


def is_color(text: str) -> bool:
    """Tell whether the text is a color in the form `#rrggbb` or `#rgb`."""
    return _COLOR.fullmatch(text) is not None


def is_image(text: str) -> bool:
    """Tell whether a page may load the image: https, a path of this origin, or in the URL itself.

    An image in the URL has at most 32,768 characters, another URL 2,048.
    """
    if len(text) <= _LONGEST_LINK and _IMAGE_URL.fullmatch(text):
        return True
    return len(text) <= _LONGEST_IMAGE and _EMBEDDED_IMAGE.fullmatch(text) is not None


def appearance_of(attributes: Mapping[str, str]) -> Appearance:
    """Return the appearance that the attributes of a realm set."""
    accent, logo = attributes.get(ACCENT_COLOR, ""), attributes.get(LOGO, "")
    dark_logo = attributes.get(DARK_LOGO, "")
    return Appearance(
        accent_color=accent if is_color(accent) else "",
        logo=logo if is_image(logo) else "",
        dark_logo=dark_logo if is_image(dark_logo) else "",
        light_only=attributes.get(_DARK_MODE, "").lower() == "false",
    )
