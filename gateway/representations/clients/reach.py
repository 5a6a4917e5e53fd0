"""The reach of a client: who receives its tokens, what they may carry, who can be the client.

Every member of the representation and every attribute belongs to it, unless it is listed here: a
new setting counts until it was judged.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from gateway.domain.clients import AdministrativeReach, Client
from gateway.representations.clients.client import render_client
from gateway.representations.clients.settings import HARMLESS_SETTINGS

HARMLESS_FIELDS: Final[Mapping[str, str]] = {
    "name": "a text for users",
    "description": "a text for administrators",
    "type": "a label for administrators",
    "enabled": "a disabled client gets no tokens, an enabled one those that were decided on",
    "alwaysDisplayInConsole": "whether the account console lists the client",
    "notBefore": "refuses older tokens; a lower value is compared apart",
    "surrogateAuthRequired": "has no effect",
    "registeredNodes": "the gateway sends no requests to nodes",
    "nodeReRegistrationTimeout": "the gateway sends no requests to nodes",
}
"""Members of the representation that are not part of the reach, and why."""
HARMLESS_ATTRIBUTES: Final[Mapping[str, str]] = {
    **HARMLESS_SETTINGS,
    "display.on.consent.screen": "a text for users",
    "consent.screen.text": "a text for users",
    "realm_client": "a label for administrators",
}
"""Attributes that are not part of the reach, and why."""


def changes_reach(before: Client, after: Client) -> bool:
    """Return whether two states of a client differ in more than harmless settings.

    A lower `notBefore` makes rejected tokens count again.
    """
    revives = after.not_before < before.not_before
    return revives or _reach_document(before) != _reach_document(after)


def _reach_document(client: Client) -> dict[str, Any]:
    document = render_client(client, masked=False)
    attributes = document.pop("attributes", {})
    kept = {
        **{name: value for name, value in document.items() if name not in HARMLESS_FIELDS},
        **{
            f"attributes.{name}": value
            for name, value in attributes.items()
            if name not in HARMLESS_ATTRIBUTES
        },
    }
    return {name: _unordered(value) for name, value in kept.items()}


def _unordered(value: Any) -> Any:
    """Return names and addresses as a set: their order decides nothing."""
    if isinstance(value, list | tuple) and all(isinstance(item, str) for item in value):
        return frozenset(value)
    return value


def with_reach(client: Client, reach: AdministrativeReach) -> Client:
    """Return the client with another reach."""
    return client if client.reach == reach else replace(client, reach=reach)
