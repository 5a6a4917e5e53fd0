"""The built-in design and the themes of the operator: templates, texts and static files.

Everything is read when a worker starts and checked by rendering each page once, so a request never
reads a file: neither a realm nor a URL can name one outside. docs/sign-in-pages.md#themes
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
from gateway.domain.texts import Catalog, parse_messages

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
            path.name: _read(path).decode("utf-8")
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
        found[path.name] = _read(path)
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


def _read(path: Path) -> bytes:
    if path.stat().st_size > _LARGEST:
        raise _refused(path, f"files of at most {_LARGEST} bytes")
    return path.read_bytes()


_refused_field = partial(FieldError, _SETTING)


def _refused(path: Path | str, allowed: str) -> InvalidInput:
    return InvalidInput((_refused_field(str(path), allowed),))
