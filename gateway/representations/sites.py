"""Protected sites: JSON, or the TOML of the rules file, to `Site` and back.

A site of a realm names no realms: its own is the only one. Names are camelCase or snake_case. The
rules file is TOML with a list `sites`, each with a list `rules`. Dates, infinities and NaN, which
JSON does not have, are refused. Spec: TOML 1.0.0 (https://toml.io/en/v1.0.0)
"""

import math
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, Final

from gateway.domain.errors import FieldError, InvalidInput
from gateway.domain.forward_auth import (
    AcceptedCredential,
    BearerAudience,
    Site,
    UnreadableSite,
    callback_of,
)
from gateway.domain.hosts import WILDCARD, is_below
from gateway.representations.field_table import FieldTable, Setting
from gateway.representations.json_input import check_json
from gateway.representations.refusals import (
    attempt,
    describe,
    join,
    located,
    parse_each,
    raise_all,
    refused_items,
    repeated_names,
    unknown_fields,
)
from gateway.representations.shapes import Flag, UrlName, VisibleName
from gateway.representations.site_rules import (
    COOKIE_DOMAIN,
    NAME,
    PLAIN_NAME,
    BearerAudienceOrNone,
    Host,
    Members,
    RuleList,
    collect_fields,
    missing_fields,
    unreachable_rules,
)

MOST_SITES: Final = 100
"""Sites of one realm."""
_NEW: Final = Site(name="", hosts=(), realms=(), rules=())
_REALMS: Final = Setting("realms", "realms", Members(UrlName()))
_OWN_FIELDS: Final = (
    Setting("name", "name", NAME),
    Setting("hosts", "hosts", Members(Host())),
    Setting("client", "client", PLAIN_NAME),
    Setting("audience", "audience", VisibleName()),
    Setting("bearerAudience", "bearer_audience", BearerAudienceOrNone(BearerAudience)),
    Setting("forwardAuthorization", "forward_authorization", Flag()),
    Setting("cookieDomain", "cookie_domain", COOKIE_DOMAIN),
    Setting("rules", "rules", RuleList()),
)
SITE_FIELDS: Final = FieldTable(_OWN_FIELDS)
_FILE_SITE_FIELDS: Final = FieldTable((*_OWN_FIELDS[:2], _REALMS, *_OWN_FIELDS[2:]))


def parse_site(document: Any, path: str = "", *, realm: str | None = None) -> Site:
    """Return the site, of the realm of that name, or of the rules file for None.

    Without `bearerAudience` its `bearer_audience` is None, see `with_bearer_audience`. Raises
    InvalidInput with every wrong field.
    """
    table = _FILE_SITE_FIELDS if realm is None else SITE_FIELDS
    errors: list[FieldError] = []
    given = collect_fields(table, document, path, "site", errors)
    required = ("name", "hosts", "realms") if realm is None else ("name", "hosts")
    errors.extend(missing_fields(given, required, path))
    updates = table.read_settings(given, errors)
    raise_all(errors)
    site = table.updated(_NEW, updates)
    if realm is not None:
        site = replace(site, realms=(realm,))
    raise_all(_contradictions(site, path))
    return site


def parse_realm_sites(value: Any, path: str, realm: str) -> tuple[Site, ...]:
    """Return the sites of a realm file; raises InvalidInput with every wrong field."""
    if not isinstance(value, list) or len(value) > MOST_SITES:
        raise refused_items(path, value, list, f"a list of at most {MOST_SITES} sites")
    sites = tuple(parse_each(value, lambda item, at: parse_site(item, at, realm=realm), path))
    raise_all(shared_names(sites, path))
    return sites


def shared_names(sites: Iterable[Site], path: str) -> Iterator[FieldError]:
    """Yield the names of sites and hosts that more than one site has."""
    listed = tuple(sites)
    yield from repeated_names((site.name for site in listed), path, "a name of its own a site")
    hosts = (host for site in listed for host in site.hosts)
    yield from repeated_names(hosts, path, "each host in one site")


def with_bearer_audience(site: Site, before: Site | UnreadableSite | None) -> Site:
    """Return the site that is to be stored, which may replace one.

    Where its document says nothing, a new site accepts tokens for its client alone, and a site
    that is replaced keeps its value.
    """
    if site.bearer_audience is not None:
        return site
    if isinstance(before, Site):
        return replace(site, bearer_audience=before.bearer_audience)
    return replace(site, bearer_audience=BearerAudience.SITE)


def render_site(site: Site | UnreadableSite) -> dict[str, Any]:
    """Return the JSON object of a site of a realm; with `unreadable` where it cannot be read.

    Read as a new site it has the same meaning: `bearerAudience` is left out where it is `site`,
    and is `any` where the stored site lacks it.
    """
    if isinstance(site, UnreadableSite):
        return {"name": site.name, "unreadable": site.reason}
    shown = None if site.bearer_audience is BearerAudience.SITE else BearerAudience.ANY
    return _render_members(replace(site, bearer_audience=shown))


def check_site(site: Site) -> Site:
    """Return a stored site of a realm as it is; raises InvalidInput where none may be like it."""
    return parse_site(_render_members(site), realm=site.realms[0])


def _render_members(site: Site) -> dict[str, Any]:
    return _without_default(SITE_FIELDS.answer(site, {}))


def render_file_site(site: Site) -> dict[str, Any]:
    """Return the JSON object of a site of the rules file."""
    return _without_default(_FILE_SITE_FIELDS.answer(site, {}))


def _without_default(document: dict[str, Any]) -> dict[str, Any]:
    if document["forwardAuthorization"]:
        del document["forwardAuthorization"]
    return document


def _contradictions(site: Site, path: str) -> Iterator[FieldError]:
    at = join(path, "rules")
    names = (rule.name for rule in site.rules)
    yield from repeated_names(names, at, "a name of its own a rule")
    yield from _unreachable(site, at)
    if site.client is None:
        yield from _without_sign_in(site, at)
        if site.bearer_audience is BearerAudience.SITE:
            yield from _without_token(site, at)
    if site.cookie_domain is not None:
        yield from _outside_domain(site, site.cookie_domain, join(path, "cookieDomain"))


def _unreachable(site: Site, at: str) -> Iterator[FieldError]:
    for place, earlier in unreachable_rules(site.rules):
        sentence = (
            f"no request reaches it, since {earlier.name} comes before it and matches all that it"
            " does: put it first"
        )
        yield FieldError(f"{at}[{place}]", "a rule", "a rule that decides", sentence=sentence)


def _without_sign_in(site: Site, at: str) -> Iterator[FieldError]:
    for place, rule in enumerate(site.rules):
        if rule.accepts == {AcceptedCredential.SESSION} and not rule.anonymous:
            sentence = "it accepts sessions alone, and a site without a client has none"
            yield FieldError(f"{at}[{place}].accepts", "session", "more", sentence=sentence)


def _without_token(site: Site, at: str) -> Iterator[FieldError]:
    for place, rule in enumerate(site.rules):
        named = rule.anonymous or rule.audiences or rule.requirements.clients
        if rule.accepts == {AcceptedCredential.BEARER} and not named:
            sentence = (
                "it accepts bearer tokens alone, and no token is for a site without a client: name"
                " audiences, or the clients of bound tokens"
            )
            yield FieldError(f"{at}[{place}].audiences", "nothing", "a list", sentence=sentence)


def _outside_domain(site: Site, domain: str, at: str) -> Iterator[FieldError]:
    for host in site.hosts:
        if not is_below(host, domain):
            yield FieldError(at, describe(domain), f"a domain that contains {host}")
    if site.client is None:
        sentence = "without a client the site has no sessions, so no cookie"
        yield FieldError(at, describe(domain), "nothing", sentence=sentence)


LARGEST_FILE: Final = 4 * 1024 * 1024
"""In bytes."""
_SITES: Final = "sites"
_MOST_SITES: Final = 10_000
_DEEPEST: Final = 8
"""Levels of nesting; a valid file has six."""


def parse_rules_file(content: bytes, source: str) -> tuple[Site, ...]:
    """Return the sites of the file; raises InvalidInput with every error, each with its place."""
    with located(source):
        errors: list[FieldError] = []
        document = _as_json(_parse_fields(content), "", errors)
        attempt(errors, None, check_json, document, "")
        errors.extend(unknown_fields("", document, "the file", (_SITES,)))
        sites = attempt(errors, (), _read_sites, document.get(_SITES, []))
        errors.extend(shared_names(sites, _SITES))
        raise_all(errors)
    return sites


def parse_toml(content: bytes, source: str) -> dict[str, Any]:
    """Return the document as JSON values; raises InvalidInput."""
    errors: list[FieldError] = []
    with located(source):
        document: dict[str, Any] = _as_json(_parse_fields(content), "", errors)
        raise_all(errors)
        check_json(document, "")
    return document


def _parse_fields(content: bytes) -> dict[str, Any]:
    if len(content) > LARGEST_FILE:
        raise _unreadable(f"the file is larger than {LARGEST_FILE} bytes")
    try:
        return tomllib.loads(content.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise _unreadable(f"not UTF-8 at byte {error.start}") from error
    except ValueError as error:  # a number of too many digits raises no TOMLDecodeError
        raise _unreadable(f"not TOML: {error}") from error
    except RecursionError as error:
        raise _unreadable("not TOML: it is nested too deeply") from error


def _unreadable(sentence: str) -> InvalidInput:
    return InvalidInput((FieldError("the file", "something else", "TOML", sentence=sentence),))


def _read_sites(value: Any) -> tuple[Site, ...]:
    if not isinstance(value, list) or len(value) > _MOST_SITES:
        raise refused_items(_SITES, value, list, f"a list of at most {_MOST_SITES} sites")
    return tuple(parse_each(value, parse_site, _SITES))


def _as_json(value: Any, path: str, errors: list[FieldError], depth: int = 0) -> Any:
    """Return the value with text in place of what JSON does not have, which is noted."""
    if isinstance(value, dict | list) and depth == _DEEPEST:
        # Dotted keys nest without brackets, deeper than functions may call each other.
        errors.append(FieldError(path, "deeper nesting", f"at most {_DEEPEST} levels of nesting"))
        return None
    if isinstance(value, dict):
        return {
            name: _as_json(member, join(path, name), errors, depth + 1)
            for name, member in value.items()
        }
    if isinstance(value, list):
        return [
            _as_json(item, f"{path}[{place}]", errors, depth + 1)
            for place, item in enumerate(value)
        ]
    if isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    errors.append(FieldError(path, str(value), "text, a whole number, true or false"))
    return str(value)


def render_site_client(site: Site, client_id: str) -> dict[str, Any]:
    """Return the representation of a new client that signs browsers in at the site.

    It is used by the gateway alone, so it has no other grant than the authorization code.
    """
    return {
        "clientId": client_id,
        "name": site.name,
        "protocol": "openid-connect",
        "standardFlowEnabled": True,
        "directAccessGrantsEnabled": False,
        "implicitFlowEnabled": False,
        "serviceAccountsEnabled": False,
        "publicClient": False,
        "redirectUris": [callback_of(host) for host in site.hosts if not host.startswith(WILDCARD)],
        "attributes": {"pkce.code.challenge.method": "S256"},
    }
