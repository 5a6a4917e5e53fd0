"""Clients and consents as users see them. Keycloak: 17.3, 17.5; consents have milliseconds."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final
from urllib.parse import urljoin

from gateway.domain.client_scopes import ClientScope
from gateway.domain.clients import Client
from gateway.domain.consents import Consent
from gateway.domain.errors import FieldError
from gateway.representations.field_table import parse_fields, without_none
from gateway.representations.refusals import mistyped, raise_all, refused, require_known
from gateway.representations.shapes import Milliseconds, Shape, Text, VerbatimList

Translate = Callable[[str], str]
"""Returns the text that stands for a key, such as `${profileScopeConsentText}`."""
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
    require_known(document, _CONSENT, "ConsentRepresentation")
    errors: list[FieldError] = []
    read = parse_fields(document, _CONSENT, "", errors)
    raise_all(errors)
    scopes = read.get(_SCOPES)
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
    require_known(scope, _SCOPE, "ConsentScopeRepresentation", path)
    errors: list[FieldError] = []
    read = parse_fields(scope, _SCOPE, path, errors)
    raise_all(errors)
    return str(read.get("id", ""))
