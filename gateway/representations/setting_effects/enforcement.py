"""Refuses settings that would promise a protection which this version does not give.

Every document of a client, client scope or realm passes here when it is read, whichever way it
came. What a stored object has already may be sent back unchanged: it came with a file, whose
import has reported it.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from gateway.domain.client_scopes import ClientScope
from gateway.domain.clients import Client
from gateway.domain.errors import FieldError
from gateway.domain.mail import (
    EXPIRY_MAIL_DAYS,
    EXPIRY_MAIL_RECIPIENTS,
    MOST_RECIPIENTS,
    are_days,
    are_recipients,
)
from gateway.domain.realm import (
    CERTIFICATE_POLICIES,
    DISTRIBUTION_POINTS,
    DPOP_NONCE,
    FAILURES_PER_ADDRESS,
    GATEWAY_AUTHORITIES,
    MOST_LIST_URLS,
    OCSP,
    OCSP_NONCE,
    OCSP_SCOPE,
    OCSP_URL,
    OVERLAP_FORM,
    RENEWAL_OVERLAP,
    REVOCATION_LIST_URLS,
    REVOCATION_POLICY,
    WEBHOOK_SECRET,
    WEBHOOK_URL,
    Realm,
    SecurityHeaders,
    are_policies,
    are_revocation_list_urls,
    brute_force_rules,
    is_failure_limit,
    is_gateway_authorities,
    is_nonce_choice,
    is_ocsp_nonce,
    is_ocsp_policy,
    is_ocsp_scope,
    is_overlap,
    is_points_choice,
    is_revocation_policy,
    is_server_url,
)
from gateway.representations.refusals import describe, join
from gateway.representations.setting_effects.client_rows import (
    CLIENT_ATTRIBUTE_ROWS,
    SCOPE_ATTRIBUTE_ROWS,
)
from gateway.representations.setting_effects.policies import demanding_policies
from gateway.representations.setting_effects.realm_attributes import MIRRORED, MemberSpellings
from gateway.representations.setting_effects.realm_rows import (
    NOT_BY_ATTRIBUTE,
    REALM_ATTRIBUTE_ROWS,
    REALM_FIELD_ROWS,
)
from gateway.representations.setting_effects.rows import Effect, SettingRow

_POLICIES: Final = "clientPolicies"
_PROFILES: Final = "clientProfiles"

_CERTIFICATE_SETTINGS: Final[Mapping[str, tuple[Callable[[str], bool], str]]] = {
    GATEWAY_AUTHORITIES: (is_gateway_authorities, "true, false or nothing"),
    CERTIFICATE_POLICIES: (are_policies, "at most 50 object identifiers, separated by spaces"),
    REVOCATION_POLICY: (is_revocation_policy, "hard, soft or nothing, which is hard"),
    REVOCATION_LIST_URLS: (
        are_revocation_list_urls,
        f"at most {MOST_LIST_URLS} different http or https URLs with spaces between them, or none",
    ),
    DISTRIBUTION_POINTS: (is_points_choice, "on, off or nothing, which is off"),
    OCSP: (is_ocsp_policy, "off, soft, hard or nothing, which is off"),
    OCSP_URL: (
        is_server_url,
        "an http or https URL, or nothing: the one that a certificate names",
    ),
    OCSP_SCOPE: (is_ocsp_scope, "leaf, chain or nothing, which is leaf"),
    OCSP_NONCE: (is_ocsp_nonce, "off, sent, required or nothing, which is off"),
    RENEWAL_OVERLAP: (is_overlap, f"{OVERLAP_FORM}, or nothing"),
    EXPIRY_MAIL_DAYS: (are_days, "at most 10 numbers from 1 to 365 with commas between them"),
    EXPIRY_MAIL_RECIPIENTS: (
        are_recipients,
        f"at most {MOST_RECIPIENTS} mail addresses with commas between them",
    ),
}
"""What decides whether a value can be read, and what is allowed."""


@dataclass(frozen=True, slots=True)
class IneffectiveSetting(FieldError):
    """A setting without the effect that its author expects; `reason` says what is missing."""

    reason: str

    def __str__(self) -> str:
        return f"{self.path}: {self.given} has no effect, {self.reason}; allowed: {self.allowed}"


class _Refusals:
    """The refused rows of one place, found by exact name or by prefix."""

    def __init__(self, rows: tuple[SettingRow, ...]) -> None:
        found = [row for row in rows if row.effect is Effect.REFUSED]
        self._exact = {row.name: row for row in found if not row.name.endswith("*")}
        self._prefixes = tuple(row for row in found if row.name.endswith("*"))

    def __call__(
        self, after: Mapping[str, Any], before: Mapping[str, Any], path: str
    ) -> Iterator[IneffectiveSetting]:
        for name, value in after.items():
            row = self._row(name)
            if row is None or row.refuses is None or not row.refuses(value):
                continue
            if name not in before or before[name] != value:
                at = join(path, name)
                yield IneffectiveSetting(at, describe(value), row.allowed, row.note)

    def covers(self, name: str) -> bool:
        return self._row(name) is not None

    def _row(self, name: str) -> SettingRow | None:
        covering = (row for row in self._prefixes if row.covers(name))
        return self._exact.get(name) or next(covering, None)


_CLIENT_ATTRIBUTES: Final = _Refusals(CLIENT_ATTRIBUTE_ROWS)
_SCOPE_ATTRIBUTES: Final = _Refusals(SCOPE_ATTRIBUTE_ROWS)
_REALM_ATTRIBUTES: Final = _Refusals(REALM_ATTRIBUTE_ROWS)
_REALM_FIELDS: Final = _Refusals(tuple(row for row in REALM_FIELD_ROWS if row.name != _POLICIES))
MEMBER_SPELLINGS: Final = MemberSpellings(row.name for row in REALM_FIELD_ROWS)
_OWN_ATTRIBUTES: Final = frozenset(
    {*MIRRORED, *(row.name for row in REALM_ATTRIBUTE_ROWS if not row.name.endswith("*"))}
)
"""Attributes with an effect or a note of their own."""
_NOTHING: Final[Mapping[str, str]] = {}
_HEADER: Final = "_browser_header."
_DOCUMENTS: Final[Mapping[str, tuple[str, str]]] = {
    "client-policies.profiles": (_PROFILES, "profiles"),
    "client-policies.policies": (_POLICIES, "policies"),
}
"""The field that an attribute repeats, and the member of both that lists what they hold."""


def ineffective_of_client(
    client: Client, before: Client | None = None, path: str = ""
) -> list[IneffectiveSetting]:
    """Return the settings of `client` that would be ignored and that `before` does not have."""
    had = _NOTHING if before is None else before.attributes
    return list(_CLIENT_ATTRIBUTES(client.attributes, had, join(path, "attributes")))


def ineffective_of_scope(
    scope: ClientScope, before: ClientScope | None = None, path: str = ""
) -> list[IneffectiveSetting]:
    """Return the settings of `scope` that would be ignored and that `before` does not have."""
    had = _NOTHING if before is None else before.attributes
    return list(_SCOPE_ATTRIBUTES(scope.attributes, had, join(path, "attributes")))


def ineffective_of_realm(
    realm: Realm, answer: Mapping[str, Any], before: Realm | None = None, path: str = ""
) -> list[IneffectiveSetting]:
    """Return the settings of `realm` that would be ignored and that `before` does not have.

    `answer` has the members of `realm` by name.
    """
    had = _NOTHING if before is None else before.attributes
    fields = {} if before is None else before.unmodelled
    return [
        *_REALM_ATTRIBUTES(_without_repeated_fields(realm, answer), had, join(path, "attributes")),
        *_spelled_members(realm, answer, had, path),
        *_REALM_FIELDS(realm.unmodelled, fields, path),
        *_policies(realm.unmodelled, fields, path),
        *_unsigned_webhook(realm, before, path),
        *_failures_per_address(realm, before, path),
        *_proof_nonces(realm, before, path),
        *_certificate_settings(realm, had, path),
        *_mails_without_server(realm, before, path),
    ]


def _unsigned_webhook(
    realm: Realm, before: Realm | None, path: str
) -> Iterator[IneffectiveSetting]:
    """Yield the secret of a webhook where it is missing: its events are not sent."""
    url = realm.attributes.get(WEBHOOK_URL)
    if not url or realm.webhook_secret is not None:
        return
    had = None if before is None else (before.attributes.get(WEBHOOK_URL), before.webhook_secret)
    if had != (url, None):
        at = join(join(path, "attributes"), WEBHOOK_SECRET)
        reason = "nothing would sign the requests to the webhook"
        yield IneffectiveSetting(at, describe(None), "a secret", reason)


def _failures_per_address(
    realm: Realm, before: Realm | None, path: str
) -> Iterator[IneffectiveSetting]:
    """Yield a limit of the failures of one address that one address cannot reach alone."""
    if before is not None and _limits(before) == _limits(realm):
        return
    text, factor = _limits(realm)
    at = join(join(path, "attributes"), FAILURES_PER_ADDRESS)
    if not is_failure_limit(text):
        reason = "it is no number of failures"
        yield IneffectiveSetting(at, describe(text), "an integer from 0 on, or nothing", reason)
    elif 0 < factor <= brute_force_rules(realm).failures_per_address:
        reason = "one address would lock the user out for every address before"
        allowed = f"less than failureFactor, which is {factor}, or 0"
        yield IneffectiveSetting(at, describe(text), allowed, reason)


def _proof_nonces(realm: Realm, before: Realm | None, path: str) -> Iterator[IneffectiveSetting]:
    """Yield a choice about nonces of DPoP proofs that is none."""
    text = realm.attributes.get(DPOP_NONCE, "")
    if is_nonce_choice(text) or (before is not None and before.attributes.get(DPOP_NONCE) == text):
        return
    at = join(join(path, "attributes"), DPOP_NONCE)
    reason = "proofs would need no nonce"
    yield IneffectiveSetting(at, describe(text), '"true", "false" or nothing', reason)


def _certificate_settings(
    realm: Realm, before: Mapping[str, str], path: str
) -> Iterator[IneffectiveSetting]:
    """Yield attributes about certificates that cannot be read."""
    for name, (is_usable, allowed) in _CERTIFICATE_SETTINGS.items():
        text = realm.attributes.get(name, "")
        if not is_usable(text) and before.get(name) != text:
            at = join(join(path, "attributes"), name)
            yield IneffectiveSetting(at, describe(text), allowed, "it cannot be read")


def _mails_without_server(
    realm: Realm, before: Realm | None, path: str
) -> Iterator[IneffectiveSetting]:
    """Yield recipients of mails about expiry where the realm has no mail server."""
    text = realm.attributes.get(EXPIRY_MAIL_RECIPIENTS, "")
    if not text or realm.smtp.host is not None:
        return
    had = before is not None and before.smtp.host is None
    if not had or before is None or before.attributes.get(EXPIRY_MAIL_RECIPIENTS) != text:
        at = join(join(path, "attributes"), EXPIRY_MAIL_RECIPIENTS)
        allowed = "nothing, or a realm with smtpServer.host"
        yield IneffectiveSetting(at, describe(text), allowed, "the realm has no mail server")


def _limits(realm: Realm) -> tuple[str, int]:
    return realm.attributes.get(FAILURES_PER_ADDRESS, ""), realm.brute_force.failure_factor


def _spelled_members(
    realm: Realm, answer: Mapping[str, Any], before: Mapping[str, str], path: str
) -> Iterator[IneffectiveSetting]:
    """Yield attributes that spell a member of the realm and say something else than it does."""
    for name, text in _without_repeated_fields(realm, answer).items():
        member = MEMBER_SPELLINGS.find_member(name)
        if member is None or name in _OWN_ATTRIBUTES or _REALM_ATTRIBUTES.covers(name):
            continue
        if text and before.get(name) != text:
            at = join(join(path, "attributes"), name)
            allowed = f"nothing, or the text of {member}"
            yield IneffectiveSetting(at, describe(text), allowed, NOT_BY_ATTRIBUTE)


def _without_repeated_fields(realm: Realm, answer: Mapping[str, Any]) -> dict[str, str]:
    """Return the attributes without those that repeat a field: old versions of Keycloak did."""
    headers = dict(SecurityHeaders().values) | dict(realm.security_headers.values)
    repeated = {f"{_HEADER}{name}": value for name, value in headers.items()}
    return {
        name: value
        for name, value in realm.attributes.items()
        if repeated.get(name) != value
        and not _repeats_document(realm, name, value)
        and (name in _OWN_ATTRIBUTES or not MEMBER_SPELLINGS.repeats_member(name, value, answer))
    }


def _repeats_document(realm: Realm, name: str, value: str) -> bool:
    field, items = _DOCUMENTS.get(name, ("", ""))
    try:
        content = json.loads(value) if field else None
    except (ValueError, RecursionError):
        return False
    if not isinstance(content, Mapping):
        return False
    return content in ({}, {items: []}, realm.unmodelled.get(field))


def _policies(
    after: Mapping[str, Any], before: Mapping[str, Any], path: str
) -> Iterator[IneffectiveSetting]:
    known = demanding_policies(before.get(_POLICIES), before.get(_PROFILES))
    found = demanding_policies(after.get(_POLICIES), after.get(_PROFILES))
    for name, reason in found.items():
        if known.get(name) != reason:
            given = f"the enabled policy {describe(name)}"
            missing = f"the policy would not be applied: {reason}"
            yield IneffectiveSetting(join(path, _POLICIES), given, "a disabled policy", missing)
