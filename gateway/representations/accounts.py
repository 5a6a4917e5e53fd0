"""JSON of a user's own account: the profile, credentials, applications, consents.

Keycloak: 17.2 profile, 17.3 account sessions, 17.4 credentials, 17.5 applications; consents have
milliseconds
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urljoin

from gateway.domain.client_scopes import ClientScope, Consent
from gateway.domain.clients import Client
from gateway.domain.user_profile import (
    EMAIL,
    FIRST_NAME,
    LAST_NAME,
    ROOTS,
    USERNAME,
    UserProfile,
    Values,
    Violation,
)
from gateway.domain.users import User
from gateway.representations.field_table import parse_strictly, without_none
from gateway.representations.refusals import mistyped, refused
from gateway.representations.shapes import (
    Flag,
    Milliseconds,
    Shape,
    Text,
    TextLists,
    VerbatimList,
    VerbatimObject,
)

Translate = Callable[[str], str]
"""Returns the text of a key, such as `${profileScopeConsentText}`."""
_SCOPES: Final = "grantedScopes"
_MOST_SCOPES: Final = 1000
_CONSENT: Final[Mapping[str, Shape]] = {
    _SCOPES: VerbatimList(),
    **dict.fromkeys(("createdDate", "lastUpdatedDate"), Milliseconds()),
}
_SCOPE: Final[Mapping[str, Shape]] = dict.fromkeys(
    ("id", "name", "description", "protocol", "displayText", "displayTest"), Text()
)


def render_client(
    client: Client, *, in_use: bool = False, offline_access: bool = False
) -> dict[str, Any]:
    """Return the names of a client and whether the user uses it."""
    return without_none(
        {
            "clientId": client.client_id,
            "clientName": client.display.name or None,
            "description": client.document.get("description"),
            "userConsentRequired": client.consent_required,
            "inUse": in_use,
            "offlineAccess": offline_access,
        }
    )


def render_client_names(client: Client) -> dict[str, Any]:
    """Return a client of a session: Keycloak says nothing else of it."""
    flags = dict.fromkeys(("userConsentRequired", "inUse", "offlineAccess"), False)
    names = {"clientId": client.client_id, "clientName": client.display.name or None}
    return without_none(names) | flags


def render_addresses(client: Client, *, consented: bool) -> dict[str, Any]:
    """Return the URLs of a client; those of its terms for users who have consented."""
    shown = client.display
    home = urljoin(shown.root_url, shown.base_url) if shown.base_url else ""
    urls = {"rootUrl": shown.root_url, "baseUrl": shown.base_url, "effectiveUrl": home}
    if consented:
        urls |= {
            "logoUri": shown.logo_uri,
            "policyUri": shown.policy_uri,
            "tosUri": shown.terms_uri,
        }
    return {name: url for name, url in urls.items() if url}


def render_consent(
    consent: Consent, scopes: Sequence[ClientScope], translate: Translate, *, brief: bool = True
) -> dict[str, Any]:
    """Return a consent with its scopes, named in the language of the user."""
    return {
        _SCOPES: [_scope(scope, translate, brief=brief) for scope in scopes],
        "createdDate": Milliseconds().write(consent.created_at),
        "lastUpdatedDate": Milliseconds().write(consent.updated_at),
    }


def parse_consent(document: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the ids of the scopes that are granted; raises UnknownField and InvalidInput."""
    scopes = parse_strictly(document, _CONSENT, "ConsentRepresentation").get(_SCOPES)
    if scopes is None or len(scopes) > _MOST_SCOPES:
        raise refused(_SCOPES, None, f"a list of at most {_MOST_SCOPES} client scopes")
    return tuple(_scope_id(scope, f"{_SCOPES}[{place}]") for place, scope in enumerate(scopes))


def _scope(scope: ClientScope, translate: Translate, *, brief: bool) -> dict[str, Any]:
    named = scope.attributes.get("consent.screen.text") or scope.name
    text = translate(named)
    details = {} if brief else {"description": scope.description, "protocol": scope.protocol}
    return without_none(
        {
            "id": scope.id,
            "name": named,
            **details,
            "displayText": text,
            "displayTest": text,  # Keycloak's former spelling, which its own classes still send
        }
    )


def _scope_id(scope: object, path: str) -> str:
    if not isinstance(scope, Mapping):
        raise mistyped(path, scope, "an object")
    return str(parse_strictly(scope, _SCOPE, "ConsentScopeRepresentation", path).get("id", ""))


LONGEST_LABEL: Final = 255


def parse_own_label(value: Any) -> str | None:
    """Return the label of a JSON text, None for null or an empty one; raises InvalidInput."""
    return None if value is None else Text(most=LONGEST_LABEL).read(value, "userLabel") or None


def message(key: str, *parameters: str) -> dict[str, Any]:
    """Return a text by its key."""
    return {"key": key, "parameters": list(parameters)}


_ATTRIBUTES: Final = "attributes"
_TEXTS: Final = (USERNAME, FIRST_NAME, LAST_NAME, EMAIL)
_SHAPES: Final[Mapping[str, Shape]] = {
    **dict.fromkeys(_TEXTS, Text()),
    _ATTRIBUTES: TextLists(singles=True),
}
_IGNORED: Final[Mapping[str, Shape]] = {
    "id": Text(),
    **dict.fromkeys(("emailVerified", "enabled"), Flag()),
    "userProfileMetadata": VerbatimObject(),
}
"""Fields whose type alone is checked: users do not change them."""
_REQUIRED: Final = "error-user-attribute-required"
_NO_USERNAME: Final = "missingUsernameMessage"
"""What Keycloak calls a user name that is required."""
_READ_ONLY: Final = "error-user-attribute-read-only"
_TAKEN: Final = frozenset({"usernameExistsMessage", "emailExistsMessage"})


@dataclass(frozen=True, slots=True)
class OwnValues:
    """The values of a document by name of the attribute.

    `with_attributes`: it names all attributes that the profile does not have.
    """

    values: Values
    with_attributes: bool = False


def parse_own_profile(document: Mapping[str, Any]) -> OwnValues:
    """Return the sent values; raises UnknownField and InvalidInput."""
    read = parse_strictly(document, {**_SHAPES, **_IGNORED}, "UserRepresentation")
    attributes = read.get(_ATTRIBUTES, {})
    listed = {name: values for name, values in attributes.items() if name not in {USERNAME, EMAIL}}
    texts = {name: (read[name],) for name in _TEXTS if name in read}
    return OwnValues(listed | texts, with_attributes=_ATTRIBUTES in read)


def render_own_profile(
    user: User, values: Values, metadata: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Return the JSON object of a user with the values that the user is shown."""
    document: dict[str, Any] = {"id": user.id}
    document |= {name: values[name][0] for name in _TEXTS if values.get(name)}
    document["emailVerified"] = user.email_verified
    others = {name: list(texts) for name, texts in values.items() if name not in ROOTS}
    if others:
        document[_ATTRIBUTES] = others
    if metadata is not None:
        document["userProfileMetadata"] = metadata
    return document


def render_violations(violations: Iterable[Violation], rules: UserProfile) -> dict[str, Any]:
    """Return the answer to values that the profile refuses; messages name attributes by label."""
    errors = [_error(one, rules) for one in _spelled_out(violations)]
    return {**(errors[0] if len(errors) == 1 else {}), "errors": errors}


def is_conflict(violations: Iterable[Violation]) -> bool:
    """Tell whether another user has the name or the address."""
    return any(one.message in _TAKEN for one in violations)


def _spelled_out(violations: Iterable[Violation]) -> Sequence[Violation]:
    """Return the violations; Keycloak has a second one for the user name."""
    found = list(violations)
    if any(one.field == USERNAME and one.message == _READ_ONLY for one in found):
        found.append(Violation(USERNAME, "readOnlyUsernameMessage", (USERNAME,)))
    return found


def _error(violation: Violation, rules: UserProfile) -> dict[str, Any]:
    attribute = rules.attributes.get(violation.field)
    label = violation.field if attribute is None else attribute.display.label or attribute.name
    unnamed = violation.field == USERNAME and violation.message == _REQUIRED
    named, *others = violation.parameters or (violation.field,)
    parameters = [label if named == violation.field else named, *others]
    return {
        "field": violation.field,
        "errorMessage": _NO_USERNAME if unnamed else violation.message,
        "params": [_text(parameter) for parameter in parameters],
    }


def _text(parameter: object) -> str | None:
    """Return a parameter as text; None, such as a limit that is not set, stays null."""
    if parameter is None:
        return None
    return ", ".join(parameter) if isinstance(parameter, tuple) else str(parameter)
