"""The built-in design and the themes of the operator: templates, texts, static files, colors.

Everything is read when a worker starts and checked by rendering each page once, so a request never
reads a file: neither a realm nor a URL can name one outside. docs/sign-in-pages.md#themes

The accent color of a realm is checked, adjusted until it can be read, and written as a style sheet.
Contrast is that of WCAG 2.2: 4.5:1 for text on the accent and for links on each background.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Final

from jinja2 import DictLoader, Environment, StrictUndefined, TemplateError, TemplateSyntaxError

from gateway.domain.errors import FieldError, InvalidInput
from gateway.domain.localization import Catalog, parse_messages

_HEX: Final = re.compile(r"#?([0-9A-Fa-f]{6}|[0-9A-Fa-f]{3})")
_READABLE: Final = 4.5
"""The least contrast of text. WCAG 2.2, 1.4.3."""
_ADJUSTMENT_STEPS: Final = 50
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
    mixed = (color.mixed(target, step / _ADJUSTMENT_STEPS) for step in range(_ADJUSTMENT_STEPS + 1))
    return next(
        one for one in mixed if all(contrast(one, ground) >= _READABLE for ground in backgrounds)
    )


def accent_style_sheet(color: Color) -> bytes:
    """Return the style sheet that sets the accent, for light and dark pages."""
    light, dark = readable(color, _LIGHT_BACKGROUNDS), readable(color, _DARK_BACKGROUNDS)
    return (
        f":root{{{_color_properties(light, BLACK, WHITE)}}}\n"
        "@media (prefers-color-scheme:dark){:root:not(.light)"
        f"{{{_color_properties(dark, WHITE, _DARK_TEXT)}}}}}\n"
    ).encode("ascii")


def _color_properties(accent: Color, away: Color, text: Color) -> str:
    """Return the properties; a color that is readable on the page is so below its opposite."""
    strong = accent.mixed(away, 0.14)
    return f"--accent:{accent};--accent-strong:{strong};--on-accent:{text}"


def _linear(part: int) -> float:
    share = part / 255
    if share <= _LINEAR_LIMIT:
        return share / 12.92
    return float(((share + 0.055) / 1.055) ** 2.4)


HERE: Final = Path(__file__).parent
STYLE_SHEET: Final = "realmgate.css"
THEME_STYLE_SHEET: Final = "theme.css"
MEDIA_TYPES: Final = {
    ".css": "text/css;charset=utf-8",
    ".js": "text/javascript;charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".webp": "image/webp",
    ".woff2": "font/woff2",
}
_BUILT_IN: Final = "builtin/"
"""Before the name of a built-in template that a theme extends."""
_SETTING: Final = "REALMGATE_THEMES"
_THEME_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_FILE_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_MESSAGES: Final = re.compile(r"messages_([A-Za-z]{2,8}(?:[-_][A-Za-z0-9]{1,8}){0,3})\.properties")
_LARGEST: Final = 1_048_576
"""Bytes of one file of a theme."""
_MOST_FILES: Final = 200


@dataclass(frozen=True, slots=True)
class Design:
    """One design: what renders a page, the texts by locale, and its static files by name."""

    environment: Environment = field(repr=False)
    catalogs: Mapping[str, Catalog] = field(repr=False)
    static: Mapping[str, bytes] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Designs:
    """All designs. `version` changes with any static file."""

    built_in: Design
    themes: Mapping[str, Design]
    language_names: Catalog = field(repr=False)

    @property
    def version(self) -> str:
        """16 hexadecimal digits, for URLs that browsers keep for ever."""
        digest = sha256()
        for name, design in sorted({"": self.built_in, **self.themes}.items()):
            for file, content in sorted(design.static.items()):
                digest.update(f"{name}/{file}:{len(content)}:".encode() + content)
        return digest.hexdigest()[:16]


def load_designs(folder: Path | None) -> Designs:
    """Return the built-in design and each theme in `folder`; raises InvalidInput with the file."""
    templates = _texts_in(HERE / "templates", ".html")
    built_in = Design(
        _environment(templates), _catalogs(HERE / "locales"), _bytes_in(HERE / "static")
    )
    names = parse_messages((HERE / "locales/languages.properties").read_text("utf-8"))
    themes = (
        {}
        if folder is None
        else {path.name: _theme(path, templates) for path in _theme_folders(folder)}
    )
    return Designs(built_in, themes, names)


def _theme_folders(folder: Path) -> Iterator[Path]:
    try:
        found = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    except OSError as error:
        raise _refused(folder, "a folder with a folder for each theme") from error
    for path in found:
        if path.is_dir():
            if not _THEME_NAME.fullmatch(path.name):
                raise _refused(path, "a name of letters, digits, '.', '_' and '-'")
            yield path


def _theme(path: Path, built_in: Mapping[str, str]) -> Design:
    templates = _texts_in(path / "templates", ".html")
    for name in templates:
        if name not in built_in:
            raise _refused(path / "templates" / name, f"one of {', '.join(sorted(built_in))}")
    originals = {f"{_BUILT_IN}{name}": text for name, text in built_in.items()}
    environment = _environment({**originals, **built_in, **templates})
    for name in templates:
        try:
            environment.get_template(name)
        except TemplateSyntaxError as error:
            raise template_refused(path / "templates" / (error.name or name), error) from error
    return Design(environment, _catalogs(path / "messages"), _bytes_in(path / "static"))


def template_refused(path: Path, error: TemplateError) -> InvalidInput:
    """Return the error for a template of a theme that does not render."""
    line = getattr(error, "lineno", None)
    place = path if line is None else f"{path}, line {line}"
    return _refused(place, f"a template that renders ({error.message})")


def _environment(templates: Mapping[str, str]) -> Environment:
    # Nothing is read later: no reload, and each template is compiled once.
    return Environment(
        loader=DictLoader(templates),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )


def _catalogs(folder: Path) -> dict[str, Catalog]:
    found: dict[str, Catalog] = {}
    for name, content in _texts_in(folder, ".properties").items():
        match = _MESSAGES.fullmatch(name)
        if match is not None:
            found[match.group(1).replace("_", "-")] = parse_messages(content)
    return found


def _texts_in(folder: Path, suffix: str) -> dict[str, str]:
    try:
        return {
            path.name: _read_file(path).decode("utf-8")
            for path in _files(folder)
            if path.suffix == suffix
        }
    except UnicodeDecodeError as error:
        raise _refused(folder, "files in UTF-8") from error


def _bytes_in(folder: Path) -> dict[str, bytes]:
    found = {}
    for path in _files(folder):
        if path.suffix not in MEDIA_TYPES or not _FILE_NAME.fullmatch(path.name):
            raise _refused(path, f"files that end with {', '.join(MEDIA_TYPES)}")
        found[path.name] = _read_file(path)
    return found


def _files(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    found = sorted(
        path for path in folder.iterdir() if path.is_file() and not path.name.startswith(".")
    )
    if len(found) > _MOST_FILES:
        raise _refused(folder, f"at most {_MOST_FILES} files")
    return found


def _read_file(path: Path) -> bytes:
    if path.stat().st_size > _LARGEST:
        raise _refused(path, f"files of at most {_LARGEST} bytes")
    return path.read_bytes()


_refused_field = partial(FieldError, _SETTING)


def _refused(path: Path | str, allowed: str) -> InvalidInput:
    return InvalidInput((_refused_field(str(path), allowed),))
