"""The metadata of a registered client, as RFC 7591 defines it.

Keycloak: OIDCClientRepresentation, its order (26.7). Spec: RFC 7591 §3.2.1, RFC 7592 §3
"""

import json
from dataclasses import dataclass, field
from typing import Any, Final

from gateway.domain.clients import CLIENT_AUTHENTICATORS, SELF_SIGNED_METHOD, WITH_SECRET, Client
from gateway.domain.secrets import Secret
from gateway.representations.clients import SECRET_EXPIRES, render_client
from gateway.representations.field_table import without_none
from gateway.representations.masking import MASK
from gateway.representations.protocol_mapper_types import SECTOR_URI
from gateway.representations.protocol_mappers import PAIRWISE_MAPPER
from gateway.representations.registration.openid import (
    CERTIFICATE_NAMES,
    FLAGS,
    GRANT_ATTRIBUTES,
    GRANT_FLAGS,
    LISTS,
    METHOD_ATTRIBUTE,
    PAIRWISE,
    PUBLIC,
    SEPARATOR,
    TEXTS,
)

_METHODS: Final = {each.id: each.methods[0] for each in CLIENT_AUTHENTICATORS if each.methods}


@dataclass(frozen=True, slots=True)
class Registered:
    """A client and where it is managed. `issued_at` is for a new one, in seconds since 1970."""

    client: Client
    url: str
    token: Secret | None = field(default=None, repr=False)
    issued_at: int | None = None
    masked: bool = False


def render_metadata(registered: Registered) -> dict[str, Any]:
    """Return the JSON object."""
    client = registered.client
    document = render_client(client)
    return without_none(
        {
            **_identity(registered, document),
            **_requests(client, list(document["redirectUris"])),
            **_management(registered),
            **_notifications(client),
        }
    )


def _identity(registered: Registered, document: dict[str, Any]) -> dict[str, Any]:
    client = registered.client
    return {
        "redirect_uris": list(document["redirectUris"]),
        "token_endpoint_auth_method": _method(client),
        **_texts(client, "token_endpoint_auth_signing_alg"),
        "grant_types": _grants(client, document),
        "response_types": _responses(document),
        "client_id": client.client_id,
        "client_secret": _secret(registered),
        "client_name": document.get("name"),
        "client_uri": document.get("baseUrl"),
        **_texts(client, "logo_uri", "policy_uri", "tos_uri", "initiate_login_uri"),
        "scope": " ".join(client.optional_client_scopes),
    }


def _requests(client: Client, redirects: list[str]) -> dict[str, Any]:
    return {
        **_keys(client),
        **_subjects(client),
        **_texts(client, "id_token_signed_response_alg"),
        **_texts(client, "id_token_encrypted_response_alg", "id_token_encrypted_response_enc"),
        **_texts(client, "userinfo_signed_response_alg"),
        **_texts(client, "userinfo_encrypted_response_alg", "userinfo_encrypted_response_enc"),
        **_texts(client, "request_object_signing_alg"),
        **_texts(client, "request_object_encryption_alg", "request_object_encryption_enc"),
        "default_acr_values": _list(client, "default_acr_values") or None,
        "request_uris": _list(client, "request_uris"),
        **_flags(client, "tls_client_certificate_bound_access_tokens"),
        **{name: client.attributes.get(text) for name, text in CERTIFICATE_NAMES.items()},
        **_flags(client, "dpop_bound_access_tokens"),
        "post_logout_redirect_uris": _after_logout(client, redirects),
    }


def _management(registered: Registered) -> dict[str, Any]:
    return {
        "client_id_issued_at": registered.issued_at,
        "client_secret_expires_at": _expiration(registered) if _secret(registered) else None,
        "registration_client_uri": registered.url,
        "registration_access_token": registered.token and registered.token.reveal(),
    }


def _notifications(client: Client) -> dict[str, Any]:
    return {
        **_texts(client, "backchannel_logout_uri"),
        **_flags(client, "backchannel_logout_session_required"),
        **_texts(client, "backchannel_token_delivery_mode", "authorization_signed_response_alg"),
        **_texts(client, "authorization_encrypted_response_alg"),
        **_texts(client, "authorization_encrypted_response_enc"),
        **_flags(client, "require_pushed_authorization_requests"),
        **_texts(client, "frontchannel_logout_uri"),
        **_flags(client, "frontchannel_logout_session_required"),
    }


def _method(client: Client) -> str:
    if client.public_client:
        return "none"
    chosen = client.attributes.get(METHOD_ATTRIBUTE)
    if client.client_authenticator_type == "client-secret" and chosen:
        return chosen
    if client.certificate_authentication.self_signed:
        return SELF_SIGNED_METHOD
    return _METHODS.get(client.client_authenticator_type, "client_secret_basic")


def _secret(registered: Registered) -> str | None:
    client = registered.client
    has_one = client.client_authenticator_type in WITH_SECRET and not client.public_client
    if not has_one or client.secret is None:
        return None
    return MASK if registered.masked else client.secret.reveal()


def _expiration(registered: Registered) -> int:
    """Return when the secret expires; 0 where it does not. Spec: RFC 7591 §3.2.1."""
    try:
        return int(registered.client.attributes.get(SECRET_EXPIRES) or 0)
    except ValueError:
        return 0


def _grants(client: Client, document: dict[str, Any]) -> list[str]:
    by_flag = [grant for grant, flag in GRANT_FLAGS.items() if document[flag]]
    by_attribute = [
        grant
        for grant, attribute in GRANT_ATTRIBUTES.items()
        if client.attributes.get(attribute, "true" if grant == "refresh_token" else "") == "true"
    ]
    return by_flag + by_attribute


def _responses(document: dict[str, Any]) -> list[str]:
    standard, implicit = document["standardFlowEnabled"], document["implicitFlowEnabled"]
    found = ["code", "none"] if standard else []
    found += ["id_token", "id_token token"] if implicit else []
    if standard and implicit:
        found += ["code id_token", "code token", "code id_token token"]
    return found


def _keys(client: Client) -> dict[str, Any]:
    attributes = client.attributes
    uri, text = attributes.get("jwks.url"), attributes.get("jwks.string")
    return {
        "jwks_uri": uri if attributes.get("use.jwks.url") == "true" else None,
        "jwks": json.loads(text) if text and attributes.get("use.jwks.string") == "true" else None,
    }


def _subjects(client: Client) -> dict[str, Any]:
    for mapper in client.protocol_mappers:
        if mapper.mapper_type == PAIRWISE_MAPPER:
            sector = mapper.config.get(SECTOR_URI) or None
            return {"subject_type": PAIRWISE, "sector_identifier_uri": sector}
    return {"subject_type": PUBLIC}


def _after_logout(client: Client, redirects: list[str]) -> list[str]:
    found = _list(client, "post_logout_redirect_uris")
    return redirects if not found or found == ["+"] else [uri for uri in found if uri != "-"]


def _list(client: Client, name: str) -> list[str]:
    text = client.attributes.get(LISTS[name])
    return text.split(SEPARATOR) if text else []


def _flags(client: Client, *names: str) -> dict[str, bool]:
    return {name: client.attributes.get(FLAGS[name]) == "true" for name in names}


def _texts(client: Client, *names: str) -> dict[str, str | None]:
    return {name: client.attributes.get(TEXTS[name]) for name in names}
