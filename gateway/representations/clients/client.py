"""Clients: Keycloak's JSON, or its snake_case, to a `Client` and back; requests; reach of a client.

A new client without a name is named by its id, and may be called from where it redirects to. Of a
changed client, omitted fields keep their values, attribute by attribute; an empty attribute is
removed. Its lists of client scopes are changed elsewhere.

The reach of a client is: who receives its tokens, what they may carry, who can be the client. Every
member of the representation and every attribute belongs to it, unless it is listed here: a new
setting counts until it was judged.
Keycloak: ClientRepresentation, order and creation defaults; POST clients, PUT clients/{id} (26.7),
registeredNodes, adminUrl
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from gateway.client_policies import ClientSettings
from gateway.domain.clients import (
    CLIENT_AUTHENTICATORS,
    HARMLESS_SETTINGS,
    OPENID_CONNECT,
    ROTATED_SECRET,
    AdministrativeReach,
    Client,
    allowed_origins,
    client_settings,
    origins_of,
)
from gateway.domain.errors import FieldError
from gateway.domain.random_values import uuid4
from gateway.domain.secrets import Secret
from gateway.representations.client_scopes import (
    ProtocolMappers,
    with_ids,
    with_options_of_file,
)
from gateway.representations.clients.validation import ClientAttributesShape, attribute_errors
from gateway.representations.field_table import (
    FieldTable,
    Given,
    Setting,
    StoredOnly,
    camel_case,
    snake_case,
)
from gateway.representations.json_input import is_plain_text
from gateway.representations.refusals import attempt, join, mistyped, raise_all, refused_secret
from gateway.representations.shapes import (
    MASK,
    Count,
    Flag,
    ObjectId,
    OneOf,
    OptionalText,
    PrintableName,
    Text,
    TextList,
    TextMap,
    VerbatimObject,
    text_of_scalar,
)

DEFAULT_SCOPES: Final = ("acr", "basic", "email", "profile", "roles", "web-origins")
"""Default client scopes of a client whose creator names no scopes."""
OPTIONAL_SCOPES: Final = ("address", "microprofile-jwt", "offline_access", "organization", "phone")
"""Optional client scopes of such a client."""

_AUTHENTICATORS = tuple(each.id for each in CLIENT_AUTHENTICATORS)
_FORMER: Final = {
    **dict.fromkeys(("origin", "clientTemplate"), Text()),
    **dict.fromkeys(
        ("directGrantsOnly", "useTemplateConfig", "useTemplateScope", "useTemplateMappers"), Flag()
    ),
}
"""Fields of earlier versions."""
_LONGEST_SECRET = 4000
_URI = Text(most=2000)
_NAMES = TextList(Text(least=1, most=255))


class RegisteredNodes(VerbatimObject):
    """The times at which nodes were registered, by name; an empty object is nothing."""

    def read(self, value: Any, path: str) -> Any:
        nodes = VerbatimObject.read(self, value, path)
        for name, instant in nodes.items():
            Count().read(instant, join(path, name))
        return nodes or None


class _ShownWhereTrue(Flag):
    """A boolean that Keycloak leaves out where it is false."""

    def write(self, value: Any) -> Any:
        return value or None


CLIENT_FIELDS = FieldTable(
    (
        Setting("id", "id", ObjectId(), public=True),
        Setting("clientId", "client_id", PrintableName(), public=True),
        StoredOnly("name", None, Text(most=255), public=True),
        StoredOnly("description", None, Text(), public=True),
        StoredOnly("type", None, OptionalText(most=255), public=True),
        StoredOnly("rootUrl", None, _URI, public=True),
        StoredOnly("adminUrl", None, _URI, public=True),
        StoredOnly("baseUrl", None, _URI, public=True),
        StoredOnly("surrogateAuthRequired", default=False, shape=Flag()),
        Setting("enabled", "enabled", Flag()),
        StoredOnly("alwaysDisplayInConsole", default=False, shape=Flag()),
        Setting(
            "clientAuthenticatorType", "client_authenticator_type", OneOf((*_AUTHENTICATORS, ""))
        ),
        StoredOnly("redirectUris", [], TextList(_URI), public=True),
        Setting("webOrigins", "web_origins", TextList(_URI), public=True),
        Setting("notBefore", "not_before", Count(unit="seconds since 1970")),
        Setting("bearerOnly", "bearer_only", Flag()),
        Setting("consentRequired", "consent_required", Flag()),
        Setting("standardFlowEnabled", "standard_flow_enabled", Flag()),
        Setting("implicitFlowEnabled", "implicit_flow_enabled", Flag()),
        Setting("directAccessGrantsEnabled", "direct_access_grants_enabled", Flag()),
        Setting("serviceAccountsEnabled", "service_accounts_enabled", Flag()),
        StoredOnly("authorizationServicesEnabled", default=None, shape=_ShownWhereTrue()),
        Setting("publicClient", "public_client", Flag()),
        StoredOnly("frontchannelLogout", default=False, shape=Flag()),
        Setting("protocol", "protocol", OneOf(("openid-connect", "saml", "docker-v2"))),
        Setting("attributes", "attributes", ClientAttributesShape()),
        Setting("authenticationFlowBindingOverrides", "flow_overrides", TextMap()),
        Setting("fullScopeAllowed", "full_scope_allowed", Flag()),
        StoredOnly("nodeReRegistrationTimeout", -1, Count(least=-1)),
        StoredOnly("registeredNodes", None, RegisteredNodes()),
        Setting("protocolMappers", "protocol_mappers", ProtocolMappers(), omit_empty=True),
        Setting("defaultClientScopes", "default_client_scopes", _NAMES, public=True),
        Setting("optionalClientScopes", "optional_client_scopes", _NAMES, public=True),
    ),
    beside=("secret",),
    ignored={
        "access": VerbatimObject(),
        "registrationAccessToken": Text(),
        "authorizationSettings": VerbatimObject(),
        "defaultRoles": _NAMES,
        **_FORMER,
    },
)


@dataclass(frozen=True, slots=True)
class InheritedScopes:
    """The client scopes of a client whose creator names none."""

    default: tuple[str, ...] = DEFAULT_SCOPES
    optional: tuple[str, ...] = OPTIONAL_SCOPES


def with_client_settings(client: Client, wanted: ClientSettings) -> Client:
    """Return the client with what a client policy sets; raises InvalidInput where it must not."""
    attributes = {**client.attributes, **wanted.attributes}
    document = {**wanted.members, "attributes": attributes}
    return parse_client(document, client.realm_id, base=client)


def parse_client(
    document: Mapping[str, Any],
    realm_id: str,
    *,
    base: Client | None = None,
    path: str = "",
    inherited: InheritedScopes | None = None,
    report_ineffective: bool = False,
) -> Client:
    """Return the client that `document` describes.

    Without `base`, what is absent or null takes the creation default, the id a new UUID. With
    `base`, it stays as it is there; the id always, the secret also where the mask was sent. Whether
    its tokens may carry administrative roles is not read: `gateway/admin/client_reach.py` decides.
    Settings that would promise a protection without giving it are refused unless the caller
    reports them. Raises InvalidInput with every wrong field.
    """
    if not isinstance(document, Mapping):
        raise mistyped(path or "client", document, "an object")
    errors: list[FieldError] = []
    given = CLIENT_FIELDS.collect(document, path, errors)
    if base is None:
        given = _with_former_fields(given)
    before = base or _created(given, realm_id, path, inherited or InheritedScopes(), errors)
    updates = CLIENT_FIELDS.read_settings(given, errors)
    kept = CLIENT_FIELDS.read_kept(given, before.document, errors)
    secret = attempt(errors, None, _read_secret, given, before)
    rotated_secret = attempt(errors, None, _read_rotated_secret, given, before)
    raise_all(errors)
    updates = {**_derived(given, updates, kept, base), **updates}
    client = CLIENT_FIELDS.updated(before, updates)
    attributes_at, _ = given.get("attributes", (join(path, "attributes"), None))
    raise_all(attribute_errors(client, attributes_at))
    if not report_ineffective:
        _require_secret(given)
    mappers = client.protocol_mappers
    if base is None or report_ineffective:
        mappers = with_options_of_file(mappers, before.protocol_mappers)
    return replace(
        client,
        id=base.id if base else client.id,
        secret=secret,
        rotated_secret=rotated_secret,
        flow_overrides=_overrides(before.flow_overrides, client.flow_overrides),
        protocol_mappers=with_ids(mappers, before.protocol_mappers),
        allowed_origins=allowed_origins(client.web_origins, kept),
        document=kept,
        **client_settings(client.attributes, kept),
    )


def render_client(
    client: Client, *, masked: bool = True, registration_token: str | None = None
) -> dict[str, Any]:
    """Return the JSON object of `client`, keys in Keycloak's order, unknown ones last.

    The secret of a confidential client is written as `**********` unless `masked` is False; so is
    the rotated one, which is an attribute.
    """
    answer = CLIENT_FIELDS.answer(client, client.document)
    if client.rotated_secret is not None:
        shown = MASK if masked else client.rotated_secret.reveal()
        answer["attributes"] = {**answer["attributes"], ROTATED_SECRET: shown}
    beside: dict[str, Any] = {}
    if client.secret is not None:
        beside["secret"] = MASK if masked else client.secret.reveal()
    if registration_token is not None:
        beside["registrationAccessToken"] = registration_token
    written: dict[str, Any] = {}
    for name, value in answer.items():
        written[name] = value
        if name == "clientAuthenticatorType":
            written |= beside
    return written


def client_representation(
    client: Client, *, masked: bool, registration_token: str | None = None
) -> dict[str, Any]:
    """Return the answer of the admin API: a public client has no secret. Keycloak: 8.4 client."""
    document = render_client(client, masked=masked, registration_token=registration_token)
    if client.public_client:
        document.pop("secret", None)
        document["attributes"].pop(ROTATED_SECRET, None)
    return document


def _created(
    given: Given, realm_id: str, path: str, scopes: InheritedScopes, errors: list[FieldError]
) -> Client:
    if "clientId" not in given:
        errors.append(FieldError(join(path, "clientId"), "nothing", "the client's public name"))
    inherits = not {"defaultClientScopes", "optionalClientScopes"} & given.keys()
    return Client(
        id=str(uuid4()),
        realm_id=realm_id,
        client_id="",
        default_client_scopes=scopes.default if inherits else (),
        optional_client_scopes=scopes.optional if inherits else (),
    )


def _with_former_fields(given: Given) -> Given:
    """Return the fields of a new client with those that a field of earlier versions stands for."""
    at, direct_only = given.get("directGrantsOnly", ("", False))
    if direct_only is not True:
        return given
    return {"standardFlowEnabled": (at, False), "directAccessGrantsEnabled": (at, True), **given}


def _derived(
    given: Given, updates: Mapping[str, Any], kept: Mapping[str, Any], base: Client | None
) -> dict[str, Any]:
    """Return what the sent fields say of those that are left out.

    Keycloak: 8.4 (web origins, full scope)
    """
    derived: dict[str, Any] = {}
    if "redirectUris" in given and not (base and base.web_origins):
        derived["webOrigins"] = tuple(origins_of(kept.get("redirectUris", ())))
    if base is None:
        derived["fullScopeAllowed"] = not updates.get("consentRequired", False)
    return derived


def _overrides(before: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    """Return flows by use: what is not named stays, what is empty goes."""
    return {use: flow for use, flow in {**before, **given}.items() if flow}


def _require_secret(given: Given) -> None:
    """Refuse the empty secret, with which Keycloak lets anyone be the client."""
    at, text = given.get("secret", ("", None))
    if text == "":
        raise refused_secret(at, "text that is not empty")


def _read_secret(given: Given, before: Client) -> Secret | None:
    at, given_text = given.get("secret", ("secret", MASK))
    text = _secret_text(given_text, at)
    return before.secret if text in {"", MASK} else Secret(text)


def _read_rotated_secret(given: Given, before: Client) -> Secret | None:
    """Return the rotated secret: an empty attribute takes it away, as any attribute."""
    at, attributes = given.get("attributes", ("attributes", {}))
    sent = attributes.get(ROTATED_SECRET) if isinstance(attributes, Mapping) else None
    if sent is None:
        return before.rotated_secret
    text = _secret_text(sent, join(at, ROTATED_SECRET))
    return before.rotated_secret if text == MASK else Secret(text) if text else None


def _secret_text(text: Any, at: str) -> str:
    text = text_of_scalar(text)
    if not isinstance(text, str) or len(text) > _LONGEST_SECRET or not is_plain_text(text):
        raise refused_secret(at, f"text of at most {_LONGEST_SECRET} characters")
    return text


HARMLESS_FIELDS: Final[Mapping[str, str]] = {
    "name": "a text for users",
    "description": "a text for administrators",
    "type": "a label for administrators",
    "enabled": "a disabled client gets no tokens; an enabled one is compared apart",
    "alwaysDisplayInConsole": "whether the account console lists the client",
    "notBefore": "refuses older tokens; a lower value is compared apart",
    "surrogateAuthRequired": "has no effect",
    "registeredNodes": "the gateway sends no requests to nodes",
    "nodeReRegistrationTimeout": "the gateway sends no requests to nodes",
}
"""Members of the representation that are not part of the reach, and why."""
HARMLESS_ATTRIBUTES: Final[Mapping[str, str]] = {
    **HARMLESS_SETTINGS,
    "display.on.consent.screen": "a text for users",
    "consent.screen.text": "a text for users",
    "realm_client": "a label for administrators",
}
"""Attributes that are not part of the reach, and why."""


def changes_reach(before: Client, after: Client) -> bool:
    """Return whether two states of a client differ in more than harmless settings.

    A lower `notBefore` makes rejected tokens count again.
    """
    revives = after.not_before < before.not_before
    return revives or _reach_document(before) != _reach_document(after)


def _reach_document(client: Client) -> dict[str, Any]:
    document = render_client(client, masked=False)
    attributes = document.pop("attributes", {})
    kept = {
        **{name: value for name, value in document.items() if name not in HARMLESS_FIELDS},
        **{
            f"attributes.{name}": value
            for name, value in attributes.items()
            if name not in HARMLESS_ATTRIBUTES
        },
    }
    return {name: _unordered(value) for name, value in kept.items()}


def _unordered(value: Any) -> Any:
    """Return names and addresses as a set: their order decides nothing."""
    if isinstance(value, list | tuple) and all(isinstance(item, str) for item in value):
        return frozenset(value)
    return value


def with_reach(client: Client, reach: AdministrativeReach) -> Client:
    """Return the client with another reach."""
    return client if client.reach == reach else replace(client, reach=reach)


_REPRESENTATION: Final = "ClientRepresentation"
_SCOPES: Final = ("defaultClientScopes", "optionalClientScopes")
_NODES: Final = "registeredNodes"
_MERGED: Final = ("attributes", _NODES)
_DEPENDENT: Final = (
    *("protocol", "publicClient", "directAccessGrantsEnabled", "attributes"),
    *("rootUrl", "adminUrl", "redirectUris"),
)
"""Fields of a new client on which its defaults depend."""
_LOGOUT_URL: Final = "backchannel.logout.url"
_LOGOUT: Final = {
    "backchannel.logout.session.required": "true",
    "backchannel.logout.revoke.offline.tokens": "false",
}


def given_field(document: Mapping[str, Any], name: str) -> Any:
    """Return the value of a field, whichever way it is spelled; None where there is none."""
    value = document.get(name)
    return document.get(snake_case(name)) if value is None else value


def with_fields(document: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document with the fields, whichever way it spells them."""
    spellings = {spelling for name in fields for spelling in (name, snake_case(name))}
    others = {name: value for name, value in document.items() if name not in spellings}
    return {**others, **fields}


def new_client_document(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the whole document of a client to add; raises UnknownField."""
    CLIENT_FIELDS.require_known(document, _REPRESENTATION)
    added: dict[str, Any] = {}
    if given_field(document, "id") is None:
        added["id"] = str(uuid4())
    if given_field(document, "clientId") is None:
        added["clientId"] = added.get("id") or given_field(document, "id")
    return {**document, **added}


def with_protocol_defaults(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a new client with what OpenID Connect adds if it names that as its protocol.

    Files of realms and partial imports add nothing. Keycloak: 8.4 client
    """
    sent = {name: given_field(document, name) for name in _DEPENDENT}
    if sent["protocol"] != OPENID_CONNECT:
        return dict(document)
    switched = dict.fromkeys(("publicClient", "directAccessGrantsEnabled"), True)
    added: dict[str, Any] = {name: flag for name, flag in switched.items() if sent[name] is None}
    if isinstance(sent["rootUrl"], str):
        added |= _defaults_of_root(sent["rootUrl"], sent)
    attributes = sent["attributes"] or {}
    if isinstance(attributes, Mapping) and attributes.get(_LOGOUT_URL) is None:
        added["attributes"] = {**attributes, **_LOGOUT}
    kept = {name: value for name, value in document.items() if camel_case(name) not in added}
    return kept | added


def _defaults_of_root(root: str, sent: Mapping[str, Any]) -> dict[str, Any]:
    added: dict[str, Any] = {} if sent["adminUrl"] is not None else {"adminUrl": root}
    if not sent["redirectUris"]:
        added["redirectUris"] = [f"{root.removesuffix('/')}/*"]
        added["webOrigins"] = origins_of([root])
    return added


def changed_client_document(document: Mapping[str, Any], before: Client) -> dict[str, Any]:
    """Return what of a client is to be changed; raises UnknownField.

    What it has already, though Keycloak's representation has no such field, may be sent back.
    """
    kept = before.document
    known = {name: value for name, value in document.items() if name not in kept}
    CLIENT_FIELDS.require_known(known, _REPRESENTATION)
    ignored = {spelling for name in _SCOPES for spelling in (name, snake_case(name))}
    for spelling in ignored & document.keys():
        if document[spelling] is not None:
            CLIENT_FIELDS.shapes[camel_case(spelling)].read(document[spelling], spelling)
    wanted = {name: value for name, value in document.items() if name not in ignored}
    had = {"attributes": before.attributes, _NODES: kept.get(_NODES, {})}
    for name in _MERGED:
        spelling = name if name in wanted else snake_case(name)
        if isinstance(wanted.get(spelling), Mapping):
            wanted[spelling] = {**had[name], **wanted[spelling]}
    if given_field(wanted, "authorizationServicesEnabled") is None:
        wanted["authorizationServicesEnabled"] = False
    return wanted


def nodes_of(client: Client) -> Mapping[str, Any]:
    """Return when each node was registered, in seconds since 1970, by its name."""
    nodes = client.document.get(_NODES)
    return nodes if isinstance(nodes, Mapping) else {}


def with_nodes(client: Client, nodes: Mapping[str, Any]) -> Client:
    """Return the client with these nodes and no others."""
    document = {name: value for name, value in client.document.items() if name != _NODES}
    return replace(client, document=document | ({_NODES: dict(nodes)} if nodes else {}))


def failed_notifications(client: Client) -> dict[str, Any]:
    """Return Keycloak's answer where no node was notified: the address that it would notify."""
    address = client.document.get("adminUrl")
    return {"failedRequests": [address]} if address else {}
