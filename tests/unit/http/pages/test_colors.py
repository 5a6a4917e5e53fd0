"""Any accent color of a realm leaves its pages readable. WCAG 2.2, 1.4.3."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.http.pages.designs import HERE, Color, accent_style_sheet, contrast, parse_color

STYLE = Path(HERE, "static/realmgate.css").read_text()
PROPERTY = re.compile(r"--([a-z-]+):\s*(#[0-9a-f]{3,6})\b")


def _properties(text: str) -> dict[str, Color]:
    found = {name: parse_color(value) for name, value in PROPERTY.findall(text)}
    return {name: color for name, color in found.items() if color is not None}


LIGHT, DARK = (_properties(part) for part in STYLE.split("@media (prefers-color-scheme: dark)")[:2])
COLORS = st.builds(Color, *(st.integers(0, 255) for _ in range(3)))


@given(COLORS)
def test_text_on_the_accent_and_links_can_always_be_read(color: Color) -> None:
    light, dark = accent_style_sheet(color).decode().split("@media")
    for part, page in ((light, LIGHT), (dark, DARK)):
        found = _properties(part)
        for accent in ("accent", "accent-strong"):
            assert contrast(found[accent], found["on-accent"]) >= 4.5
        for background in ("surface", "canvas"):
            assert contrast(found["accent"], page[background]) >= 4.5


@pytest.mark.parametrize("page", [LIGHT, DARK], ids=["light", "dark"])
def test_the_built_in_colors_can_be_read(page: dict[str, Color]) -> None:
    for background in ("surface", "canvas"):
        for text in ("text", "muted", "accent", "accent-strong"):
            assert contrast(page[text], page[background]) >= 4.5, text
    for tone in ("error", "warning", "success", "info"):
        assert contrast(page["text"], page[f"{tone}-ground"]) >= 4.5
        assert contrast(page[tone], page[f"{tone}-ground"]) >= 3
    assert contrast(page["on-accent"], page["accent"]) >= 4.5
    assert contrast(page["control"], page["surface"]) >= 3


@pytest.mark.parametrize(
    ("text", "color"),
    [
        ("#fff", Color(255, 255, 255)),
        ("#0F766E", Color(15, 118, 110)),
        ("red", None),
        ("#12", None),
        ("#fff;", None),
        ("#fff\n", None),
        ("rgb(0,0,0)", None),
    ],
)
def test_a_color_is_written_in_hexadecimal(text: str, color: Color | None) -> None:
    assert parse_color(text) == color


def test_a_readable_color_stays_as_it_is() -> None:
    assert b"--accent:#0f766e" in accent_style_sheet(Color(15, 118, 110))
