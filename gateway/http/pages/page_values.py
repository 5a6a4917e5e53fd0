"""What views of several pages have in common: texts, messages, the application."""

from dataclasses import dataclass, field
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


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """The values of a page; `PAGES` of the renderer has every kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientPage(View):
    """A page in the sign-in to an application, or in its logout."""

    client: ShownApplication | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MessagePage(ClientPage):
    """A page with a message above its content."""

    message: Message | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FormPage(MessagePage):
    """A page with a form, which is sent to the URL `action`."""

    action: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowPage(FormPage):
    """The form of a step of a sign-in."""

    offers_other_ways: bool = False
    """A button leads to `SelectAuthenticatorPage`. Form `kc-select-try-another-way-form`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionPage(FormPage):
    """The form of a required action."""

    may_cancel: bool = False
    """Whether a button `cancel-aia` leads back: the client asked for it, and no one requires it."""
