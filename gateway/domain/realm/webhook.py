"""The realm's webhook: where its events are sent to. Own attributes of a realm."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from gateway.domain.events import KIND_OF, SAVED_BY_DEFAULT
from gateway.domain.limits.caches import cached
from gateway.domain.secrets import Secret

WEBHOOK_URL: Final = "realmgate.webhook.url"
WEBHOOK_SECRET: Final = "realmgate.webhook.secret"  # noqa: S105 - the name of the attribute
WEBHOOK_EVENTS: Final = "realmgate.webhook.events"
SHORTEST_WEBHOOK_SECRET: Final = 16
"""Characters."""
LONGEST_WEBHOOK_SECRET: Final = 255
_LONGEST_URL: Final = 2048
_URL: Final = re.compile(r"https?://[A-Za-z0-9._\[\]:-]+(?:[/?][!-;=?-\[\]_a-z~]*)?")
_CACHED_OCTETS: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class Webhook:
    """Where events go, the secret that signs them, and the names of those that are sent."""

    url: str = field(repr=False)
    secret: Secret
    events: frozenset[str]


def webhook_of(attributes: Mapping[str, str], secret: Secret | None) -> Webhook | None:
    """Return the webhook that the attributes of a realm describe."""
    url = attributes.get(WEBHOOK_URL, "")
    if not is_webhook_url(url) or secret is None:
        return None
    return Webhook(url, secret, _names(attributes.get(WEBHOOK_EVENTS, "")))


def is_webhook_url(text: str) -> bool:
    """Tell whether the text is a URL without user and fragment; http is the operator's choice."""
    return len(text) <= _LONGEST_URL and _URL.fullmatch(text) is not None


def are_event_names(text: str) -> bool:
    """Tell whether the text lists names of events, with commas or spaces between them."""
    return set(_listed(text)) <= KIND_OF.keys()


def _listed(text: str) -> list[str]:
    return text.replace(",", " ").split()


@cached(_CACHED_OCTETS)
def _names(text: str) -> frozenset[str]:
    return frozenset(_listed(text) or SAVED_BY_DEFAULT)
