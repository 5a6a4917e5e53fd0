"""Themes of mails: an operator's templates in place of the built-in HTML, by the name of the theme.

Everything is read when a worker starts, and checked by rendering a mail, so that no realm and no
mail names a file. docs/sign-in-pages.md#mails
"""

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Final

from jinja2 import DictLoader, Environment, StrictUndefined, Template, TemplateError

from gateway.domain.errors import FieldError, InvalidInput

HTML: Final = "mail.html"
_BUILT_IN: Final = f"builtin/{HTML}"
"""The name under which a theme extends the built-in template."""
_FOLDER: Final = "email"
_LARGEST: Final = 1_048_576
_SETTING: Final = "REALMGATE_THEMES"
_SAMPLE: Final = {
    "locale": "en",
    "direction": "ltr",
    "title": "Realm",
    "paragraphs": ["Text"],
    "link": "https://localhost/",
    "link_text": "Link",
}


def load_mail_themes(folder: Path | None) -> Mapping[str, Template]:
    """Return the template of each theme that has one, that of `""` is the built-in one.

    Raises InvalidInput with the file for a template that does not render.
    """
    built_in = (files("gateway.mail") / "templates" / HTML).read_text("utf-8")
    found = {"": _template({HTML: built_in})}
    for path in () if folder is None else sorted(folder.glob(f"*/{_FOLDER}")):
        for file in sorted(path.iterdir()):
            if file.name != HTML:
                raise _refused(file, f"{HTML} alone")
            found[path.parent.name] = _checked(file, built_in)
    return found


def _checked(file: Path, built_in: str) -> Template:
    if not file.is_file() or file.stat().st_size > _LARGEST:
        raise _refused(file, f"a file of at most {_LARGEST} bytes")
    try:
        template = _template({_BUILT_IN: built_in, HTML: file.read_text("utf-8")})
        for sample in (_SAMPLE, {**_SAMPLE, "link": "", "link_text": "", "paragraphs": []}):
            template.render(sample)
    except UnicodeDecodeError as error:
        raise _refused(file, "a file in UTF-8") from error
    except TemplateError as error:
        line = getattr(error, "lineno", None)
        place = str(file) if line is None else f"{file}, line {line}"
        raise _refused(place, f"a template that renders ({error.message})") from error
    return template


def _template(templates: Mapping[str, str]) -> Template:
    environment = Environment(
        loader=DictLoader(templates),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    return environment.get_template(HTML)


def _refused(place: Path | str, allowed: str) -> InvalidInput:
    return InvalidInput((FieldError(_SETTING, str(place), allowed),))
