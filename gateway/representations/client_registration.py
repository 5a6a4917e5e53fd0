"""Dynamic client registration: metadata and other descriptions to a client, and the answer.

Keycloak: OIDCClientRepresentation, its order, and how it is converted (26.7); client registration,
client-description-converter (keycloak, openid-connect).
Spec: RFC 7591 §2, §3.2.1, RFC 7592 §3; OpenID Connect Dynamic Client Registration 1.0 §2; RFC 8705
§2.1.2, §3.4
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from gateway.domain.clients import (
    CLIENT_AUTHENTICATORS,
    OPENID_CONNECT,
    SECRET_EXPIRES,
    SELF_SIGNED_METHOD,
    TLS_METHOD,
    WITH_SECRET,
    Client,
)
from gateway.domain.errors import InvalidInput
from gateway.domain.secrets import Secret
from gateway.domain.tables import read_table
from gateway.representations.client_scopes import PAIRWISE_MAPPER, SECTOR_URI
from gateway.representations.clients import new_client_document, parse_client, render_client
from gateway.representations.field_table import parse_strictly, without_none
from gateway.representations.json_input import parse_json
from gateway.representations.refusals import refused
from gateway.representations.shapes import (
    MASK,
    Flag,
    Shape,
    Text,
    TextList,
    Verbatim,
    VerbatimObject,
)

REPRESENTATION: Final = "OIDCClientRepresentation"
METHOD_ATTRIBUTE: Final = "client.secret.authentication.allowed.method"
SEPARATOR: Final = "##"
BASIC_SCOPE: Final = "basic"
PUBLIC: Final = "public"
PAIRWISE: Final = "pairwise"

_TABLE: Final = read_table("gateway.representations", "client_registration.toml")
_Names = Mapping[str, str]
GRANT_FLAGS: Final[_Names] = _TABLE["grant_flags"]
GRANT_ATTRIBUTES: Final[_Names] = _TABLE["grant_attributes"]
TEXTS: Final[_Names] = _TABLE["texts"]
FLAGS: Final[_Names] = _TABLE["flags"]
LISTS: Final[_Names] = _TABLE["lists"]
CERTIFICATE_NAMES: Final[_Names] = _TABLE["certificate_names"]
"""Names of a client's certificate, of which it has one. Spec: RFC 8705 §2.1.2."""
_FLAGS_OF_NEW: Final = {
    "backchannel_logout_session_required": False,
    "backchannel_logout_revoke_offline_tokens": False,
    "frontchannel_logout_session_required": False,
}
"""Of a client whose metadata leave them out. Spec: OpenID Connect Back-Channel Logout §2.2."""
_SESSION_REQUIRED: Final = {"backchannel_logout_session_required": True}
"""Of a description that an administrator converts. Keycloak 26.7, measured."""
SELF_SIGNED_ATTRIBUTE: Final = "realmgate.certificate.self.signed"
_OF_CERTIFICATES: Final = (*CERTIFICATE_NAMES.values(), "realmgate.certificate.template")
AUTHENTICATORS: Final = {
    method: each.id for each in CLIENT_AUTHENTICATORS for method in each.methods
}
_WITH_KEYS: Final = frozenset({"private_key_jwt", SELF_SIGNED_METHOD})
_IGNORED: Final = (
    *("client_id_issued_at", "client_secret_expires_at", "registration_client_uri"),
    *("registration_access_token", "client_secret", "contacts", "software_id"),
    *("software_version", "application_type", "default_max_age", "require_auth_time"),
)
"""Metadata that Keycloak knows, and of which nothing here depends."""
_ADDRESS: Final = Text(most=2000)
_NAME: Final = Text(most=255)


class _Anything(Verbatim):
    """A value that is not read."""

    def read(self, value: Any, path: str) -> Any:  # noqa: ARG002 - the protocol of shapes
        return value


_FIELDS: Final[Mapping[str, Shape]] = {
    **dict.fromkeys(("client_id", "client_name", "token_endpoint_auth_method"), _NAME),
    **dict.fromkeys(("client_uri", "jwks_uri", *TEXTS), _ADDRESS),
    **dict.fromkeys(("redirect_uris", "grant_types", "response_types", *LISTS), TextList()),
    **dict.fromkeys(FLAGS, Flag()),
    "scope": Text(),
    "subject_type": _NAME,
    "sector_identifier_uri": _ADDRESS,
    **dict.fromkeys(CERTIFICATE_NAMES, _ADDRESS),
    "jwks": VerbatimObject(),
    **dict.fromkeys(_IGNORED, _Anything()),
}
_CODE: Final = frozenset({"code", "none"})
_IMPLICIT: Final = frozenset({"token", "id_token"})


def parse_metadata(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the sent metadata; raises UnknownField and InvalidInput."""
    return parse_strictly(document, _FIELDS, REPRESENTATION)


def client_of_metadata(metadata: Mapping[str, Any], *, new: bool) -> dict[str, Any]:
    """Return the client's document for the admin API; raises InvalidInput.

    An existing client keeps the settings that the metadata omits.
    """
    document: dict[str, Any] = {"attributes": {}}
    for name, target in (("client_name", "name"), ("client_uri", "baseUrl")):
        if name in metadata:
            document[target] = metadata[name]
    if "redirect_uris" in metadata:
        document["redirectUris"] = list(metadata["redirect_uris"])
    _read_attributes(metadata, document, new=new)
    _read_keys(metadata, document)
    _read_authentication(metadata, document)
    if new or "grant_types" in metadata or "response_types" in metadata:
        _read_flows(metadata, document)
    return document


def requested_scopes(metadata: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Return the scopes that may be requested, None where the metadata has none."""
    scope = metadata.get("scope")
    return None if scope is None else tuple(dict.fromkeys(scope.split()))


def _read_attributes(metadata: Mapping[str, Any], document: dict[str, Any], *, new: bool) -> None:
    attributes = document["attributes"]
    attributes |= {TEXTS[name]: metadata[name] for name in TEXTS if name in metadata}
    flags = {**_FLAGS_OF_NEW, **metadata} if new else metadata
    attributes |= {FLAGS[name]: _flag(flags[name]) for name in FLAGS if name in flags}
    attributes |= {
        LISTS[name]: SEPARATOR.join(metadata[name]) for name in LISTS if name in metadata
    }
    if "frontchannel_logout_uri" in metadata:
        document["frontchannelLogout"] = True
    login_uri = metadata.get("initiate_login_uri")
    if login_uri is not None and not login_uri.startswith("https://"):
        raise refused("initiate_login_uri", login_uri, "an address that begins with https")
    _read_subject_type(metadata, document)


def _read_subject_type(metadata: Mapping[str, Any], document: dict[str, Any]) -> None:
    """Give a client with pairwise subjects the mapper for them, which replaces all its mappers."""
    kind = metadata.get("subject_type", PUBLIC)
    if kind not in {PUBLIC, PAIRWISE}:
        raise refused("subject_type", kind, f"{PUBLIC} or {PAIRWISE}")
    if kind == PAIRWISE:
        sector = metadata.get("sector_identifier_uri")
        mapper = {
            "name": "pairwise subject identifier",
            "protocol": "openid-connect",
            "protocolMapper": PAIRWISE_MAPPER,
            "config": {SECTOR_URI: sector} if sector else {},
        }
        document["protocolMappers"] = [mapper]


def _flag(value: object) -> str:
    return "true" if value else "false"


def _read_keys(metadata: Mapping[str, Any], document: dict[str, Any]) -> None:
    attributes = document["attributes"]
    if "jwks_uri" in metadata and "jwks" in metadata:
        raise refused("jwks", "beside jwks_uri", "one of the two")
    if "jwks_uri" in metadata:
        attributes |= {"use.jwks.url": "true", "jwks.url": metadata["jwks_uri"]}
        attributes |= {"use.jwks.string": "false"}
    if "jwks" in metadata:
        attributes |= {"use.jwks.string": "true", "jwks.string": _key_set(metadata["jwks"])}
        attributes |= {"use.jwks.url": "false"}


def _key_set(jwks: Mapping[str, Any]) -> str:
    keys = jwks.get("keys")
    if not isinstance(keys, list) or any(_holds_private(key) for key in keys):
        raise refused("jwks", "another object", "a set of public keys")
    return json.dumps(jwks, separators=(",", ":"))


def _holds_private(key: Any) -> bool:
    return not isinstance(key, Mapping) or "d" in key or "k" in key


def _read_authentication(metadata: Mapping[str, Any], document: dict[str, Any]) -> None:
    attributes = document["attributes"]
    _read_certificate_name(metadata, attributes)
    method = metadata.get("token_endpoint_auth_method")
    if method is None:
        return
    _read_certificate_method(method, attributes)
    if method == "none":
        document["publicClient"] = True
        return
    if method not in AUTHENTICATORS:
        raise refused("token_endpoint_auth_method", method, ", ".join(("none", *AUTHENTICATORS)))
    if method in _WITH_KEYS and not _names_keys(metadata):
        raise refused("jwks", "no key", f"jwks or jwks_uri for {method}")
    document["publicClient"] = False
    document["clientAuthenticatorType"] = AUTHENTICATORS[method]
    if AUTHENTICATORS[method] == "client-secret":
        attributes[METHOD_ATTRIBUTE] = method


def _read_certificate_name(metadata: Mapping[str, Any], attributes: dict[str, str]) -> None:
    """Read the one name of the client's certificate, which replaces any other. RFC 8705 §2.1.2."""
    given = [name for name in CERTIFICATE_NAMES if metadata.get(name)]
    if len(given) > 1:
        raise refused(given[1], f"together with {given[0]}", "one of them")
    if not given:
        return
    attributes |= dict.fromkeys(_OF_CERTIFICATES, "")
    attributes[CERTIFICATE_NAMES[given[0]]] = metadata[given[0]]
    if given[0] == "tls_client_auth_subject_dn":
        attributes["x509.allow.regex.pattern.comparison"] = "false"


def _read_certificate_method(method: str, attributes: dict[str, str]) -> None:
    """Take away what another way of authentication had, and would refuse this one."""
    attributes[SELF_SIGNED_ATTRIBUTE] = "true" if method == SELF_SIGNED_METHOD else ""
    if method != TLS_METHOD:
        kept = set() if method == SELF_SIGNED_METHOD else {"x509.subjectdn"}
        former = (name for name in _OF_CERTIFICATES if name not in kept)
        attributes |= {name: "" for name in former if name not in attributes}


def _names_keys(metadata: Mapping[str, Any]) -> bool:
    return "jwks_uri" in metadata or bool(metadata.get("jwks", {}).get("keys"))


def _read_flows(metadata: Mapping[str, Any], document: dict[str, Any]) -> None:
    grants = metadata.get("grant_types")
    if grants is not None:
        wanted = set(grants) or {"authorization_code"}
        document |= {flag: grant in wanted for grant, flag in GRANT_FLAGS.items()}
        document["attributes"] |= {
            attribute: _flag(grant in wanted) for grant, attribute in GRANT_ATTRIBUTES.items()
        }
    responses = metadata.get("response_types")
    if responses is not None:
        wanted = {part for response in responses for part in response.split()} or {"code"}
        if wanted - _CODE - _IMPLICIT:
            raise refused("response_types", list(responses), "code, token, id_token and none")
        document["standardFlowEnabled"] = bool(wanted & _CODE)
        document["implicitFlowEnabled"] = bool(wanted & _IMPLICIT)


_CLIENT: Final[Mapping[str, Any]] = {
    "clientAuthenticatorType": "client-secret",
    "standardFlowEnabled": True,
    "implicitFlowEnabled": False,
    "directAccessGrantsEnabled": False,
    "publicClient": False,
    "frontchannelLogout": False,
    "protocol": OPENID_CONNECT,
}
"""The client of metadata without these settings. Keycloak 26.7, measured."""


def convert_description(text: str) -> dict[str, Any] | None:
    """Return the client that a description describes; None for another format.

    It is the metadata of RFC 7591 where it names `redirect_uris`, else Keycloak's representation.
    Raises InvalidInput and UnknownField.
    """
    try:
        document = parse_json(text.encode(), "the description")
    except InvalidInput:
        return None
    if isinstance(document, dict) and "redirect_uris" in document:
        metadata = {**_SESSION_REQUIRED, **parse_metadata(document)}
        return {**_CLIENT, **client_of_metadata(metadata, new=True)}
    if isinstance(document, dict) and "clientId" in document:
        parse_client(new_client_document(document), "", report_ineffective=True)
        return without_none(document)
    return None


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
    """Return the JSON object, members in the order of Keycloak's representation."""
    client, secret = registered.client, _secret(registered)
    document = render_client(client)
    redirects = list(document["redirectUris"])
    computed = {
        "redirect_uris": redirects,
        "token_endpoint_auth_method": _method(client),
        "grant_types": _grants(client, document),
        "response_types": _responses(document),
        "client_id": client.client_id,
        "client_secret": secret,
        "client_name": document.get("name"),
        "client_uri": document.get("baseUrl"),
        "scope": " ".join(client.optional_client_scopes),
        **_keys(client),
        **_subjects(client),
        "default_acr_values": _list_texts(client, "default_acr_values") or None,
        "post_logout_redirect_uris": _after_logout(client, redirects),
        "client_id_issued_at": registered.issued_at,
        "client_secret_expires_at": _expiration(registered) if secret else None,
        "registration_client_uri": registered.url,
        "registration_access_token": registered.token and registered.token.reveal(),
    }
    return without_none(
        {
            name: computed[name] if name in computed else _attribute(client, name)
            for name in _TABLE["order"]
        }
    )


def _attribute(client: Client, name: str) -> str | bool | list[str] | None:
    """Return the member that one attribute of the client decides."""
    if name in LISTS:
        return _list_texts(client, name)
    if name in FLAGS:
        return client.attributes.get(FLAGS[name]) == "true"
    return client.attributes.get(TEXTS.get(name) or CERTIFICATE_NAMES[name])


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
    return {"subject_type": PUBLIC, "sector_identifier_uri": None}


def _after_logout(client: Client, redirects: list[str]) -> list[str]:
    found = _list_texts(client, "post_logout_redirect_uris")
    return redirects if not found or found == ["+"] else [uri for uri in found if uri != "-"]


def _list_texts(client: Client, name: str) -> list[str]:
    text = client.attributes.get(LISTS[name])
    return text.split(SEPARATOR) if text else []
