"""Mails as text and as HTML, in the language of the user: their texts, themes and headers.

The texts are Keycloak's keys, `<kind>Subject` and `<kind>Body`; texts of the realm (`localization`)
override the built-in ones. All of them are plain text: the template of the HTML escapes every one,
so that no name and no text brings markup into a mail. A theme is an operator's template in place of
the built-in HTML. All themes are read when a worker starts, and checked by rendering a mail, so
that no realm and no mail names a file. Keycloak: themes; docs/sign-in-pages.md#mails;
Spec: RFC 5322 §3.6, RFC 2046 §5.1.4 (multipart/alternative), RFC 3834 §5 (Auto-Submitted)
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from functools import reduce
from importlib.resources import files
from pathlib import Path
from typing import Final

from jinja2 import DictLoader, Environment, StrictUndefined, Template, TemplateError

from gateway.domain.errors import FieldError, InvalidInput
from gateway.domain.localization import (
    Catalog,
    Texts,
    fallbacks,
    is_right_to_left,
    parse_messages,
    texts_for,
)
from gateway.domain.mail import ABOUT_EVENTS, Mail, Mailbox, MailKind, MailServer, ascii_address
from gateway.domain.ports.lookups import RealmTexts

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
    """Return the template of each theme, `""` for the built-in; raises InvalidInput."""
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


_BEGIN_LEFT_TO_RIGHT: Final = "\u2066"
_END_OF_DIRECTION: Final = "\u2069"
"""Isolate names and commands from bidirectional text around them. Unicode: UAX #9."""


def expiring_arguments(mail: Mail, texts: Texts) -> tuple[str, str]:
    """Return the number of things, and a paragraph for each of those that the mail lists."""
    number, *lines = mail.arguments
    paragraphs = [_paragraph(line, texts) for line in lines]
    others = int(number) - len(lines)
    if others > 0:
        paragraphs.append(texts("certificatesExpireMore", str(others)))
    return number, "\n\n".join(paragraphs)


def _paragraph(line: str, texts: Texts) -> str:
    kind, end, days, subject, owners, (place, value) = json.loads(line)
    return texts(
        "certificatesExpireItem",
        _verbatim(end, texts),
        texts("linkExpiration.days", days),
        texts(f"certificatesExpireKind.{kind}"),
        _verbatim(subject, texts),
        _owners(owners, texts),
        texts(f"certificatesExpireRenewal.{place}", _verbatim(value, texts)),
    )


def _owners(owners: Iterable[tuple[str, str]], texts: Texts) -> str:
    named = [
        texts(f"certificatesExpireOwner.{kind}", _verbatim(name, texts)) for kind, name in owners
    ]
    if not named:
        return texts("certificatesExpireOwner.unknown")
    return reduce(lambda before, each: texts("certificatesExpireOwners", before, each), named)


def _verbatim(text: str, texts: Texts) -> str:
    """Return a name or command, which must not begin a paragraph of its own."""
    line = " ".join(text.split())
    if line and is_right_to_left(texts.locale):
        return f"{_BEGIN_LEFT_TO_RIGHT}{line}{_END_OF_DIRECTION}"
    return line


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

    async def render_mail(self, mail: Mail) -> RenderedMail:
        """Return the mail in its language; where a text is missing, in English."""
        own = await self._texts.find_texts(mail.realm_id, fallbacks(mail.locale))
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


_POLICY: Final = SMTP.clone(cte_type="7bit")
"""Every server takes 7 bits; a header with a line break raises ValueError."""


def message_bytes(server: MailServer, mail: Mail, rendered: RenderedMail) -> bytes:
    """Return the message, with a lasting Message-ID; raises MailNotSent, ValueError."""
    message = EmailMessage(_POLICY)
    message["From"] = _address(server.sender)
    message["To"] = _address(Mailbox(ascii_address(mail.recipient)))
    if server.reply_to is not None:
        message["Reply-To"] = _address(server.reply_to)
    message["Subject"] = rendered.subject
    message["Date"] = format_datetime(mail.created_at)
    message["Message-ID"] = f"<{mail.id}@{server.sender.address.rpartition('@')[2]}>"
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(rendered.text)
    message.add_alternative(rendered.html, subtype="html")
    return message.as_bytes()


def _address(mailbox: Mailbox) -> Address:
    return Address(display_name=mailbox.name, addr_spec=mailbox.address)
