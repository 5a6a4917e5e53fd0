"""`credentials` of a user as they are sent: a password in clear, or a hashed credential.

Keycloak: CredentialRepresentation
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from gateway.domain.errors import FieldError
from gateway.domain.limits.password_hashing import (
    MAX_PASSWORD_LENGTH,
    hash_refusal,
    stored_hash_parameters,
)
from gateway.domain.secrets import Secret
from gateway.domain.users import MOST_CREDENTIALS, Credential
from gateway.representations.field_table import parse_fields
from gateway.representations.json_input import is_plain_text
from gateway.representations.masking import MASK
from gateway.representations.refusals import (
    attempt,
    join,
    parse_each,
    raise_all,
    refused,
    refused_secret,
    require_known,
)
from gateway.representations.shapes import (
    MAX_MILLISECONDS,
    Count,
    Flag,
    Milliseconds,
    Shape,
    Text,
    VerbatimObject,
    is_absent,
    text_of_scalar,
)
from gateway.representations.spelling import Names

PASSWORD = "password"  # noqa: S105 - the type of a credential
FORMER_PASSWORD = "password-history"  # noqa: S105 - the type of a credential
PASSWORD_TYPES = frozenset({PASSWORD, FORMER_PASSWORD})
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
_NAMES = Names((*_CURRENT, *_HIDDEN))
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

    What a hashed credential leaves out is taken from `standard`. Raises InvalidInput.
    """
    if not isinstance(value, list) or len(value) > MOST_CREDENTIALS:
        raise refused(path, None, f"a list of at most {MOST_CREDENTIALS} credentials")
    read = parse_each(value, _read, path, owner, standard)
    return tuple(credential for credential in read if credential is not None)


def parse_new_password(document: Mapping[str, Any] | None) -> NewPassword | None:
    """Return the password that an administrator gives, None for nothing; raises InvalidInput.

    Keycloak looks at nothing else there, the type included.
    """
    given = document or {}
    current = [name for name in given if name not in _LEGACY]
    require_known(current, _NAMES, "CredentialRepresentation")
    _require_types(given, "")
    if given.get("value") is None:
        return None
    fields = {name: given[name] for name in ("value", "temporary") if given.get(name) is not None}
    if fields["value"] == "":
        return NewPassword(Secret(""))
    return _new_password(fields, "")


def listed_credential(credential: Credential) -> dict[str, Any]:
    """Return what administrators see of a credential: nothing that it hides."""
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


def _read(
    value: Any, path: str, owner: str, standard: Credential
) -> NewPassword | Credential | None:
    if not isinstance(value, Mapping):
        raise refused_secret(path, "an object")
    errors: list[FieldError] = []
    given = _NAMES.collect(value, path, errors)
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
    """Return what a user calls a credential, None for nothing."""
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
    """Refuse what is not the text of a JSON object; it is never shown."""
    allowed = "the text of a JSON object"
    if not isinstance(value, str) or len(value) > _LONGEST_DATA or not is_plain_text(value):
        raise refused_secret(path, allowed)
    try:
        data = json.loads(value)
    except (ValueError, RecursionError) as error:
        raise refused_secret(path, allowed) from error
    if not isinstance(data, dict):
        raise refused_secret(path, allowed)
