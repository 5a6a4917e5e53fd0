"""What is missing around a protected site: realms, client, redirect URIs, roles, groups, scopes.

A site may be written before what it names, so storing it refuses nothing of this: `guard set` and
the doctor report it.
"""

import json
import shlex
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final
from urllib.parse import urlsplit

from gateway.domain.clients import Client, RedirectUris, origins_of
from gateway.domain.forward_auth import (
    AcceptedCredential,
    Rule,
    Site,
    callback_of,
    unusable_setting,
    usable_setting,
)
from gateway.domain.hosts import WILDCARD, is_below, without_port
from gateway.domain.ports.storage import Stores
from gateway.domain.realm import Realm
from gateway.domain.roles import parse_client_role

_HTTPS: Final = 443
_SHOWN: Final = 5
"""Names that a sentence lists."""


class SiteCheck(StrEnum):
    """The checks of sites, by the names that the report of the doctor has."""

    REALMS = "site-realms"
    CLIENT = "site-client"
    REDIRECT_URIS = "site-redirect-uris"
    REQUIREMENTS = "site-requirements"
    PORTS = "site-ports"


@dataclass(frozen=True, slots=True)
class SiteProblem:
    """A missing object; `stops` is true if requests fail because of it."""

    check: SiteCheck
    problem: str
    remedy: str
    stops: bool = True


async def find_site_problems(
    stores: Stores, site: Site, public_url: str
) -> tuple[SiteProblem, ...]:
    """Return the problems of a site; `public_url` is the gateway's. Raises StoreUnavailable."""
    realms: list[Realm] = []
    problems: list[SiteProblem] = []
    for name in site.realms:
        realm = await stores.realms.find_by_name(name)
        if realm is not None:
            realms.append(realm)
            if realm.enabled:
                continue
        problems.append(_of_realm(site, name, exists=realm is not None))
    if realms and realms[0].name == site.realms[0] and _takes_sessions(site):
        problems += await _of_client(stores, site, realms[0], public_url)
    if realms:
        problems += [
            problem
            for rule in site.rules
            if not rule.anonymous
            for problem in await _of_requirements(stores, site, rule, realms)
        ]
    return tuple(problems)


def port_problem(site: Site, public_url: str) -> SiteProblem | None:
    """Return that the hosts lack the port of the gateway's URL, which nginx may share with them.

    It is a guess: the doctor compares the ports of nginx.
    """
    port = urlsplit(public_url).port
    if port in {None, _HTTPS} or any(without_port(host) != host for host in site.hosts):
        return None
    host = site.hosts[0]
    return SiteProblem(
        SiteCheck.PORTS,
        f"The hosts of {_named(site)} have no port, which means 443, and the gateway is reached at"
        f" port {port}: requests for {host}:{port} are refused.",
        f"{host}:{port} in the hosts of the site, if its users open https://{host}:{port}",
        stops=False,
    )


def missing_redirect_uris(
    site: Site, redirects: RedirectUris, public_url: str, *, listable: bool = False
) -> tuple[str, ...]:
    """Return the redirect URIs of the site that a client lacks, in the order of its hosts.

    The hosts of a wildcard cannot be listed: a redirect URI of one of them is enough. `listable`
    leaves wildcards out.
    """
    return tuple(
        callback_of(host)
        for host in site.hosts
        if not (listable and host.startswith(WILDCARD))
        and not _has_callback(host, redirects, public_url)
    )


def _has_callback(host: str, redirects: RedirectUris, public_url: str) -> bool:
    if host.startswith(WILDCARD):
        return _has_one_below(host, redirects)
    return redirects.match(callback_of(host), public_url)


def _has_one_below(wildcard: str, redirects: RedirectUris) -> bool:
    domain = wildcard.removeprefix(WILDCARD)
    hosts = filter(None, map(_name_in, redirects.patterns))
    return any(host != domain and is_below(host, domain) for host in hosts)


def _name_in(uri: str) -> str:
    """Return the host name of a redirect URI without its port; empty for one without a host."""
    origins = origins_of((uri,))
    return without_port(origins[0].partition("://")[2].lower()) if origins else ""


def _of_realm(site: Site, name: str, *, exists: bool) -> SiteProblem:
    if exists:
        text, remedy = "is disabled", _command("realm", "update", name, "--set", "enabled=true")
    else:
        text = "does not exist"
        create = _command("realm", "create", name)
        remedy = f"{create}, or another name in realms of the site"
    return SiteProblem(SiteCheck.REALMS, f"The realm {name} of {_named(site)} {text}.", remedy)


def _command(*words: str) -> str:
    """Return a command line of this program; names in it are quoted for a shell."""
    return shlex.join(("realmgate", *words))


def _takes_sessions(site: Site) -> bool:
    """Tell whether a browser may pass some rule; sessions are those of the site's client."""
    return any(
        AcceptedCredential.SESSION in rule.accepts
        and not rule.anonymous
        and (not rule.requirements.clients or site.client in rule.requirements.clients)
        for rule in site.rules
    )


async def _of_client(stores: Stores, site: Site, realm: Realm, base: str) -> list[SiteProblem]:
    """Return the problems of the client that signs browsers in."""
    check, of_site = SiteCheck.CLIENT, _named(site)
    if site.client is None:
        return [
            SiteProblem(
                check,
                f"Rules of {of_site} accept sessions, and the site has no client: browsers cannot"
                " sign in.",
                f"{_command('guard', 'set', 'FILE', '--realm', realm.name, '--create-client')}, or"
                " accepts without session in its rules",
                stops=False,
            )
        ]
    client = await stores.clients.find_by_client_id(realm.id, site.client)
    on_realm = (site.client, "--realm", realm.name)
    if client is None:
        uris = _redirect_uris(callback_of(host) for host in site.hosts)
        return [
            SiteProblem(
                check,
                f"The client {site.client} of {of_site} does not exist in the realm {realm.name}:"
                " browsers cannot sign in.",
                _command("client", "create", *on_realm, "--set", uris),
            )
        ]
    if not client.enabled:
        text = f"The client {site.client} of {of_site} is disabled: browsers cannot sign in."
        remedy = _command("client", "update", *on_realm, "--set", "enabled=true")
        return [SiteProblem(check, text, remedy)]
    unusable = unusable_setting(client)
    if unusable is not None:
        text = f"The client {site.client} of {of_site} cannot sign browsers in: {unusable}."
        remedy = _command("client", "update", *on_realm, "--set", usable_setting(client))
        return [SiteProblem(check, text, remedy)]
    missing = missing_redirect_uris(site, client.redirects, base)
    return [_of_redirect_uris(site, realm, client, missing)] if missing else []


def _of_redirect_uris(
    site: Site, realm: Realm, client: Client, missing: Sequence[str]
) -> SiteProblem:
    registered = client.redirects.patterns
    on_realm = (client.client_id, "--realm", realm.name)
    uris = _redirect_uris((*registered, *missing))
    wanted = set(map(_name_in, missing))
    near = [each for each in registered if _name_in(each) in wanted]
    if near:
        why = f"it has {_listed(near)}, with another port or path"
    else:
        why = f"it has {_listed(registered)}" if registered else "it has none"
    return SiteProblem(
        SiteCheck.REDIRECT_URIS,
        f"The client {client.client_id} of {_named(site)} lacks the redirect URI"
        f" {_listed(missing)} ({why}): a sign-in there ends with an error.",
        _command("client", "update", *on_realm, "--set", uris),
    )


def _redirect_uris(uris: Iterable[str]) -> str:
    """Return the field for `--set`; a host stands for those of a wildcard."""
    return f"redirectUris={json.dumps([uri.replace('//*.', '//HOST.') for uri in uris])}"


_Exists = Callable[[Stores, Realm, str], Awaitable[bool]]


async def _has_realm_role(stores: Stores, realm: Realm, name: str) -> bool:
    return await stores.roles.find_realm_role(realm.id, name) is not None


async def _has_client_role(stores: Stores, realm: Realm, name: str) -> bool:
    client_id, role = parse_client_role(name)
    client = await stores.clients.find_by_client_id(realm.id, client_id)
    if client is None:
        return False
    return await stores.role_catalogue.find_by_name(realm.id, client.id, role) is not None


async def _has_group(stores: Stores, realm: Realm, path: str) -> bool:
    return await stores.group_catalogue.find_by_path(realm.id, path) is not None


async def _has_client(stores: Stores, realm: Realm, client_id: str) -> bool:
    return await stores.clients.find_by_client_id(realm.id, client_id) is not None


async def _has_scope(stores: Stores, realm: Realm, name: str) -> bool:
    if name == _OPENID:
        return True
    return any(each.name == name for each in await stores.client_scopes.list_values(realm.id))


_OPENID: Final = "openid"
"""A scope without a client scope of its own."""


def _required(rule: Rule) -> Iterator[tuple[str, tuple[str, ...], _Exists, str]]:
    """Yield what a rule requires: kind, names, whether one exists, and the command for it."""
    required = rule.requirements
    yield "realm role", required.realm_roles, _has_realm_role, "role"
    yield "client role", required.client_roles, _has_client_role, "role"
    yield "group", required.groups, _has_group, "group"
    yield "client", required.clients, _has_client, "client"
    yield "client scope", required.scopes, _has_scope, ""


async def _of_requirements(
    stores: Stores, site: Site, rule: Rule, realms: Sequence[Realm]
) -> list[SiteProblem]:
    """Return the names that exist in no realm of the site; one of each kind is needed."""
    found = []
    for kind, names, exists, command in _required(rule):
        missing = [name for name in names if not await _in_any(exists, stores, realms, name)]
        if not missing:
            continue
        stops = len(missing) == len(names)
        effect = "no caller passes the rule" if stops else "the rule never passes for it"
        several = len(missing) > 1
        text = (
            f"The rule {rule.name} of {_named(site)} requires the {kind}{'s' if several else ''}"
            f" {_listed(missing)}, which {'do' if several else 'does'} not exist in the realm"
            f" {' or '.join(realm.name for realm in realms)}: {effect}."
        )
        make = f"a {kind} of that name"
        if command:
            make = _command(command, "create", missing[0], "--realm", realms[0].name)
        remedy = f"{make}, or another name in the rule"
        found.append(SiteProblem(SiteCheck.REQUIREMENTS, text, remedy, stops=stops))
    return found


async def _in_any(exists: _Exists, stores: Stores, realms: Sequence[Realm], name: str) -> bool:
    for realm in realms:
        if await exists(stores, realm, name):
            return True
    return False


def _named(site: Site) -> str:
    return f"the site {site.name}"


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{', '.join(names[:_SHOWN])}{more}"
