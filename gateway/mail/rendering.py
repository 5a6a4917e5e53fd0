"""What a mail says, as text and as HTML, in the language of the user.

The texts are Keycloak's keys, `<kind>Subject` and `<kind>Body`; those of the realm (`localization`)
override the built-in ones. All of them are plain text: the template of the HTML escapes every one,
so that no name and no text brings markup into a mail. Keycloak: themes
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Final

from jinja2 import Template

from gateway.domain.mail import ABOUT_EVENTS, Mail, MailKind
from gateway.domain.ports.realm_texts import RealmTexts
from gateway.domain.texts import (
    Catalog,
    Texts,
    fallbacks,
    is_right_to_left,
    parse_messages,
    texts_for,
)
from gateway.mail.expiring import expiring_arguments
from gateway.mail.themes import load_mail_themes

_PACKAGE: Final = files("gateway.mail")
_SMALLEST_UNIT: Final = ("minutes", 60)
_UNITS: Final = (("days", 24 * 60 * 60), ("hours", 60 * 60), _SMALLEST_UNIT)


@dataclass(frozen=True, slots=True)
class RenderedMail:
    """Subject and body; both may contain a link with a secret."""

    subject: str
    text: str = field(repr=False)
    html: str = field(repr=False)


class MailRenderer:
    """Renders mails. `texts` are those of administrators, `themes` is the folder of themes."""

    def __init__(self, texts: RealmTexts, themes: Path | None = None) -> None:
        self._texts = texts
        self._folder = themes
        self._templates: Mapping[str, Template] = {}
        self._catalogs: Mapping[str, Catalog] = {}

    async def render(self, mail: Mail) -> RenderedMail:
        """Return the mail in its language; where a text is missing, in English."""
        own = await self._texts.find(mail.realm_id, fallbacks(mail.locale))
        texts = texts_for(mail.locale, own, self._built_in())
        title = texts.named(mail.realm_title)
        arguments = _arguments(mail, texts)
        if mail.kind not in ABOUT_EVENTS:
            arguments = (title, *arguments)
        body = texts(f"{mail.kind}Body", *arguments)
        paragraphs = [part.strip() for part in body.split("\n\n") if part.strip()]
        html = self._template(mail.theme).render(
            locale=mail.locale,
            direction="rtl" if is_right_to_left(mail.locale) else "ltr",
            title=title,
            paragraphs=paragraphs,
            link=mail.link,
            link_text=texts(f"{mail.kind}Link") if mail.link else "",
        )
        return RenderedMail(
            subject=_one_line(texts(f"{mail.kind}Subject", *arguments)),
            text="\n\n".join([*paragraphs, *filter(None, [mail.link])]) + "\n",
            html=html,
        )

    def _built_in(self) -> Mapping[str, Catalog]:
        """Return the texts by locale; read at the first mail, as most workers send none."""
        if not self._catalogs:
            self._catalogs = _read_catalogs()
        return self._catalogs

    def _template(self, theme: str) -> Template:
        """Return the template of a theme; read at the first mail as well."""
        if not self._templates:
            self._templates = load_mail_themes(self._folder)
        return self._templates.get(theme) or self._templates[""]


def _arguments(mail: Mail, texts: Texts) -> tuple[str, ...]:
    """Return the arguments of the texts; the first one of a mail with a link is its lifespan."""
    if mail.kind is MailKind.CERTIFICATES_EXPIRE:
        return expiring_arguments(mail, texts)
    if not mail.link or not mail.arguments:
        return mail.arguments
    seconds, *others = mail.arguments
    return (_period(int(seconds), texts), *others)


def _period(seconds: int, texts: Texts) -> str:
    """Return a period in the largest unit that it is a multiple of, minutes rounded up."""
    unit, length = next(
        ((name, length) for name, length in _UNITS if seconds % length == 0), _SMALLEST_UNIT
    )
    return texts(f"linkExpiration.{unit}", str(-(-seconds // length)))


def _one_line(text: str) -> str:
    """Return the text without line breaks and other characters that could end a header."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def _read_catalogs() -> Mapping[str, Catalog]:
    found = {}
    for file in (_PACKAGE / "locales").iterdir():
        locale = file.name.removeprefix("messages_").removesuffix(".properties")
        found[locale] = parse_messages(file.read_text("utf-8"))
    return found
