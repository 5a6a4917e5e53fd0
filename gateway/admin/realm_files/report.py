"""The report of an import: what of a file is lost, has no effect, or needs the operator.

Every import of a file makes it, and every plan; each finding names its objects and counts them.
Secrets are never named.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from typing import Any, Final

from gateway.admin.realm_files.named_roles import PROTECTION
from gateway.domain.errors import FieldError
from gateway.domain.keys import IMPORTERS
from gateway.domain.users import SERVICE_ACCOUNT_PREFIX
from gateway.representations.client_scopes import MAPPER_DESCRIPTIONS
from gateway.representations.clients import CLIENT_FIELDS
from gateway.representations.keys import KEY_PROVIDER_TYPE
from gateway.representations.realms import (
    NOT_IMPORTED,
    REALM_TABLE,
    SECRETS,
    STORED_SWITCHES,
    parts_not_imported,
)
from gateway.representations.refusals import describe_name, suggestion
from gateway.representations.refused_settings import IneffectiveSetting
from gateway.representations.registration_policies import POLICY_TYPE
from gateway.representations.server_info import theme_names
from gateway.representations.shapes import MASK
from gateway.representations.stored_user_profile import PROFILE_TYPE
from gateway.representations.users import USER_TABLE

_SHOWN: Final = 10
"""Names in the text of a finding; the JSON has `_MOST_NAMES` of them."""
_MOST_NAMES: Final = 1000
_LONGEST_HEADER: Final = 4000
_PARTS: Final = ("clients", "groups", "roles", "users")
_STORAGE: Final = "org.keycloak.storage.UserStorageProvider"
_THEMES: Final = {"loginTheme": "login", "accountTheme": "account", "emailTheme": "email"}
_NAME_MEMBERS: Final = ("alias", "name", "displayName", "username", "clientId", "providerId")


class FindingKind(StrEnum):
    """What became of a part of a file."""

    LOST = "lost"
    WITHOUT_EFFECT = "stored without effect"
    NEEDS_YOU = "needs you"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report: the member of the file, how many objects, their names, a sentence."""

    kind: FindingKind
    member: str
    sentence: str
    names: tuple[str, ...] = ()
    count: int = 0

    def __str__(self) -> str:
        shown = ", ".join(f"`{describe_name(name)}`" for name in self.names[:_SHOWN])
        more = self.count - min(self.count, _SHOWN)
        shown += f" and {more} more" if shown and more > 0 else ""
        named = f" ({self.count}: {shown})" if shown else ""
        return f"{self.kind}: {self.member}{named}: {self.sentence}"

    def to_json(self) -> dict[str, Any]:
        names = list(self.names[:_MOST_NAMES])
        return {
            "member": self.member,
            "count": self.count,
            "names": names,
            "text": self.sentence,
        }


Report = tuple[Finding, ...]


def render_report(report: Iterable[Finding]) -> dict[str, list[dict[str, Any]]]:
    """Return the findings by kind, as JSON."""
    keys = {FindingKind.LOST: "lost", FindingKind.WITHOUT_EFFECT: "withoutEffect"}
    found: dict[str, list[dict[str, Any]]] = {"lost": [], "withoutEffect": [], "needsYou": []}
    for finding in report:
        found[keys.get(finding.kind, "needsYou")].append(finding.to_json())
    return found


def render_short_report(report: Iterable[Finding]) -> str:
    """Return the findings as JSON in ASCII that fits a header; without names where it does not."""
    whole = render_report(report)
    short = {
        kind: [{name: each[name] for name in ("member", "count", "text")} for each in found]
        for kind, found in whole.items()
    }
    counts = {kind: len(found) for kind, found in whole.items()}
    texts = (json.dumps(each, separators=(",", ":")) for each in (whole, short, counts))
    return next(text for text in texts if len(text) <= _LONGEST_HEADER)


def found_names(kind: FindingKind, member: str, names: Collection[str], sentence: str) -> Report:
    """Return the finding about named objects; none where there are no names."""
    return (Finding(kind, member, sentence, tuple(names), len(names)),) if names else ()


@dataclass(frozen=True, slots=True)
class GatewayNames:
    """The themes and event listeners of the gateway; what is not known is not compared."""

    themes: tuple[str, ...] | None = None
    """Those of the operator."""
    listeners: tuple[str, ...] = ()


UNKNOWN_GATEWAY: Final = GatewayNames()


def report_document(
    document: Mapping[str, Any],
    *,
    new_clients: Collection[str],
    is_new: bool,
    gateway: GatewayNames,
) -> Report:
    """Return what the document of a realm, in its current form, says alone."""
    context = _Context(document, frozenset(new_clients), is_new, gateway)
    return tuple(finding for check in _CHECKS for finding in check(context))


def report_parts(document: Mapping[str, Any]) -> Report:
    """Return what the document of a partial import says alone: settings are not part of it."""
    kept = (*_PARTS, "identityProviders", "identityProviderMappers")
    parts = {name: document[name] for name in kept if document.get(name)}
    return report_document(parts, new_clients=(), is_new=False, gateway=UNKNOWN_GATEWAY)


def report_unknown_scopes(document: Mapping[str, Any], known: Collection[str]) -> Report:
    """Return the client scopes that lists of the document name and the realm does not have."""
    sentence = "the realm has no such client scope"
    found: Report = ()
    for member in ("defaultDefaultClientScopes", "defaultOptionalClientScopes"):
        names = [name for name in _texts(document.get(member)) if name not in known]
        found += found_names(FindingKind.LOST, member, names, sentence)
    for member in ("defaultClientScopes", "optionalClientScopes"):
        names = [
            f"{_name_of_client(client)}/{name}"
            for client in _objects(document.get("clients"))
            for name in _texts(client.get(member))
            if name not in known
        ]
        found += found_names(FindingKind.LOST, f"clients.{member}", names, sentence)
    return found


def report_settings(settings: Iterable[IneffectiveSetting]) -> Report:
    """Return the settings that do not protect as the file says."""
    return tuple(
        Finding(
            FindingKind.WITHOUT_EFFECT,
            setting.path,
            f"{setting.given} has no effect, {setting.reason}; allowed: {setting.allowed}",
            count=1,
        )
        for setting in settings
    )


def report_refused_clients(clients: Iterable[FieldError]) -> Report:
    """Return the clients that a client policy of the realm refuses."""
    return tuple(
        Finding(FindingKind.NEEDS_YOU, client.path, client.sentence, count=1) for client in clients
    )


def report_known_users(names: Collection[str]) -> Report:
    """Return the users who exist and differ from the file."""
    sentence = "exist and differ from the file, and stay as they are; --users update changes them"
    return found_names(FindingKind.NEEDS_YOU, "users", names, sentence)


def report_repetitions(names: Collection[str]) -> Report:
    """Return the members that come twice in one object of the file."""
    sentence = "an object has the member twice; its last value counts"
    return found_names(FindingKind.LOST, "repeated members", names, sentence)


@dataclass(frozen=True, slots=True)
class _Context:
    document: Mapping[str, Any]
    new_clients: frozenset[str]
    is_new: bool
    gateway: GatewayNames

    @property
    def clients(self) -> list[Mapping[str, Any]]:
        return list(_objects(self.document.get("clients")))

    @property
    def users(self) -> Iterator[Mapping[str, Any]]:
        return _objects(self.document.get("users"))

    @property
    def components(self) -> Mapping[str, Any]:
        found = self.document.get("components")
        return found if isinstance(found, Mapping) else {}


def _objects(items: Any) -> Iterator[Mapping[str, Any]]:
    for item in items if isinstance(items, list) else ():
        if isinstance(item, Mapping):
            yield item


def _texts(items: Any) -> list[str]:
    return [each for each in items if isinstance(each, str)] if isinstance(items, list) else []


def _name_of(item: Mapping[str, Any]) -> str:
    names = (item.get(member) for member in _NAME_MEMBERS)
    return next((name for name in names if isinstance(name, str)), "")


def _unread_members(context: _Context) -> Iterator[Finding]:
    for member in sorted(NOT_IMPORTED - {"components"}):
        value = context.document.get(member)
        if not value:
            continue
        items = list(_objects(value)) or [value]
        names = [_name_of(item) for item in items if isinstance(item, Mapping)]
        shown = tuple(name for name in names if name)
        sentence = "not imported by this version"
        yield Finding(FindingKind.LOST, member, sentence, shown, len(items))


def _parts(context: _Context) -> Iterator[Finding]:
    for part in parts_not_imported(context.document):
        yield Finding(FindingKind.LOST, part, "not imported by this version", count=1)


def _unread_components(context: _Context) -> Iterator[Finding]:
    for kind, items in context.components.items():
        if kind in {POLICY_TYPE, PROFILE_TYPE, KEY_PROVIDER_TYPE, _STORAGE}:
            continue
        names = [_name_of(item) for item in _objects(items)]
        sentence = "components of this type are not imported"
        yield from found_names(FindingKind.LOST, f"components.{kind}", names, sentence)


def _keys(context: _Context) -> Iterator[Finding]:
    keys = _objects(context.components.get(KEY_PROVIDER_TYPE))
    names = [_name_of(key) for key in keys if key.get("providerId") not in IMPORTERS]
    if context.is_new:
        sentence = "generated again: tokens that the former keys signed are refused"
        yield from found_names(FindingKind.LOST, "keys", names, sentence)


def _federations(context: _Context) -> Iterator[Finding]:
    found = [*_objects(context.components.get(_STORAGE))]
    found += _objects(context.document.get("userFederationProviders"))
    names = [_name_of(item) for item in found]
    if not names:
        return
    sentence = "user federation is not imported"
    yield from found_names(FindingKind.LOST, "user federations", names, sentence)
    without = [_name_of(user) for user in context.users if _cannot_sign_in(user)]
    sentence = f"users without credential cannot sign in: give them passwords ({len(names)} user"
    sentence += " federation" if len(names) == 1 else " federations"
    yield from found_names(
        FindingKind.NEEDS_YOU, "users", without, f"{sentence} {', '.join(names[:_SHOWN])})"
    )


def _cannot_sign_in(user: Mapping[str, Any]) -> bool:
    return not user.get("credentials") and user.get("serviceAccountClientId") is None


def _user_members(context: _Context) -> Iterator[Finding]:
    linked = [_name_of(user) for user in context.users if user.get("federatedIdentities")]
    sentence = "links to identity providers are not imported"
    yield from found_names(FindingKind.LOST, "users.federatedIdentities", linked, sentence)
    clients = {_name_of_client(client) for client in context.clients}
    unknown = [
        _name_of(user)
        for user in context.users
        for consent in _objects(user.get("clientConsents"))
        if context.is_new and _name_of_client(consent) not in clients
    ]
    sentence = "consents to clients that the file does not have are not imported"
    yield from found_names(FindingKind.LOST, "users.clientConsents", unknown, sentence)
    masked = [_name_of(user) for user in context.users if _has_masked_credential(user)]
    sentence = "credentials are masked in the file: the users need new ones"
    yield from found_names(FindingKind.NEEDS_YOU, "users.credentials", masked, sentence)


def _renamed_accounts(context: _Context) -> Iterator[Finding]:
    renamed = [
        name
        for user in context.users
        if isinstance(client := user.get("serviceAccountClientId"), str)
        and (name := _name_of(user)).lower() != f"{SERVICE_ACCOUNT_PREFIX}{client}".lower()
    ]
    sentence = f"service accounts are named {SERVICE_ACCOUNT_PREFIX} and the id of their client"
    yield from found_names(FindingKind.WITHOUT_EFFECT, "users.username", renamed, sentence)


def _has_masked_credential(user: Mapping[str, Any]) -> bool:
    return any(
        MASK in (credential.get("secretData"), credential.get("value"))
        for credential in _objects(user.get("credentials"))
    )


def _masked_secrets(context: _Context) -> Iterator[Finding]:
    server = context.document.get("smtpServer")
    if context.is_new and isinstance(server, Mapping):
        masked = [name for name in SECRETS if server.get(name) == MASK]
        sentence = "the secret is masked in the file: set it, or no mail is sent"
        yield from found_names(FindingKind.NEEDS_YOU, "smtpServer", masked, sentence)
    names = [
        _name_of_client(client)
        for client in context.clients
        if client.get("secret") == MASK and _name_of_client(client) in context.new_clients
    ]
    sentence = "secrets are masked in the file: new ones were generated, give them to the clients"
    yield from found_names(FindingKind.NEEDS_YOU, "clients.secret", names, sentence)


def _clients_without_subject(context: _Context) -> Iterator[Finding]:
    """Find clients whose access tokens have no `sub`.

    A file without client scopes gets the built-in ones, `basic` among them, so that the migration
    to version 25 adds `basic` to no client.
    Keycloak: realm import, migration of files before 25
    """
    if context.document.get("clientScopes") is not None:
        return
    names = [
        _name_of_client(client)
        for client in context.clients
        if _name_of_client(client) in context.new_clients and _has_no_subject(client)
    ]
    sentence = (
        "the file has no clientScopes, and no mapper adds `sub` to access tokens of these clients, "
        "as in Keycloak from 25 on: add the client scope `basic`"
    )
    member = "clients.defaultClientScopes"
    yield from found_names(FindingKind.NEEDS_YOU, member, names, sentence)


def _has_no_subject(client: Mapping[str, Any]) -> bool:
    lists = [client.get(f"{kind}ClientScopes") for kind in ("default", "optional")]
    if lists == [None, None] or client.get("bearerOnly") is True:
        return False
    mappers = [each.get("protocolMapper") for each in _objects(client.get("protocolMappers"))]
    return (
        client.get("protocol", "openid-connect") == "openid-connect"
        and "basic" not in _texts(lists[0])
        and "oidc-sub-mapper" not in mappers
    )


def _name_of_client(client: Mapping[str, Any]) -> str:
    return str(client.get("clientId", ""))


def _clients_without_effect(context: _Context) -> Iterator[Finding]:
    by_protocol: defaultdict[str, list[str]] = defaultdict(list)
    authorized, scripted = [], []
    for client in context.clients:
        protocol = client.get("protocol")
        if isinstance(protocol, str) and protocol != "openid-connect":
            by_protocol[protocol].append(_name_of_client(client))
        if client.get("authorizationServicesEnabled") is True:
            authorized.append(_name_of_client(client))
        scripted += _inert_mappers(client, _name_of_client(client))
    for scope in _objects(context.document.get("clientScopes")):
        # Every export has this scope, whether organizations are on or not.
        if _name_of(scope) != "organization":
            scripted += _inert_mappers(scope, _name_of(scope))
    kind = FindingKind.WITHOUT_EFFECT
    for protocol, names in sorted(by_protocol.items()):
        yield from found_names(kind, f"clients of {protocol}", names, "they cannot sign users in")
    sentence = (
        "authorizationSettings are not imported, and no permission is evaluated; the service "
        f"account has the role {PROTECTION}"
    )
    yield from found_names(FindingKind.LOST, "clients.authorizationSettings", authorized, sentence)
    sentence = "no mapper of this type acts"
    yield from found_names(kind, "protocolMappers", scripted, sentence)


def _inert_mappers(holder: Mapping[str, Any], name: str) -> list[str]:
    if holder.get("protocol", "openid-connect") != "openid-connect":
        return []
    return [
        f"{name}/{_name_of(mapper)}"
        for mapper in _objects(holder.get("protocolMappers"))
        if _is_inert(str(mapper.get("protocolMapper")))
    ]


def _is_inert(mapper_type: str) -> bool:
    return mapper_type not in MAPPER_DESCRIPTIONS or mapper_type.startswith(("saml-", "docker-"))


def _names_of_gateway(context: _Context) -> Iterator[Finding]:
    kind, document = FindingKind.WITHOUT_EFFECT, context.document
    themes, listeners = context.gateway.themes, context.gateway.listeners
    if themes is not None:
        known = theme_names(themes)
        for member, theme in _THEMES.items():
            name = document.get(member)
            if isinstance(name, str) and name and name not in known.get(theme, ()):
                yield Finding(kind, member, "the gateway has no such theme", (name,), 1)
    if listeners:
        named = _texts(document.get("eventsListeners"))
        unknown = [name for name in named if name not in listeners]
        yield from found_names(kind, "eventsListeners", unknown, "the gateway has no such listener")


def _switches(context: _Context) -> Iterator[Finding]:
    names = [name for name in STORED_SWITCHES if context.document.get(name) is True]
    sentence = "what it switches on does not exist in this version"
    yield from found_names(FindingKind.WITHOUT_EFFECT, "realm", names, sentence)


def _unknown_members(context: _Context) -> Iterator[Finding]:
    lists = (
        ("", [context.document], REALM_TABLE),
        ("clients.", context.clients, CLIENT_FIELDS),
        ("users.", context.users, USER_TABLE),
    )
    for prefix, items, table in lists:
        counts = Counter(
            name
            for item in items
            for name in item
            if name not in table.names and item[name] is not None
        )
        for name, count in islice(counts.items(), _SHOWN * 2):
            hint = suggestion(name, table.names)
            member = f"{prefix}{describe_name(name)}"
            sentence = f"an unknown member, kept as it is{hint}"
            yield Finding(FindingKind.WITHOUT_EFFECT, member, sentence, count=count)


def _vault_references(context: _Context) -> Iterator[Finding]:
    server = context.document.get("smtpServer")
    holders = [("smtpServer", server)] if isinstance(server, Mapping) else []
    holders += [(f"clients.{_name_of_client(each)}", each) for each in context.clients]
    names = [
        name
        for name, holder in holders
        for value in (holder.get("secret"), holder.get("password"))
        if isinstance(value, str) and value.startswith("${vault.")
    ]
    sentence = "the gateway reads no vault: set the secret itself"
    yield from found_names(FindingKind.NEEDS_YOU, "references to a vault", names, sentence)


_CHECKS: Final[tuple[Callable[[_Context], Iterator[Finding]], ...]] = (
    _unread_members,
    _parts,
    _unread_components,
    _user_members,
    _renamed_accounts,
    _clients_without_effect,
    _clients_without_subject,
    _names_of_gateway,
    _switches,
    _unknown_members,
    _federations,
    _keys,
    _masked_secrets,
    _vault_references,
)
