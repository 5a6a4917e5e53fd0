"""What a mail lists that expires, in the language of the mail."""

import json
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
    kind, end, days, *rest = json.loads(line)
    left = texts("linkExpiration.days", days)
    # A name must not begin a paragraph of its own.
    latin = [" ".join(text.split()) for text in (end, *rest)]
    if is_right_to_left(texts.locale):
        latin = [f"{_BEGIN_LEFT_TO_RIGHT}{text}{_END_OF_DIRECTION}" for text in latin]
    end, subject, owner, renewal = latin
    what = texts(f"certificatesExpireKind.{kind}")
    return texts("certificatesExpireItem", end, left, what, subject, owner, renewal)
