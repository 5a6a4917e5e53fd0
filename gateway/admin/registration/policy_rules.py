"""What each client registration policy requires, by its provider.

Host names of `trusted-hosts` are never looked up, so that no request waits for DNS and no answer of
DNS is trusted: a name matches the URIs of a client, an address its sender as well.
Keycloak: ClientRegistrationPolicyProvider (26.7), whose texts these are
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Any, Final
from urllib.parse import urlsplit

from gateway.domain.clients import Client
from gateway.representations.clients import own_urls, redirect_uris
from gateway.representations.component import Component
from gateway.representations.registration import (
    ALLOWED_MAPPERS,
    ALLOWED_SCOPES,
    DEFAULT_SCOPES,
    MAX_CLIENTS,
    SENDER_MUST_MATCH,
    TRUSTED_HOSTS,
    URIS_MUST_MATCH,
    is_on,
    single_value,
)

_ALWAYS_GIVEN: Final = frozenset({"service_account"})
"""Scopes that come with a setting of the client."""
_LOCALHOST: Final = ("127.0.0.1", "::1")
_ANY_BELOW: Final = "*."


class PolicyViolation(Exception):
    """What a policy does not permit; `str()` is public."""


@dataclass(frozen=True, slots=True)
class Registration:
    """A client as it would be registered or changed; `before` is None for a new one.

    `scopes` are those that were asked for, None where they stay; `offered` are the realm's default
    and optional ones.
    """

    after: Client
    before: Client | None
    scopes: Collection[str] | None
    offered: Collection[str]


@dataclass(frozen=True, slots=True)
class Rule:
    """What a policy does: sets fields of new clients, and raises PolicyViolation."""

    forced: Mapping[str, Any] = field(default_factory=dict)
    sender: Callable[[Component, str | None], None] = lambda _, __: None
    client: Callable[[Component, Registration], None] = lambda _, __: None
    most_clients: Callable[[Component], int | None] = lambda _: None


def _trusted_sender(policy: Component, address: str | None) -> None:
    if is_on(policy, SENDER_MUST_MATCH) and not _is_trusted_sender(policy, address):
        raise PolicyViolation("Host not trusted.")


def _is_trusted_sender(policy: Component, address: str | None) -> bool:
    try:
        sender = ip_address(address or "")
    except ValueError:
        return False
    return any(text == str(sender) for text in _addresses(policy))


def _addresses(policy: Component) -> Iterator[str]:
    """Yield the trusted addresses, each in its one spelling."""
    for host in policy.config.get(TRUSTED_HOSTS, ()):
        if host == "localhost":
            yield from _LOCALHOST
        try:
            yield str(ip_address(host))
        except ValueError:
            continue


def _trusted_uris(policy: Component, registration: Registration) -> None:
    if not is_on(policy, URIS_MUST_MATCH):
        return
    client = registration.after
    for kind, addresses in (("URL", own_urls(client)), ("URI", redirect_uris(client))):
        if not all(_is_trusted_uri(policy, address) for address in addresses):
            raise PolicyViolation(f"{kind} doesn't match any trusted host or trusted domain")


def _is_trusted_uri(policy: Component, address: str) -> bool:
    if address.startswith("/") and address[1:2] not in {"/", "\\"}:
        return True  # Below the root URL of the client, which is checked itself.
    try:
        host = urlsplit(address).hostname
    except ValueError:
        return False
    trusted = [each.lower() for each in policy.config.get(TRUSTED_HOSTS, ())]
    domains = [each.removeprefix(_ANY_BELOW) for each in trusted if each.startswith(_ANY_BELOW)]
    below = tuple(f".{domain}" for domain in domains)
    return host is not None and (host in {*trusted, *domains} or host.endswith(below))


def _kept_consent(_: Component, registration: Registration) -> None:
    before, after = registration.before, registration.after
    if before and before.consent_required and not after.consent_required:
        raise PolicyViolation("Not permitted to update consentRequired to false")


def _kept_scope(_: Component, registration: Registration) -> None:
    before, after = registration.before, registration.after
    if before and not before.full_scope_allowed and after.full_scope_allowed:
        raise PolicyViolation("Not permitted to enable fullScopeAllowed")


def _kept_disabled(_: Component, registration: Registration) -> None:
    before, after = registration.before, registration.after
    if before and not before.enabled and after.enabled:
        raise PolicyViolation("Not permitted to enable client")


def _allowed_mappers(policy: Component, registration: Registration) -> None:
    """Mappers that the client has already stay."""
    before, allowed = registration.before, policy.config.get(ALLOWED_MAPPERS, ())
    known = before.protocol_mappers if before else ()
    for mapper in registration.after.protocol_mappers:
        if mapper not in known and mapper.mapper_type not in allowed:
            raise PolicyViolation("ProtocolMapper type not allowed")


def _allowed_scopes(policy: Component, registration: Registration) -> None:
    """Scopes that the client has already stay."""
    before, allowed = registration.before, {*policy.config.get(ALLOWED_SCOPES, ()), *_ALWAYS_GIVEN}
    if is_on(policy, DEFAULT_SCOPES):
        allowed |= {*registration.offered}
    if before:
        allowed |= {*before.default_client_scopes, *before.optional_client_scopes}
    if not {*(registration.scopes or ())} <= allowed:
        raise PolicyViolation("Not permitted to use specified clientScope")


RULES: Final[Mapping[str, Rule]] = {
    "allowed-client-templates": Rule(client=_allowed_scopes),
    "allowed-protocol-mappers": Rule(client=_allowed_mappers),
    "client-disabled": Rule({"enabled": False}, client=_kept_disabled),
    "consent-required": Rule({"consentRequired": True}, client=_kept_consent),
    "max-clients": Rule(most_clients=lambda policy: int(single_value(policy, MAX_CLIENTS) or 0)),
    "registration-web-origins": Rule(),
    "scope": Rule({"fullScopeAllowed": False}, client=_kept_scope),
    TRUSTED_HOSTS: Rule(sender=_trusted_sender, client=_trusted_uris),
}
"""The rule of each provider that `POLICY_PROVIDERS` describes."""
