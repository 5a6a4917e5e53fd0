"""`realmgate guard`: protected sites, and the decisions about requests to them.

`explain` evaluates a request as a gateway would, with the same settings and stores, and asserts
nothing to a service. Exit codes: 0 done, or the request is allowed; 1 the request is refused, or
there is no such site; 2 usage or bad input; 3 a store is unreachable.
"""

import re
import ssl
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from gateway.cli.administration import (
    LocalOperator,
    RealmOperator,
    administer,
    confirm_removal,
    echo_document,
    on_realm,
    output_option,
    yes_option,
)
from gateway.cli.installation import installed_settings
from gateway.cli.output import counted, show_rows, visible
from gateway.cli.secret_input import read_secret, read_whole

if TYPE_CHECKING:
    from gateway.bootstrap.forward_auth import Explanations
    from gateway.domain.certificates import CertificateEvidence
    from gateway.domain.forward_auth import (
        AssertedIdentity,
        Decision,
        OriginalRequest,
        Site,
        UnreadableSite,
    )
    from gateway.domain.ports.certificates import CertificateParser


_URL: Final = re.compile(r"(?P<scheme>https?)://(?P<host>[^/?#]+)(?P<uri>.*)", re.DOTALL)
_PEM: Final = re.compile("-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)
_LARGEST: Final = 1024 * 1024
_DECISIONS: Final = {
    "Allowed": ("allowed", 200),
    "Unauthenticated": ("unauthenticated", 401),
    "ForbiddenRequest": ("forbidden", 403),
}
"""Class of a decision -> its name in documents, and the status of the answer."""
_LOCAL: Final = "127.0.0.1"
_ATTEMPTS: Final = 5
"""Reads of a client that others change at the same time."""


@click.command(short_help="Explain the decision about a request.")
@click.argument("method")
@click.argument("url")
@click.option(
    "--token",
    metavar="FILE",
    type=click.File(encoding="utf-8"),
    help="File with the bearer token, - for standard input.",
)
@click.option(
    "--cert",
    metavar="FILE",
    type=click.File(encoding="ascii"),
    help="PEM file with the caller's certificate, as if the proxy had verified it.",
)
@click.option(
    "--server",
    metavar="NAME:PORT",
    help="The proxy's server that receives the request, as the proxy reports it; by default the"
    " host chooses the site.",
)
@click.option("--user", metavar="NAME", help="Evaluate the rules with the roles this user has now.")
@click.option("--realm", metavar="NAME", help="Realm of the user, if not the site's first one.")
@output_option
@click.pass_context
def explain(
    context: click.Context,
    /,
    method: str,
    url: str,
    *,
    token: Any,
    cert: Any,
    server: str | None,
    user: str | None,
    realm: str | None,
    output: str,
) -> None:
    """Explain which site and rule decide about the request METHOD URL, and why."""
    if user is not None and (token is not None or cert is not None):
        raise click.UsageError("Give either --user, or --token and --cert.")
    if realm is not None and user is None:
        raise click.UsageError("--realm is the realm of --user.")
    original = _original(method, url, server)
    bearer = None if token is None else read_secret(token, "Token", "--token").strip()
    pem = None if cert is None else _certificates(cert)

    async def work(operator: LocalOperator) -> dict[str, Any]:
        from gateway.bootstrap.forward_auth import explanations

        services = operator.services
        made = explanations(installed_settings(), services)
        if user is not None:
            decision = await made.users.explain(original, user, realm)
        else:
            decision = await _decide(made, original, bearer, pem)
        of_file = () if services.rules_file is None else services.rules_file.sites
        return _decision_document(decision, of_file)

    document = administer(work)
    if output == "json":
        echo_document(document)
    else:
        show_rows(_lines(document))
    context.exit(0 if document["decision"] == "allowed" else 1)


def _original(method: str, url: str, server: str | None) -> "OriginalRequest":
    from gateway.domain.forward_auth import OriginalRequest

    match = _URL.fullmatch(url)
    if match is None:
        raise click.BadParameter("an http or https URL is expected", param_hint="URL")
    uri = match["uri"]
    # A client sends at least a slash; anything else stays as it was given.
    uri = uri if uri.startswith("/") else f"/{uri}"
    return OriginalRequest(method, match["scheme"], match["host"], uri, server)


def _certificates(file: Any) -> list[bytes]:
    try:
        text = read_whole(file, _LARGEST, "--cert")
        found = [ssl.PEM_cert_to_DER_cert(each) for each in _PEM.findall(text)]
    except ValueError:  # no ASCII, or no base64
        found = []
    if not found:
        raise click.BadParameter("it contains no PEM certificate", param_hint="--cert")
    return found


async def _decide(
    made: "Explanations",
    original: "OriginalRequest",
    bearer: str | None,
    certificates: list[bytes] | None,
) -> "Decision":
    from gateway.forward_auth.callers import Evidence

    evidence = Evidence(
        remote_address=_LOCAL,
        secure=original.scheme == "https",
        authorization=None if bearer is None else f"Bearer {bearer}",
        certificate=_presented(made.certificates, certificates) if certificates else None,
    )
    return await made.decisions.decide(original, evidence)


def _presented(parser: "CertificateParser", certificates: list[bytes]) -> "CertificateEvidence":
    from gateway.domain.certificates import CertificateEvidence, ProxyVerdict
    from gateway.domain.ports.certificates import MalformedCertificate

    leaf, *chain = certificates
    try:
        parsed = parser.parse_certificate(leaf)
    except MalformedCertificate as error:
        raise click.BadParameter(str(error), param_hint="--cert") from error
    return CertificateEvidence(parsed, ProxyVerdict.VERIFIED, "command line", chain=tuple(chain))


def _decision_document(decision: "Decision", of_file: tuple["Site", ...]) -> dict[str, Any]:
    from gateway.domain.forward_auth import Allowed

    kind, status = _DECISIONS[type(decision).__name__]
    site = decision.site
    refusal = None if isinstance(decision, Allowed) else decision
    identity = getattr(decision, "identity", None)
    return {
        "decision": kind,
        "status": status,
        "site": None if site is None else site.name,
        "source": None if site is None else ("rules file" if site in of_file else "realm"),
        "realms": [] if site is None else list(site.realms),
        "rule": None if decision.rule is None else decision.rule.name,
        "reason": None if refusal is None else refusal.reason.value,
        "explanation": decision.explanation,
        "caller": None if identity is None else _caller(identity),
    }


def _caller(identity: "AssertedIdentity") -> dict[str, Any]:
    return {
        "realm": identity.realm,
        "credential": identity.kind.value,
        "subject": identity.subject,
        "username": identity.username,
        "client": identity.client_id,
        "realmRoles": sorted(identity.realm_roles),
        "clientRoles": sorted(identity.client_roles),
        "groups": list(identity.groups),
        "scopes": sorted(identity.scopes),
        "audiences": sorted(identity.audiences),
        "thumbprint": identity.thumbprint,
    }


def _lines(document: dict[str, Any]) -> list[tuple[str, str]]:
    found = [("decision", f"{document['decision']} ({document['status']})")]
    if document["site"] is not None:
        found.append(("site", f"{document['site']} ({document['source']})"))
    found += [(name, document[name]) for name in ("rule", "reason") if document[name] is not None]
    found.append(("why", document["explanation"]))
    caller = document["caller"]
    if caller is not None:
        name = caller["username"] or caller["subject"]
        found.append(("caller", f"{name} of {caller['realm']}, by {caller['credential']}"))
        found += [(label, ", ".join(caller[member])) for label, member in _RIGHTS if caller[member]]
    return found


_RIGHTS: Final = (
    ("realm roles", "realmRoles"),
    ("client roles", "clientRoles"),
    ("groups", "groups"),
    ("scopes", "scopes"),
    ("audiences", "audiences"),
)


_FILE = "rules file"
_site = click.argument("name", metavar="SITE")
_realm = click.option(
    "--realm", metavar="NAME", help="Sites of this realm; without it, of all and of the rules file."
)


@click.group()
def guard() -> None:
    """List, change, check and explain the sites that forward authentication protects."""


guard.add_command(explain)


@guard.command("list")
@_realm
@output_option
def list_(realm: str | None, output: str) -> None:
    """List the protected sites with their hosts."""
    found = administer(lambda operator: _sites(operator, realm))
    if output == "json":
        echo_document([_site_document(owner, site) for owner, site in found])
        return
    show_rows(_row(owner, site) for owner, site in found)


@guard.command(short_help="Show a site with its rules.")
@_site
@_realm
def show(name: str, realm: str | None) -> None:
    """Show SITE with its rules, as JSON."""
    found = administer(lambda operator: _sites(operator, realm))
    named = [_site_document(owner, site) for owner, site in found if site.name == name]
    if not named:
        raise click.ClickException(f"there is no site {name}")
    if len(named) > 1:
        raise click.UsageError(f"{len(named)} sites have the name {name}: give --realm.")
    echo_document(named[0])


@guard.command("set", short_help="Create or replace a site of a realm.")
@click.argument("file", metavar="FILE", type=click.Path(dir_okay=False, allow_dash=True))
@click.option(
    "--create-client",
    is_flag=True,
    help="Create the client that signs browsers in, named as the site where FILE names none; an"
    " existing one gets the redirect URIs that it lacks.",
)
@on_realm
async def set_(operator: RealmOperator, file: str, *, create_client: bool) -> None:
    """Create or replace the site of a realm that FILE describes: JSON, or TOML by its ending.

    FILE is - for JSON from standard input. Missing realms, clients, roles and groups are reported
    as warnings on standard error.
    """
    from gateway.representations.sites import parse_site

    document, acting = _parsed(file), operator.acting
    if create_client and isinstance(document, dict) and not document.get("client"):
        document = {**document, "client": document.get("name")}
    site = parse_site(document, realm=acting.realm.name)
    sites = operator.sites
    known = {each["name"] for each in await sites.list_values(acting.realm)}
    if site.name in known:
        await sites.replace_value(acting, site.name, document)
    else:
        await sites.create_value(acting, document)
    click.echo(f"site {site.name}: {'replaced' if site.name in known else 'created'}")
    if create_client:
        await _create_site_client(operator, site)
    await _warn(operator, site)


async def _create_site_client(operator: RealmOperator, site: "Site") -> None:
    """Create the client of a site, or add the redirect URIs that it lacks.

    Raises PreconditionFailed for a client that others change again and again.
    """
    from gateway.domain.refusals import PreconditionFailed

    for _ in range(_ATTEMPTS - 1):
        with suppress(PreconditionFailed):
            return await _add_redirect_uris(operator, site)
    return await _add_redirect_uris(operator, site)


async def _add_redirect_uris(operator: RealmOperator, site: "Site") -> None:
    """Add them to the client as it is stored; raises PreconditionFailed if it changes meanwhile."""
    from gateway.admin.changes import entity_tag
    from gateway.admin.clients import load_client_document
    from gateway.admin.site_findings import missing_redirect_uris
    from gateway.representations.sites import render_site_client

    client_id = site.client or site.name
    acting, administration = operator.acting, operator.clients.administration
    async with operator.services.database.read() as stores:
        known = await stores.clients.find_by_client_id(acting.realm.id, client_id)
        loaded = None if known is None else await load_client_document(acting, stores, known)
    if known is None:
        await administration.create_client(acting, render_site_client(site, client_id))
        click.echo(f"client {client_id}: created")
        return
    public_url = installed_settings().public_url
    missing = missing_redirect_uris(site, known.redirects, public_url, listable=True)
    if missing:
        uris = [*known.redirects.patterns, *missing]
        await administration.update_client(
            replace(acting, if_match=entity_tag(loaded)),
            known.id,
            {"redirectUris": uris},
            approves_reach=known.reach.everything,
        )
        click.echo(f"client {client_id}: added {', '.join(missing)}")


async def _warn(operator: RealmOperator, site: "Site") -> None:
    """Print what the doctor would report about the site."""
    from gateway.admin.site_findings import find_site_problems, port_problem

    public_url = installed_settings().public_url
    async with operator.services.database.read() as stores:
        found = [*await find_site_problems(stores, site, public_url)]
    guess = port_problem(site, public_url)
    for each in found if guess is None else [*found, guess]:
        click.echo(f"Warning: {visible(each.problem)}", err=True)
        click.echo(f"  Remedy: {visible(each.remedy)}", err=True)


@guard.command("remove", short_help="Remove a site of a realm.")
@_site
@on_realm
@yes_option
async def remove_site(operator: RealmOperator, name: str, *, yes: bool) -> None:
    """Remove SITE of a realm: requests for its hosts are refused then."""
    from gateway.domain.refusals import NotFound

    realm = operator.acting.realm.name
    confirm_removal(f"the site {name} of {realm}", yes=yes)
    try:
        await operator.sites.remove_value(operator.acting, name)
    except NotFound as error:
        raise click.ClickException(f"there is no site {name} in {realm}") from error
    click.echo(f"site {name}: removed")


@guard.command(short_help="Check a rules file.")
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
def check(file: Path) -> None:
    """Check a rules file and print every error with its place. Needs no gateway."""
    from gateway.representations.sites import LARGEST_FILE, parse_rules_file

    try:
        with file.open("rb") as opened:
            content = read_whole(opened, LARGEST_FILE, "FILE")
    except OSError as error:
        raise click.BadParameter(error.strerror or str(error), param_hint="FILE") from error
    sites = parse_rules_file(content, str(file))
    rules = sum(len(site.rules) for site in sites)
    click.echo(f"{counted(len(sites), 'site')} with {counted(rules, 'rule')}: valid")


def _row(owner: str | None, site: "Site | UnreadableSite") -> tuple[str, ...]:
    from gateway.domain.forward_auth import UnreadableSite

    source = _FILE if owner is None else f"realm {owner}"
    if isinstance(site, UnreadableSite):
        return site.name, source, "cannot be read", ""
    return site.name, source, counted(len(site.rules), "rule"), ", ".join(site.hosts)


async def _sites(
    operator: LocalOperator, realm: str | None
) -> list[tuple[str | None, "Site | UnreadableSite"]]:
    """Return the sites with the realm that owns each; None for the rules file."""
    if realm is not None:
        acting = await operator.on(realm)
        async with operator.services.database.read() as stores:
            readable = await stores.sites.list_sites(acting.realm.id)
            unreadable = await stores.sites.list_unreadable(acting.realm.id)
        return [*((realm, site) for site in readable), *((realm, site) for site in unreadable)]
    file = operator.services.rules_file
    of_file: tuple[Site, ...] = ()
    if file is not None:
        file.load()
        of_file = file.sites
    async with operator.services.database.read() as stores:
        every = await stores.sites.all()
        unreadable = await stores.sites.list_unreadable()
    of_realms = [(site.realms[0], site) for sites in every.values() for site in sites]
    return [
        *((None, site) for site in of_file),
        *of_realms,
        *((site.realm, site) for site in unreadable),
    ]


def _site_document(owner: str | None, site: "Site | UnreadableSite") -> dict[str, Any]:
    from gateway.domain.forward_auth import Site
    from gateway.representations.sites import render_file_site, render_site

    if owner is None and isinstance(site, Site):
        return {"source": _FILE, **render_file_site(site)}
    return {"source": "realm", "realm": owner, **render_site(site)}


def _parsed(file: str) -> Any:
    from gateway.representations.json_input import parse_json
    from gateway.representations.sites import LARGEST_FILE, parse_toml

    try:
        with click.open_file(file, "rb") as opened:
            content = read_whole(opened, LARGEST_FILE, "FILE")
    except OSError as error:
        reason = f"{file}: {error.strerror or error}"
        raise click.BadParameter(reason, param_hint="FILE") from error
    parse = parse_toml if file.endswith(".toml") else parse_json
    return parse(content, "standard input" if file == "-" else file)
