"""Settings of realms that are refused, because this version would not act by them.

An enabled policy with an executor or a condition that does not act is refused: its author would
expect a protection. Keycloak: client policy executors, global client profiles (26.7)
"""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from gateway.client_policies import (
    EXECUTORS,
    WITHOUT_DEMANDS,
    entries,
    list_global_profiles,
    policy_problem,
)
from gateway.domain.realm import (
    ACCENT_COLOR,
    CERTIFICATE_POLICIES,
    CONTACT,
    DARK_LOGO,
    DISTRIBUTION_POINTS,
    DPOP_NONCE,
    EXPIRY_MAIL_DAYS,
    EXPIRY_MAIL_RECIPIENTS,
    FAILURES_PER_ADDRESS,
    GATEWAY_AUTHORITIES,
    LOGO,
    MOST_LIST_URLS,
    MOST_RECIPIENTS,
    OCSP,
    OCSP_NONCE,
    OCSP_SCOPE,
    OCSP_URL,
    OVERLAP_FORM,
    RENEWAL_OVERLAP,
    REVOCATION_LIST_URLS,
    REVOCATION_POLICY,
    WEBHOOK_EVENTS,
    WEBHOOK_SECRET,
    WEBHOOK_URL,
    Realm,
    SecurityHeaders,
    are_days,
    are_event_names,
    are_policies,
    are_recipients,
    are_revocation_list_urls,
    brute_force_rules,
    is_color,
    is_contact,
    is_failure_limit,
    is_gateway_authorities,
    is_image,
    is_nonce_choice,
    is_ocsp_nonce,
    is_ocsp_policy,
    is_ocsp_scope,
    is_overlap,
    is_points_choice,
    is_revocation_policy,
    is_server_url,
    is_webhook_url,
)
from gateway.representations.realms.fields import REALM_FIELDS
from gateway.representations.refusals import describe, join
from gateway.representations.refused_settings import (
    NOT_TRUE,
    IneffectiveSetting,
    Refusals,
    RefusedSetting,
    is_given,
    is_true,
)
from gateway.representations.repeated_settings import MIRRORED, MemberSpellings

GLOBAL_PROFILES: Final = frozenset(profile["name"] for profile in list_global_profiles())
"""The profiles that every realm of Keycloak 26.7 has."""
_UNKNOWN: Final = "an executor that this version does not know would not judge"
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


_NO_PERMISSIONS: Final = (
    "fine-grained permissions of administrators are not evaluated: roles alone decide"
)
_NOT_BY_ATTRIBUTE: Final = "it is read from the field of the realm and not from the attribute"
REFUSED_FIELDS: Final = (
    RefusedSetting("adminPermissionsEnabled", _NO_PERMISSIONS, is_true, "false"),
)
"""Fields of realms."""
REFUSED_ATTRIBUTES: Final = (
    RefusedSetting("adminPermissionsEnabled", _NO_PERMISSIONS, is_true, NOT_TRUE),
    RefusedSetting(
        "frontendUrl",
        "the issuer and every link begin with REALMGATE_PUBLIC_URL, for all realms",
        is_given,
        "nothing",
    ),
    *(
        RefusedSetting(name, _NOT_BY_ATTRIBUTE, is_given, f"nothing, or what {field} says")
        for name, field in (
            ("_browser_header.*", "browserSecurityHeaders"),
            ("client-policies.profiles", "clientProfiles"),
            ("client-policies.policies", "clientPolicies"),
            ("webAuthnPolicy*", "the field of that name"),
        )
    ),
    RefusedSetting(
        ACCENT_COLOR,
        "a page could not use it as a color",
        lambda value: bool(value) and not is_color(str(value)),
        "#rrggbb, #rgb or nothing",
    ),
    RefusedSetting(
        CONTACT,
        "a page could not show it in one line",
        lambda value: bool(value) and not is_contact(str(value)),
        "a mail address, an https URL or other text of at most 255 characters, or nothing",
    ),
    *(
        RefusedSetting(
            name,
            "a page would not load it",
            lambda value: bool(value) and not is_image(str(value)),
            "an https URL, a path of this origin, data:image/...;base64 or nothing",
        )
        for name in (LOGO, DARK_LOGO)
    ),
    RefusedSetting(
        WEBHOOK_URL,
        "the gateway could not send a request to it",
        lambda value: bool(value) and not is_webhook_url(str(value)),
        "an https URL without user and fragment, or nothing",
    ),
    RefusedSetting(
        WEBHOOK_EVENTS,
        "no event has that name",
        lambda value: not are_event_names(str(value)),
        "names of events with commas between them, or nothing",
    ),
)
"""Attributes of realms."""


_REALM_ATTRIBUTES: Final = Refusals(REFUSED_ATTRIBUTES)
_REALM_FIELDS: Final = Refusals(REFUSED_FIELDS)
MEMBER_SPELLINGS: Final = MemberSpellings(field.name for field in REALM_FIELDS)
_HEADER: Final = "_browser_header."
_DOCUMENTS: Final[Mapping[str, tuple[str, str]]] = {
    "client-policies.profiles": (_PROFILES, "profiles"),
    "client-policies.policies": (_POLICIES, "policies"),
}
"""The field that an attribute repeats, and the member of both that lists what they hold."""


def ineffective_of_realm(
    realm: Realm, answer: Mapping[str, Any], before: Realm | None = None, path: str = ""
) -> list[IneffectiveSetting]:
    """Return the settings of `realm` that would be ignored and that `before` does not have.

    `answer` has the members of `realm` by name.
    """
    had: Mapping[str, str] = {} if before is None else before.attributes
    fields = {} if before is None else before.unmodelled
    found: list[IneffectiveSetting] = []
    # Most updates leave one of both as it is, so nothing in it is new.
    if realm.attributes != had:
        own = _without_repeated_fields(realm, answer)
        found += _REALM_ATTRIBUTES(own, had, join(path, "attributes"))
        found += _spelled_members(own, had, path)
    if realm.unmodelled != fields:
        found += _REALM_FIELDS(realm.unmodelled, fields, path)
        found += _policies(realm.unmodelled, fields, path)
    found += _unsigned_webhook(realm, before, path)
    found += _failures_per_address(realm, before, path)
    if realm.attributes != had:
        found += _proof_nonces(realm, before, path)
        found += _certificate_settings(realm, had, path)
    found += _mails_without_server(realm, before, path)
    return found


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
    own: Mapping[str, str], before: Mapping[str, str], path: str
) -> Iterator[IneffectiveSetting]:
    """Yield attributes that spell a member of the realm and say something else than it does."""
    for name, text in own.items():
        member = MEMBER_SPELLINGS.find_member(name)
        if member is None or name in MIRRORED or _REALM_ATTRIBUTES.covers(name):
            continue
        if text and before.get(name) != text:
            at = join(join(path, "attributes"), name)
            allowed = f"nothing, or the text of {member}"
            yield IneffectiveSetting(at, describe(text), allowed, _NOT_BY_ATTRIBUTE)


def _without_repeated_fields(realm: Realm, answer: Mapping[str, Any]) -> dict[str, str]:
    """Return the attributes without those that repeat a field: old versions of Keycloak did."""
    headers = dict(SecurityHeaders().values) | dict(realm.security_headers.values)
    repeated = {f"{_HEADER}{name}": value for name, value in headers.items()}
    return {
        name: value
        for name, value in realm.attributes.items()
        if repeated.get(name) != value
        and not _repeats_document(realm, name, value)
        and (name in MIRRORED or not MEMBER_SPELLINGS.repeats_member(name, value, answer))
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


def demanding_policies(policies: Any, profiles: Any) -> dict[str, str]:
    """Return the reason of each enabled policy that could not be applied, by the policy's name.

    `policies` and `profiles` are the checked documents `clientPolicies` and `clientProfiles`.
    """
    known = {profile.get("name"): profile for profile in entries(profiles, "profiles")}
    known |= {profile["name"]: profile for profile in list_global_profiles()}
    found: dict[str, str] = {}
    for policy in entries(policies, "policies"):
        if not policy.get("enabled") or not policy.get("conditions"):
            continue
        demands = [_demand(known[name]) for name in policy.get("profiles") or () if name in known]
        acts = any(acting for acting, _ in demands)
        reason = next((reason for _, reason in demands if reason), None)
        if reason is None and acts:
            reason = policy_problem(policy, profiles)
        if reason:
            found[str(policy.get("name"))] = reason
    return found


def _demand(profile: Mapping[str, Any]) -> tuple[bool, str | None]:
    """Return whether an executor of the profile acts, and what would be missing of the others."""
    acts, reason = False, None
    for executor in entries(profile, "executors"):
        name = str(executor.get("executor"))
        if name not in EXECUTORS.keys() | WITHOUT_DEMANDS:
            reason = reason or _UNKNOWN
        acts = acts or name in EXECUTORS
    return acts, reason
