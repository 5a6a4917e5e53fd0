"""The accent color of a realm: checked, adjusted until it can be read, written as a style sheet.

Contrast is that of WCAG 2.2: 4.5:1 for text on the accent and for links on each background.
"""

import re
from dataclasses import dataclass
from typing import Final

_HEX: Final = re.compile(r"#?([0-9A-Fa-f]{6}|[0-9A-Fa-f]{3})")
_READABLE: Final = 4.5
"""The least contrast of text. WCAG 2.2, 1.4.3."""
_STEPS: Final = 50
_LINEAR_LIMIT: Final = 0.04045


@dataclass(frozen=True, slots=True)
class Color:
    """A color without transparency; each part is from 0 to 255."""

    red: int
    green: int
    blue: int

    def __str__(self) -> str:
        return f"#{self.hex}"

    @property
    def hex(self) -> str:
        """The six digits, in small letters."""
        return f"{self.red:02x}{self.green:02x}{self.blue:02x}"

    @property
    def luminance(self) -> float:
        """From 0 (black) to 1 (white)."""
        parts = (_linear(part) for part in (self.red, self.green, self.blue))
        return sum(w * part for w, part in zip((0.2126, 0.7152, 0.0722), parts, strict=True))

    def mixed(self, other: "Color", share: float) -> "Color":
        """Return the color with `share` of the other, from 0 to 1."""
        return Color(
            *(
                round(mine + (theirs - mine) * share)
                for mine, theirs in zip(
                    (self.red, self.green, self.blue),
                    (other.red, other.green, other.blue),
                    strict=True,
                )
            )
        )


WHITE: Final = Color(255, 255, 255)
BLACK: Final = Color(0, 0, 0)
_LIGHT_BACKGROUNDS: Final = (WHITE, Color(0xF4, 0xF5, 0xF7))
"""`--surface` and `--canvas` of static/realmgate.css."""
_DARK_BACKGROUNDS: Final = (Color(0x17, 0x1B, 0x22), Color(0x0E, 0x11, 0x16))
_DARK_TEXT: Final = Color(0x0E, 0x11, 0x16)


def parse_color(text: str) -> Color | None:
    """Return the color of `#rrggbb` or `#rgb`, None for anything else."""
    found = _HEX.fullmatch(text)
    if found is None:
        return None
    digits = found.group(1)
    if len(digits) == len("rgb"):
        digits = "".join(digit * 2 for digit in digits)
    return Color(*bytes.fromhex(digits))


def contrast(first: Color, second: Color) -> float:
    """Return the contrast of two colors, from 1 to 21."""
    darker, lighter = sorted((first.luminance, second.luminance))
    return (lighter + 0.05) / (darker + 0.05)


def readable(color: Color, backgrounds: tuple[Color, ...]) -> Color:
    """Return the color, lightened or darkened until text in it is readable on the backgrounds."""
    dark = backgrounds[0].luminance < contrast(WHITE, BLACK) / 100
    target = WHITE if dark else BLACK
    mixed = (color.mixed(target, step / _STEPS) for step in range(_STEPS + 1))
    return next(
        one for one in mixed if all(contrast(one, ground) >= _READABLE for ground in backgrounds)
    )


def accent_style_sheet(color: Color) -> bytes:
    """Return the style sheet that sets the accent, for light and dark pages."""
    light, dark = readable(color, _LIGHT_BACKGROUNDS), readable(color, _DARK_BACKGROUNDS)
    return (
        f":root{{{_properties(light, BLACK, WHITE)}}}\n"
        "@media (prefers-color-scheme:dark){:root:not(.light)"
        f"{{{_properties(dark, WHITE, _DARK_TEXT)}}}}}\n"
    ).encode("ascii")


def _properties(accent: Color, away: Color, text: Color) -> str:
    """Return the properties; a color that is readable on the page is so below its opposite."""
    strong = accent.mixed(away, 0.14)
    return f"--accent:{accent};--accent-strong:{strong};--on-accent:{text}"


def _linear(part: int) -> float:
    share = part / 255
    if share <= _LINEAR_LIMIT:
        return share / 12.92
    return float(((share + 0.055) / 1.055) ** 2.4)
