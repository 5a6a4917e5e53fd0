"""Users, their credentials and sessions: Keycloak's JSON, or its snake_case, to values and back.

Credentials, roles and groups are sent with a user and stored elsewhere. Of what an administrator
sends, the shape alone is checked here: the profile of the realm checks the values, and roles,
identity providers and consents are ignored, as in Keycloak. A password is sent in clear, or as a
hashed credential. Sessions have whole seconds and are for administrators.
Keycloak: UserRepresentation, a strict decoder; CredentialRepresentation, UserSessionRepresentation
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from gateway.domain.client_scopes import Consent
from gateway.domain.clients import Client
from gateway.domain.errors import FieldError
from gateway.domain.limits.password_hashing import (
    MAX_PASSWORD_LENGTH,
    hash_refusal,
    stored_hash_parameters,
)
from gateway.domain.random_values import uuid4
from gateway.domain.secrets import Secret
from gateway.domain.sessions import UserSession
from gateway.domain.user_profile import EMAIL, FIRST_NAME, LAST_NAME, USERNAME, Sent
from gateway.domain.users import (
    MOST_CREDENTIALS,
    PASSWORD,
    PASSWORD_TYPES,
    SERVICE_ACCOUNT_PREFIX,
    Credential,
    User,
    canonical_name,
)
from gateway.representations.field_table import (
    FieldNames,
    FieldTable,
    Given,
    Setting,
    StoredOnly,
    parse_fields,
    parse_given,
)
from gateway.representations.groups import parse_group_paths
from gateway.representations.json_input import is_plain_text
from gateway.representations.refusals import (
    attempt,
    join,
    mistyped,
    parse_each,
    raise_all,
    refused,
    refused_secret,
    require_known,
)
from gateway.representations.shapes import (
    MASK,
    MAX_MILLISECONDS,
    Count,
    Flag,
    Milliseconds,
    PrintableName,
    Shape,
    Text,
    TextList,
    TextLists,
    UrlName,
    Verbatim,
    VerbatimList,
    VerbatimObject,
    VisibleName,
    is_absent,
    text_of_scalar,
)

_CURRENT: Final[Mapping[str, Shape]] = {
    **dict.fromkeys(("id", "type", "userLabel"), Text()),
    **dict.fromkeys(("createdDate", "priority"), Count(most=MAX_MILLISECONDS)),
    "temporary": Flag(),
}
_LEGACY: Final[Mapping[str, Shape]] = {
    **dict.fromkeys(("algorithm", "device", "federationLink"), Text()),
    **dict.fromkeys(("hashedSaltedValue", "salt"), Text()),
    **dict.fromkeys(("counter", "digits", "hashIterations", "period"), Count()),
    "config": VerbatimObject(),
}
_HIDDEN: Final = ("value", "secretData", "credentialData")
CREDENTIAL_FIELDS: Final = (*_CURRENT, *_HIDDEN, *_LEGACY)
_CREDENTIAL_NAMES = FieldNames((*_CURRENT, *_HIDDEN))
_OPTIONAL: Final[Mapping[str, Shape]] = {
    "priority": Count(),
    "createdDate": Milliseconds(),
    "id": Text(1, 255),
}
_HASHED = PASSWORD_TYPES
_LONGEST_DATA = 100_000
_LONGEST_LABEL = 255


@dataclass(frozen=True, slots=True)
class NewPassword:
    """A password to be hashed; `temporary` asks the user to change it at the first sign-in."""

    password: Secret
    temporary: bool = False


def parse_credentials(
    value: Any, path: str, *, owner: str, standard: Credential
) -> tuple[NewPassword | Credential, ...]:
    """Return the credentials of the user with id `owner`; masked ones are left out.

    Members that a hashed credential omits come from `standard`. Raises InvalidInput.
    """
    if not isinstance(value, list) or len(value) > MOST_CREDENTIALS:
        raise refused(path, None, f"a list of at most {MOST_CREDENTIALS} credentials")
    read = parse_each(value, _parse_member, path, owner, standard)
    return tuple(credential for credential in read if credential is not None)


def parse_new_password(document: Mapping[str, Any] | None) -> NewPassword | None:
    """Return the password that an administrator gives, None for nothing; raises InvalidInput.

    Keycloak looks at nothing else there, the type included.
    """
    given = document or {}
    current = [name for name in given if name not in _LEGACY]
    require_known(current, _CREDENTIAL_NAMES, "CredentialRepresentation")
    _require_types(given, "")
    if given.get("value") is None:
        return None
    fields = {name: given[name] for name in ("value", "temporary") if given.get(name) is not None}
    if fields["value"] == "":
        return NewPassword(Secret(""))
    return _new_password(fields, "")


def listed_credential(credential: Credential) -> dict[str, Any]:
    """Return the JSON object of a credential, without its secrets."""
    whole = render_credential(credential)
    return {name: whole[name] for name in whole if name not in {"priority", "secretData"}}


def render_credential(credential: Credential, *, masked: bool = True) -> dict[str, Any]:
    """Return the JSON object; the hash is written as `**********` unless `masked` is False."""
    labelled = {} if credential.label is None else {"userLabel": credential.label}
    return {
        "id": credential.id,
        "type": credential.type,
        **labelled,
        "createdDate": Milliseconds().write(credential.created_at),
        "priority": credential.priority,
        "secretData": MASK if masked else credential.secret_data,
        "credentialData": credential.credential_data,
    }


def _parse_member(
    value: Any, path: str, owner: str, standard: Credential
) -> NewPassword | Credential | None:
    if not isinstance(value, Mapping):
        raise refused_secret(path, "an object")
    errors: list[FieldError] = []
    given = _CREDENTIAL_NAMES.collect(value, path, errors)
    raise_all(errors)
    fields = {name: item for name, (_, item) in given.items()}
    _require_types(fields, path)
    if "value" in fields:
        return _new_password(fields, path)
    if fields.get("secretData") == MASK:
        return None
    for name in ("secretData", "credentialData"):
        attempt(errors, None, _check_data, fields.get(name), join(path, name))
    kind = attempt(errors, "", Text(1, 255).read, fields.get("type"), join(path, "type"))
    read = parse_fields(fields, _OPTIONAL, path, errors)
    label = attempt(errors, None, parse_label, fields.get("userLabel"), join(path, "userLabel"))
    raise_all(errors)
    if kind in _HASHED:
        _check_cost(fields, path)
    return Credential(
        id=read.get("id", standard.id),
        user_id=owner,
        type=kind,
        created_at=read.get("createdDate", standard.created_at),
        credential_data=fields["credentialData"],
        secret_data=fields["secretData"],
        priority=read.get("priority", standard.priority),
        label=label,
    )


def _require_types(fields: Mapping[str, Any], path: str) -> None:
    """Raise InvalidInput for a field of another type, whether it is used or not."""
    errors: list[FieldError] = []
    parse_fields(fields, {**_CURRENT, **_LEGACY}, path, errors)
    errors.extend(
        FieldError(join(path, name), "a hidden value", "text")
        for name in _HIDDEN
        if isinstance(fields.get(name), (list, dict))
    )
    raise_all(errors)


def parse_label(value: Any, path: str) -> str | None:
    """Return the label of a credential, None without one."""
    return Text(most=_LONGEST_LABEL).read(value, path) or None if value is not None else None


def _new_password(fields: Mapping[str, Any], path: str) -> NewPassword:
    errors: list[FieldError] = []
    text = text_of_scalar(fields["value"])
    fine = isinstance(text, str) and 0 < len(text) <= MAX_PASSWORD_LENGTH and is_plain_text(text)
    if not fine:
        allowed = f"a password of 1 to {MAX_PASSWORD_LENGTH} characters"
        errors.append(FieldError(join(path, "value"), "a hidden value", allowed))
    if (fields.get("type") or PASSWORD) != PASSWORD:
        errors.append(FieldError(join(path, "type"), "another type", f"{PASSWORD}, beside a value"))
    given = fields.get("temporary")
    temporary = False if is_absent(Flag(), given) else Flag().read(given, join(path, "temporary"))
    raise_all(errors)
    return NewPassword(Secret(text), temporary)


def _check_cost(fields: Mapping[str, Any], path: str) -> None:
    """Refuse a hash that is too expensive to check.

    One in another form than Keycloak's is kept: it is unusable, and nothing is computed for it.
    """
    made, secret = (json.loads(fields[name]) for name in ("credentialData", "secretData"))
    try:
        allowed = hash_refusal(stored_hash_parameters(made, secret))
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError):
        return
    if allowed is not None:
        raise refused_secret(join(path, "credentialData"), allowed)


def _check_data(value: Any, path: str) -> None:
    """Refuse a text that is no JSON object; it is never shown."""
    allowed = "the text of a JSON object"
    if not isinstance(value, str) or len(value) > _LONGEST_DATA or not is_plain_text(value):
        raise refused_secret(path, allowed)
    try:
        data = json.loads(value)
    except (ValueError, RecursionError) as error:
        raise refused_secret(path, allowed) from error
    if not isinstance(data, dict):
        raise refused_secret(path, allowed)


class UserAttributes(TextLists):
    """The attributes of a user; empty values of other types are an empty object."""

    def read(self, value: Any, path: str) -> dict[str, tuple[str, ...]]:
        if value in ("", 0, []):
            return {}
        if isinstance(value, Mapping):
            value = {name: [] if item == {} else item for name, item in value.items()}
        return TextLists.read(self, value, path)


_NAMES: Final = (USERNAME, EMAIL)
"""Members of the user that count there alone, not among its attributes."""
_TEXTS: Final = (*_NAMES, FIRST_NAME, LAST_NAME)
_SHAPES: Final[Mapping[str, Shape]] = {
    "attributes": UserAttributes(singles=True),
    "createdTimestamp": Milliseconds(),
    "emailVerified": Flag(),
    "enabled": Flag(),
    "requiredActions": TextList(Text(most=255)),
    **dict.fromkeys(_TEXTS, Text()),
}
_IGNORED: Final[Mapping[str, Shape]] = {
    **dict.fromkeys(("access", "applicationRoles", "clientRoles"), VerbatimObject()),
    "userProfileMetadata": VerbatimObject(),
    **dict.fromkeys(
        (
            *("clientConsents", "disableableCredentialTypes", "federatedIdentities"),
            *("realmRoles", "socialLinks"),
        ),
        VerbatimList(),
    ),
    **dict.fromkeys(("origin", "self", "serviceAccountClientId"), Text()),
    "totp": Flag(),
}
"""Fields of a user that other modules read, or that are ignored."""
_UNUSED: Final[Mapping[str, Shape]] = {
    **_IGNORED,
    **dict.fromkeys(("id", "federationLink"), Text()),
    "notBefore": Count(),
}
"""Fields that an administrator may send without an effect."""
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+")
_LONGEST_EMAIL = 254


@dataclass(frozen=True, slots=True)
class UserInput:
    """A user as sent; None is an omitted member."""

    sent: Sent
    enabled: bool | None = None
    email_verified: bool | None = None
    required_actions: tuple[str, ...] | None = None
    created_at: datetime | None = None
    credentials: tuple[NewPassword | Credential, ...] = ()
    groups: tuple[str, ...] = ()
    """By path."""


class Username(Verbatim):
    """A user name; neither capitals nor the composition of accents make a difference.

    It has no spaces, except where a service account is named after a client that has some.
    """

    def read(self, value: Any, path: str) -> str:
        if isinstance(value, str) and value.lower().startswith(SERVICE_ACCOUNT_PREFIX):
            of_client = value[len(SERVICE_ACCOUNT_PREFIX) :]
            return canonical_name(SERVICE_ACCOUNT_PREFIX + PrintableName().read(of_client, path))
        return VisibleName().read(canonical_name(VisibleName().read(value, path)), path)


class EmailAddress(Verbatim):
    """An e-mail address in lower case; an empty one takes the address away."""

    def read(self, value: Any, path: str) -> str | None:
        if value == "":
            return None
        text = Text(most=_LONGEST_EMAIL).read(value, path)
        if not text.isprintable() or not _EMAIL.fullmatch(text):
            raise refused(path, value, "an e-mail address")
        return canonical_name(text)


USER_TABLE = FieldTable(
    (
        Setting("id", "id", UrlName(), public=True),
        Setting("username", "username", Username(), public=True),
        Setting("firstName", "first_name", Text(most=255), public=True),
        Setting("lastName", "last_name", Text(most=255), public=True),
        Setting("email", "email", EmailAddress(), public=True),
        Setting("emailVerified", "email_verified", Flag()),
        Setting("attributes", "attributes", TextLists(singles=True), omit_empty=True),
        Setting("enabled", "enabled", Flag()),
        Setting("createdTimestamp", "created_at", Milliseconds(), public=True),
        StoredOnly("federationLink", None, Text(most=255), public=True),
        Setting("requiredActions", "required_actions", TextList(), public=True),
        Setting("notBefore", "not_before", Count(unit="seconds since 1970")),
    ),
    beside=("credentials", "groups"),
    ignored=_IGNORED,
)


_BRIEF: Final = frozenset(
    {
        *("id", "username", "firstName", "lastName", "email", "emailVerified", "enabled"),
        *("createdTimestamp", "federationLink"),
    }
)


def parse_user(
    document: Mapping[str, Any],
    realm_id: str,
    *,
    now: datetime,
    base: User | None = None,
    path: str = "",
) -> User:
    """Return the user that `document` describes, created at `now` unless the document has a time.

    Without `base`, an absent or null member takes the creation default, the id a new UUID. With
    `base`, it stays as it is there, id and creation always. Raises InvalidInput.
    """
    if not isinstance(document, Mapping):
        raise mistyped(path or "user", document, "an object")
    errors: list[FieldError] = []
    given = USER_TABLE.collect(document, path, errors)
    if base is None and "username" not in given:
        errors.append(FieldError(join(path, "username"), "nothing", "a user name"))
    before = base or User(
        id=str(uuid4()), realm_id=realm_id, username="", enabled=False, created_at=now
    )
    updates = USER_TABLE.read_settings(given, errors)
    kept = USER_TABLE.read_kept(given, before.document, errors)
    raise_all(errors)
    user = USER_TABLE.updated(before, updates)
    unchanging = base or user
    return replace(user, id=unchanging.id, created_at=unchanging.created_at, document=kept)


def render_user(user: User) -> dict[str, Any]:
    """Return the JSON object of `user`, keys in Keycloak's order, unknown ones last."""
    return USER_TABLE.answer(user, user.document)


def brief_user(user: User) -> dict[str, Any]:
    """Return the brief form of a listing."""
    return {name: value for name, value in render_user(user).items() if name in _BRIEF}


def with_metadata(document: Mapping[str, Any], metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the whole user with the metadata of its forms, where Keycloak puts it."""
    answer: dict[str, Any] = {}
    for name, value in document.items():
        answer[name] = value
        if name == "emailVerified":
            answer["userProfileMetadata"] = metadata
    return answer


def full_user(user: User, *, totp: bool) -> dict[str, Any]:
    """Return the whole user; `totp` is whether it has a one-time password."""
    answer: dict[str, Any] = {}
    for name, value in render_user(user).items():
        if name == "requiredActions":
            answer["disableableCredentialTypes"] = []
        answer[name] = value
        if name == "createdTimestamp":
            answer["totp"] = totp
    return answer


def parse_user_input(document: Mapping[str, Any], now: datetime) -> UserInput:
    """Return the sent user; raises InvalidInput with every wrong field, and UnknownField."""
    USER_TABLE.require_known(document, "UserRepresentation")
    errors: list[FieldError] = []
    given = USER_TABLE.collect(document, "", errors)
    read = parse_given(given, _SHAPES, errors)
    texts: dict[str, str] = {name: read[name] for name in _TEXTS if name in read}
    groups = attempt(errors, (), _read_groups, given)
    credentials = attempt(errors, (), _read_credentials, given, now)
    parse_given(given, _UNUSED, errors)
    raise_all(errors)
    return UserInput(
        sent=Sent(_values(texts, read.get("attributes") or {}), whole="attributes" in read),
        enabled=read.get("enabled"),
        email_verified=read.get("emailVerified"),
        required_actions=read.get("requiredActions"),
        created_at=read.get("createdTimestamp"),
        credentials=credentials,
        groups=groups,
    )


def require_storable(user: User) -> None:
    """Raise InvalidInput for names and addresses that no profile may accept."""
    errors: list[FieldError] = []
    attempt(errors, None, Username().read, user.username, USERNAME)
    if user.email is not None:
        attempt(errors, None, EmailAddress().read, user.email, EMAIL)
    for name, text in ((FIRST_NAME, user.first_name), (LAST_NAME, user.last_name)):
        if text is not None:
            attempt(errors, None, Text(most=255).read, text, name)
    raise_all(errors)


def _values(
    texts: Mapping[str, str], attributes: Mapping[str, tuple[str, ...]]
) -> dict[str, tuple[str, ...]]:
    own = {
        name: (canonical_name(text) if name in _NAMES else text,) for name, text in texts.items()
    }
    return {name: values for name, values in attributes.items() if name not in _NAMES} | own


def _read_groups(given: Given) -> tuple[str, ...]:
    """Return the paths, which may lack the slash at the beginning."""
    at, value = given.get("groups", ("", None))
    if value is None:
        return ()
    if not isinstance(value, list):
        raise mistyped(at, value, "a list of paths of groups")
    paths = [
        item if not isinstance(item, str) or item.startswith("/") else f"/{item}" for item in value
    ]
    return parse_group_paths(paths, at)


def _read_credentials(given: Given, now: datetime) -> tuple[NewPassword | Credential, ...]:
    at, value = given.get("credentials", ("", None))
    if value is None:
        return ()
    standard = Credential("-", "", "password", now, "", "")
    return parse_credentials(value, at, owner="", standard=standard)


def render_session(session: UserSession, client_ids: Mapping[str, str]) -> dict[str, Any]:
    """Return the JSON object; `client_ids` are the public names of clients by internal id."""
    return {
        "id": session.id,
        "username": session.username,
        "userId": session.user_id,
        "ipAddress": session.ip_address,
        "start": _milliseconds(session.started_at),
        "lastAccess": _milliseconds(session.refreshed_at),
        "rememberMe": session.remember_me,
        "clients": {
            client: client_ids[client] for client in session.clients if client in client_ids
        },
        "transientUser": False,
    }


def render_consent(client: Client, consent: Consent | None, *, offline: bool) -> dict[str, Any]:
    """Return the grants of a user to a client; `offline`: it has offline tokens.

    Keycloak: GET users/{id}/consents
    """
    document: dict[str, Any] = {
        "clientId": client.client_id,
        "grantedClientScopes": list(consent.scopes) if consent else [],
    }
    if consent is not None:
        document["createdDate"] = _milliseconds(consent.created_at)
        document["lastUpdatedDate"] = _milliseconds(consent.updated_at)
    grants = [{"client": client.id, "key": "Offline Token"}] if offline else []
    return {**document, "additionalGrants": grants}


def _milliseconds(instant: datetime) -> int:
    return int(instant.timestamp()) * 1000
