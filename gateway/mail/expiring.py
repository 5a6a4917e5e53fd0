"""What a mail lists that expires, in the language of the mail."""

import json
from collections.abc import Iterable
from functools import reduce
from typing import Final

from gateway.domain.mail import Mail
from gateway.domain.texts import Texts, is_right_to_left

_BEGIN_LEFT_TO_RIGHT: Final = "\u2066"
_END_OF_DIRECTION: Final = "\u2069"
"""Isolate names and commands, whose signs would move to other places. Unicode: UAX #9."""


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
