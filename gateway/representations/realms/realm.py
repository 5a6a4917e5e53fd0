"""Realms: Keycloak's flat JSON, or the specification's snake_case, to a `Realm` and back.

What `render_realm` gives is read back to an equal realm, and put back to a realm changes nothing.
Keycloak: RealmRepresentation, PUT of a realm (absent and null fields stay, maps are replaced but
for `browserSecurityHeaders`)
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final

from gateway.domain.errors import FieldError
from gateway.domain.realm import MASTER, Realm, SecurityHeaders, TokenLifespans
from gateway.domain.roles import Role
from gateway.representations.clients import CLIENT_FIELDS, is_left_out
from gateway.representations.field_table import FieldTable, Given, parse_fields
from gateway.representations.realm_files import carries_unread_components
from gateway.representations.realms.fields import (
    COMPUTED,
    IMPORTED,
    NOT_IMPORTED,
    REALM_FIELDS,
    RESOURCES,
    UNREAD,
    WEB_AUTHN_POLICIES,
)
from gateway.representations.realms.refused_settings import MEMBER_SPELLINGS, ineffective_of_realm
from gateway.representations.realms.sign_in import left_out
from gateway.representations.realms.special_fields import (
    check_hash_cost,
    keep_secrets,
    render_unmasked,
    shown_attributes,
    with_lasting,
    with_webhook_secret,
)
from gateway.representations.refusals import describe_name, join, mistyped, raise_all
from gateway.representations.refused_settings import IneffectiveSetting
from gateway.representations.repeated_settings import with_listed, with_mirrored, with_written
from gateway.representations.roles import role_members
from gateway.representations.shapes import text_of_scalar
from gateway.representations.users import USER_TABLE

REALM_TABLE = FieldTable(
    REALM_FIELDS, IMPORTED | NOT_IMPORTED | COMPUTED.keys(), {**UNREAD, **COMPUTED}
)
_EMBEDDED: Final[Mapping[str, tuple[FieldTable, str]]] = {
    "clients": (CLIENT_FIELDS, "ClientRepresentation"),
    "users": (USER_TABLE, "UserRepresentation"),
}
_DEFAULT_ROLE: Final = "defaultRole"
_HEADERS: Final = "browserSecurityHeaders"
_REUSABLE_CODE: Final = "realmReusableOtpCode"
_MASTER_ACCESS_TOKEN = timedelta(seconds=60)
_DEFAULT: Final = Realm(id="", name="")
_OWN: Final = {"id", "realm"}
_BRIEF: Final = ("id", "realm", "displayName", "displayNameHtml", "enabled")
_OF_USERS: Final = "registrationEmailAsUsername"
_REDUCED: Final = (
    *("realm", "displayName", "displayNameHtml", _OF_USERS, "bruteForceProtected"),
    *("supportedLocales", "organizationsEnabled"),
)
_AFTER_APPLICATIONS: Final = "otpPolicyCodeReusable"
_AFTER_DEFAULTS: Final = "requiredCredentials"


def parse_realm(
    document: Mapping[str, Any],
    *,
    base: Realm | None = None,
    path: str = "",
    report_ineffective: bool = False,
) -> Realm:
    """Return the realm that `document` describes.

    Without `base`, what is absent or null takes the creation default. With `base`, it stays as
    it is there, id and default role always. Unknown settings are kept. `users`, `clients`,
    `roles` and the like are left to the import. Settings that would promise a protection without
    giving it are refused unless the caller reports them. Raises InvalidInput with every wrong
    field.
    """
    if not isinstance(document, Mapping):
        raise mistyped(path or "realm", document, "an object")
    errors: list[FieldError] = []
    given = REALM_TABLE.collect(document, path, errors)
    if base is not None:
        given = {name: field for name, field in given.items() if name != _DEFAULT_ROLE}
        given = _with_lasting_headers(given, base)
    before = base or _created(given, path, errors)
    given = with_mirrored(given, _answer(before))
    updates = REALM_TABLE.read_settings(given, errors)
    unmodelled = REALM_TABLE.read_kept(given, before.unmodelled, errors)
    raise_all(errors)
    realm = replace(REALM_TABLE.updated(before, updates), unmodelled=unmodelled)
    if "attributes" in given:
        realm = with_webhook_secret(realm, before)
    if base is not None and realm.login != base.login:
        realm = _with_one_use_of_addresses(realm, given)
    realm = replace(
        with_written(realm, _answer(realm)),
        id=before.id,
        default_role=(base or realm).named(realm.name).default_role,
        smtp=keep_secrets(realm.smtp, before.smtp) if "smtpServer" in given else before.smtp,
    )
    if not report_ineffective:
        raise_all(ineffective_realm_settings(realm, base, path))
    return realm


def ineffective_realm_settings(
    realm: Realm, before: Realm | None = None, path: str = ""
) -> list[IneffectiveSetting]:
    """Return the settings of `realm` that would be ignored and that `before` does not have."""
    return ineffective_of_realm(realm, _answer(realm), before, path)


def create_realm(
    document: Mapping[str, Any], *, path: str = "", report_ineffective: bool = False
) -> Realm:
    """Return the new realm that `document` describes, its attributes added to the default ones.

    Keycloak: a realm is created with attributes and headers of its own; a file only overrides.
    """
    realm = _with_default_attributes(
        parse_realm(document, path=path, report_ineffective=report_ineffective)
    )
    _check_written(realm, None, path)
    realm = _with_one_use_of_addresses(realm, REALM_TABLE.collect(document, path, []))
    headers = dict(_DEFAULT.security_headers.values) | dict(realm.security_headers.values)
    for name in _taken_away(document):
        headers.pop(name, None)
    realm = replace(realm, security_headers=SecurityHeaders(tuple(headers.items())))
    return _with_listed(realm, _DEFAULT_ANSWER)


def merge_realm(document: Mapping[str, Any], before: Realm, *, path: str = "") -> Realm:
    """Return a known realm as a file leaves it, its attributes as a new one would have them.

    So the same file may come again and change nothing. The caller reports what has no effect.
    """
    realm = parse_realm(document, base=before, path=path, report_ineffective=True)
    _check_written(realm, before, path)
    if realm.attributes != before.attributes:
        realm = _with_default_attributes(realm)
    return _with_listed(realm, _DEFAULT_ANSWER)


def _check_written(realm: Realm, before: Realm | None, path: str) -> None:
    """Check what only a new value must keep: what is stored already can be read and put back."""
    if before is None or realm.password_policy != before.password_policy:
        check_hash_cost(realm.password_policy, join(path, "passwordPolicy"))


def _with_one_use_of_addresses(realm: Realm, given: Collection[str]) -> Realm:
    """Return the realm without what the settings named in `given` exclude.

    Two users of one address can neither sign in by it nor have it for a user name. If all of it is
    given at once, addresses may be shared.
    Keycloak: the setters of a realm's registrationEmailAsUsername, loginWithEmailAllowed and
    duplicateEmailsAllowed, in the order in which an update calls them
    """
    login = realm.login
    if "duplicateEmailsAllowed" in given and login.duplicate_emails_allowed:
        login = replace(login, login_with_email_allowed=False, registration_email_as_username=False)
    elif ("loginWithEmailAllowed" in given and login.login_with_email_allowed) or (
        "registrationEmailAsUsername" in given and login.registration_email_as_username
    ):
        login = replace(login, duplicate_emails_allowed=False)
    return realm if login == realm.login else replace(realm, login=login)


def _with_listed(realm: Realm, before: Mapping[str, Any]) -> Realm:
    return with_listed(realm, _answer(realm), before, MEMBER_SPELLINGS)


def _with_default_attributes(realm: Realm) -> Realm:
    defaults = _DEFAULT.attributes
    return with_written(replace(realm, attributes={**defaults, **realm.attributes}), _answer(realm))


def update_realm(document: Mapping[str, Any], before: Realm) -> Realm:
    """Return the realm as an update by `document` leaves it. Raises InvalidInput.

    The attributes that every realm has come back where a new map leaves them out; the one of
    one-time passwords where the rest of their policy is given.
    Keycloak: updating CIBA, PAR and device settings, and the policy of one-time passwords
    """
    errors: list[FieldError] = []
    parse_fields(document, RESOURCES, "", errors)
    raise_all(errors)
    wanted = _with_whole_policies(document)
    realm = parse_realm(wanted, base=before)
    _check_written(realm, before, "")
    realm = _with_listed(realm, _answer(before))
    realm = _with_listed(realm, _where_not_sent(wanted, realm))
    if realm.attributes == before.attributes:
        return realm
    defaults = _DEFAULT.attributes
    lasting = {name: text for name, text in defaults.items() if name not in realm.attributes}
    if "otpPolicyType" not in REALM_TABLE.collect(document, "", []):
        lasting.pop(_REUSABLE_CODE, None)
    kept = replace(realm, attributes={**lasting, **realm.attributes})
    return with_written(kept, _answer(kept))


def _where_not_sent(document: Mapping[str, Any], realm: Realm) -> dict[str, Any]:
    """Return the answer with the defaults of what is sent: a new map lists the rest of that again.

    Keycloak: RealmRepresentation, PUT of a realm
    """
    sent = REALM_TABLE.collect(document, "", []).keys() - _OWN
    return _answer(realm) | {n: each for n, each in _DEFAULT_ANSWER.items() if n in sent}


def _with_whole_policies(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an update without parts of WebAuthn policies, which it replaces as a whole or not.

    Raises InvalidInput.
    It reads a policy where its `RpEntityName` is sent; what else is not sent is the default.
    Keycloak: RealmRepresentation, PUT of a realm
    """
    errors: list[FieldError] = []
    given = REALM_TABLE.collect(document, "", [])
    wanted = dict(document)
    for names in WEB_AUTHN_POLICIES:
        if names[0] in given:
            wanted |= {name: _DEFAULT_ANSWER.get(name) for name in names if name not in given}
        else:
            ignored = {name: given[name] for name in names if name in given}
            REALM_TABLE.read_settings(ignored, errors)
            for at, _ in ignored.values():
                del wanted[at]
    raise_all(errors)
    return {name: value for name, value in wanted.items() if value is not None}


def _taken_away(document: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the security headers that a new realm is to be without."""
    _, headers = REALM_TABLE.collect(document, "", []).get(_HEADERS, ("", {}))
    return tuple(name for name, text in headers.items() if text is None)


def render_realm(realm: Realm, *, masked: bool = True) -> dict[str, Any]:
    """Return the JSON object of `realm`, keys in Keycloak's order, unknown ones last.

    Masked, the only secrets (of `smtpServer` and the webhook) are written as `**********`.
    """
    answer = _answer(realm)
    answer["attributes"] = shown_attributes(realm, masked=masked)
    if not masked:
        answer["smtpServer"] = render_unmasked(realm.smtp)
    return answer


def full_realm(
    realm: Realm, default_role: Mapping[str, Any] | None, default_groups: Sequence[str] = ()
) -> dict[str, Any]:
    """Return every setting, secrets masked, and the role and groups that new users have.

    Groups are named by path, where there are some. Keycloak: 8.1 (order)
    """
    answer: dict[str, Any] = {}
    for name, value in render_realm(realm).items():
        if name == _AFTER_DEFAULTS:
            if default_role is not None:
                answer["defaultRole"] = default_role
            if default_groups:
                answer["defaultGroups"] = list(default_groups)
        if name != _AFTER_DEFAULTS or value:
            answer[name] = value
    return answer


def brief_realm(realm: Realm) -> dict[str, Any]:
    """Return the head of a realm. Keycloak: 7.1 (briefRepresentation)."""
    answer = render_realm(realm)
    return {name: answer[name] for name in _BRIEF if name in answer}


def reduced_realm(realm: Realm, *, sees_users: bool) -> dict[str, Any]:
    """Return the view of an administrator without the right to view settings.

    Keycloak: 7.1 realms.
    """
    answer = render_realm(realm)
    answer["supportedLocales"] = list(realm.localization.supported_locales)
    shown = (name for name in _REDUCED if sees_users or name != _OF_USERS)
    return {name: answer[name] for name in shown if name in answer}


def named_realm(realm: Realm) -> dict[str, Any]:
    """Return the name alone."""
    return {"realm": realm.name}


def default_role(role: Role, *, composite: bool) -> dict[str, Any]:
    """Return the role that new users have, as a realm shows it."""
    return role_members(role, composite=composite)


def require_known_realm_fields(document: Mapping[str, Any]) -> None:
    """Raise UnknownField for the first unknown field of the realm, its clients or its users.

    The admin API alone asks for it: realm files may come from a later version. Keycloak: strict
    decoding
    """
    REALM_TABLE.require_known(document, "RealmRepresentation")
    require_known_resources(document)


def require_known_resources(document: Mapping[str, Any]) -> None:
    """Raise UnknownField for the first unknown field of the clients or users of a document."""
    for list_name, (table, representation) in _EMBEDDED.items():
        items = document.get(list_name)
        for index, item in enumerate(items if isinstance(items, list) else ()):
            if isinstance(item, Mapping):
                table.require_known(item, representation, f"{list_name}[{index}]")


def resources_not_imported(document: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the non-empty parts of a realm file that this version does not read."""
    given = REALM_TABLE.collect(document, "", [])
    parts = [
        name
        for name in sorted(NOT_IMPORTED)
        if given.get(name, ("", None))[1]
        and (name != "components" or carries_unread_components(document))
    ]
    return (*parts, *parts_not_imported(document))


def parts_not_imported(document: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what is not read of members that are read: secret attributes, unknown actions.

    Each has its path, without the places in lists.
    """
    secrets = {
        f"clients.attributes.{describe_name(name)}"
        for client in _objects(document.get("clients"))
        for name, text in _members(client.get("attributes"))
        if text is not None and is_left_out(name)
    }
    return tuple(sorted({*secrets, *left_out(document)}))


def _objects(items: Any) -> Iterable[Mapping[str, Any]]:
    return (item for item in items if isinstance(item, Mapping)) if isinstance(items, list) else ()


def _members(value: Any) -> Iterable[tuple[str, Any]]:
    return value.items() if isinstance(value, Mapping) else ()


def _created(given: Given, path: str, errors: list[FieldError]) -> Realm:
    _, name = given.get("realm", ("", None))
    if name is None:
        errors.append(FieldError(f"{path}.realm" if path else "realm", "nothing", "a realm name"))
    name = text_of_scalar(name)
    identity = text_of_scalar(given.get("id", ("", name))[1])
    lifespans = TokenLifespans()
    if name == MASTER:
        lifespans = TokenLifespans(access_token=_MASTER_ACCESS_TOKEN)
    return Realm(id=identity, name=name, token_lifespans=lifespans)


def _with_lasting_headers(given: Given, before: Realm) -> Given:
    at, value = given.get(_HEADERS, ("", None))
    return {**given, _HEADERS: (at, with_lasting(value, before.security_headers))} if at else given


def _answer(realm: Realm) -> dict[str, Any]:
    answer: dict[str, Any] = {}
    for name, value in REALM_TABLE.answer(realm, realm.unmodelled).items():
        answer[name] = value
        if name == _AFTER_APPLICATIONS:
            answer["otpSupportedApplications"] = list(realm.otp_policy.supported_applications)
    return answer


_DEFAULT_ANSWER: Final = _answer(_DEFAULT)
