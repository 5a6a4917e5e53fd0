"""`realmgate guard`: the sites that forward authentication protects, and why it decides as it does.

Exit codes: 0 done, or the request is allowed; 1 the request is refused, or there is no such site;
2 usage or bad input; 3 a store is unreachable.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

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
from gateway.cli.file_input import read_whole
from gateway.cli.guard.explanation import explain
from gateway.cli.output import counted, show_rows

if TYPE_CHECKING:
    from gateway.domain.forward_auth import Site, UnreadableSite

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
        echo_document([_document(owner, site) for owner, site in found])
        return
    show_rows(_row(owner, site) for owner, site in found)


@guard.command(short_help="Show a site with its rules.")
@_site
@_realm
def show(name: str, realm: str | None) -> None:
    """Show SITE with its rules, as JSON."""
    found = administer(lambda operator: _sites(operator, realm))
    named = [_document(owner, site) for owner, site in found if site.name == name]
    if not named:
        raise click.ClickException(f"there is no site {name}")
    if len(named) > 1:
        raise click.UsageError(f"{len(named)} sites have the name {name}: give --realm.")
    echo_document(named[0])


@guard.command("set", short_help="Create or replace a site of a realm.")
@click.argument("file", metavar="FILE", type=click.Path(dir_okay=False, allow_dash=True))
@on_realm
async def set_(operator: RealmOperator, file: str) -> None:
    """Create or replace the site of a realm that FILE describes: JSON, or TOML by its ending.

    FILE is - for JSON from standard input.
    """
    from gateway.representations.forward_auth import parse_site

    document, acting = _parsed(file), operator.acting
    site = parse_site(document, realm=acting.realm.name)
    sites = operator.sites
    known = {each["name"] for each in await sites.list(acting.realm)}
    if site.name in known:
        await sites.replace(acting, site.name, document)
    else:
        await sites.create(acting, document)
    click.echo(f"site {site.name}: {'replaced' if site.name in known else 'created'}")


@guard.command(short_help="Remove a site of a realm.")
@_site
@on_realm
@yes_option
async def remove(operator: RealmOperator, name: str, *, yes: bool) -> None:
    """Remove SITE of a realm: requests for its hosts are refused then."""
    from gateway.admin.access import NotFound

    realm = operator.acting.realm.name
    confirm_removal(f"the site {name} of {realm}", yes=yes)
    try:
        await operator.sites.remove(operator.acting, name)
    except NotFound as error:
        raise click.ClickException(f"there is no site {name} in {realm}") from error
    click.echo(f"site {name}: removed")


@guard.command(short_help="Check a rules file.")
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
def check(file: Path) -> None:
    """Check a rules file and print every error with its place. Needs no gateway."""
    from gateway.representations.forward_auth import LARGEST_FILE, parse_rules_file

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
            readable = await stores.sites.list(acting.realm.id)
            unreadable = await stores.sites.list_unreadable(acting.realm.id)
        return [
            *((realm, site) for site in readable),
            *((realm, site) for site in unreadable),
        ]
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


def _document(owner: str | None, site: "Site | UnreadableSite") -> dict[str, Any]:
    from gateway.domain.forward_auth import Site
    from gateway.representations.forward_auth import render_file_site, render_site

    if owner is None and isinstance(site, Site):
        return {"source": _FILE, **render_file_site(site)}
    return {"source": "realm", "realm": owner, **render_site(site)}


def _parsed(file: str) -> Any:
    from gateway.representations.forward_auth import LARGEST_FILE, parse_toml
    from gateway.representations.json_input import parse_json

    try:
        with click.open_file(file, "rb") as opened:
            content = read_whole(opened, LARGEST_FILE, "FILE")
    except OSError as error:
        reason = f"{file}: {error.strerror or error}"
        raise click.BadParameter(reason, param_hint="FILE") from error
    parse = parse_toml if file.endswith(".toml") else parse_json
    return parse(content, "standard input" if file == "-" else file)
