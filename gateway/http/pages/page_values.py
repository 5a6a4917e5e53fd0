"""What views of several pages have in common: texts, messages, the application."""

from dataclasses import dataclass
from enum import StrEnum

from gateway.domain.localization import LocalizedText


class MessageKind(StrEnum):
    """How a message is marked, by an icon and a color."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"
    SUCCESS = "success"


@dataclass(frozen=True, slots=True)
class Message:
    """A message above the form; a screen reader reads it as soon as the page is there."""

    text: LocalizedText
    kind: MessageKind = MessageKind.ERROR


@dataclass(frozen=True, slots=True)
class ShownApplication:
    """The application that a user signs in to.

    The URLs are the client attributes logoUri, policyUri and tosUri as they are stored: a link
    that is neither http nor https is not shown, a logo that browsers should not load neither.
    """

    client_id: str
    name: str = ""
    """The name that people read; empty: `client_id` is shown."""
    logo_url: str = ""
    policy_url: str = ""
    terms_url: str = ""
    home_url: str = ""
    """`baseUrl`, resolved: where "back to application" leads."""
