"""`realmgate user`: the users of a realm.

The commands work directly on the stores: a shell on the host is sufficient, even if every account
is locked out. Passwords are prompted for without echo or read from a file, never arguments.
Exit codes: 0 done, 1 failed, 2 usage or bad input, 3 a store is unreachable.
"""

import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gateway.cli.administration import (
    RealmOperator,
    administer_realm,
    on_realm,
    output_option,
    page_options,
    realm_option,
)
from gateway.cli.object_commands import add_object_commands
from gateway.cli.output import (
    counted,
    role_names,
    show_rows,
    sign_in_document,
    user_lines,
)
from gateway.cli.secret_input import read_secret
from gateway.cli.user_updates import COMMANDS

if TYPE_CHECKING:
    from gateway.admin.users import UserSummary
    from gateway.domain.errors import InvalidInput
    from gateway.domain.users import User
    from gateway.representations.roles import RoleName

_MOST = 1000


@click.group()
def user() -> None:
    """Create, change, unlock and import users."""


_user = click.argument("name", metavar="USER")
_password_file = click.option(
    "--password-file",
    type=click.File("r", encoding="utf-8"),
    help="Read the password from this file, - for standard input, without its last line end.",
)
_temporary = click.option(
    "--temporary", is_flag=True, help="Require a new password at the next sign-in."
)


@user.command(short_help="Create a user.")
@click.argument("username")
@realm_option
@click.option("--email", help="The e-mail address.")
@click.option("--email-verified", is_flag=True, help="Mark the e-mail address as verified.")
@click.option("--first-name", help="The given name.")
@click.option("--last-name", help="The family name.")
@click.option("--disabled", is_flag=True, help="Create the user disabled.")
@click.option("--set-password", is_flag=True, help="Prompt for a password.")
@_password_file
@_temporary
@output_option
def create(
    username: str,
    realm: str,
    output: str,
    password_file: Any,
    *,
    set_password: bool,
    temporary: bool,
    disabled: bool,
    **fields: Any,
) -> None:
    """Create the user USERNAME with the default roles of the realm.

    The user profile of the realm applies, as it does to the admin API.
    """
    names = {"email": "email", "first_name": "firstName", "last_name": "lastName"}
    document = {names[field]: fields[field] for field in names if fields[field] is not None}
    document |= {"username": username, "enabled": not disabled}
    document |= {"emailVerified": fields["email_verified"]}
    if set_password or password_file is not None:
        password = read_secret(password_file, "Password", "--password-file")
        document["credentials"] = [{"type": "password", "value": password, "temporary": temporary}]

    async def work(operator: RealmOperator) -> "User":
        user_id = await operator.users.administration.create_user(operator.acting, document)
        return await operator.user(user_id)

    created = administer_realm(realm, work)
    if output == "json":
        from gateway.representations.users import render_user

        click.echo(json.dumps(render_user(created), indent=2))
        return
    click.echo(f"user {created.username}: created, id {created.id}")


@user.command(short_help="Show a user, and why it cannot sign in.")
@_user
@on_realm
@output_option
async def show(operator: RealmOperator, name: str, output: str) -> None:
    """Show USER, given by name or id: groups, roles, credentials, required actions, lock-out.

    The line sign-in says whether a sign-in is possible, and the lines below it why not. "Pages ask"
    is for what a browser sign-in asks first; the password grant is refused until it is done.
    """
    from gateway.representations.users import listed_credential, render_user

    shown = await _summary(operator, name)
    if output == "text":
        now = operator.services.clock.now()
        show_rows((label, value) for label, value in user_lines(shown, now) if value)
        return
    document = render_user(shown.user) | {
        "roles": role_names(shown),
        "effectiveRoles": [
            *shown.effective.realm,
            *(f"{client}/{role}" for client, roles in shown.effective.clients for role in roles),
        ],
        "groups": list(shown.groups),
        "credentials": [listed_credential(each) for each in shown.credentials],
        "lockout": dict(shown.lockout.listed()) if shown.lockout else None,
        "signIn": sign_in_document(shown),
    }
    click.echo(json.dumps(document, indent=2))


@user.command("list")
@on_realm
@click.option(
    "--search",
    help="Prefix of a user name, e-mail address, first or last name; * matches anything.",
)
@click.option("--locked", is_flag=True, help="List only locked users, with the time left.")
@page_options("users", _MOST)
@output_option
async def list_(
    operator: RealmOperator,
    search: str | None,
    first: int,
    maximum: int,
    output: str,
    *,
    locked: bool,
) -> None:
    """List the users of a realm by name, one page at a time."""
    if locked:
        await _list_lockouts(operator, output)
        return
    from gateway.domain.users import UserQuery
    from gateway.representations.users import render_user

    realm, query = operator.acting.realm, UserQuery(search=search)
    found = await operator.users.listing.users(realm, query, first, maximum)
    if output == "json":
        click.echo(json.dumps([render_user(item) for item in found], indent=2))
        return
    show_rows(
        (item.id, item.username, item.email or "", "" if item.enabled else "disabled")
        for item in found
    )


@user.command("set-password")
@_user
@realm_option
@_password_file
@_temporary
def set_password(name: str, realm: str, password_file: Any, *, temporary: bool) -> None:
    """Set the password of USER. Prompts without echo unless --password-file is given."""
    document = {
        "value": read_secret(password_file, "Password", "--password-file"),
        "temporary": temporary,
    }

    async def work(operator: RealmOperator) -> "User":
        user = await operator.user(name)
        await operator.users.credentials.reset_password(operator.acting, user.id, document)
        return user

    click.echo(f"user {administer_realm(realm, work).username}: the password is set")


@user.command()
@_user
@on_realm
@click.option("--add", multiple=True, metavar="[CLIENT/]ROLE", help="Grant this role. Repeatable.")
@click.option(
    "--remove", multiple=True, metavar="[CLIENT/]ROLE", help="Remove this role. Repeatable."
)
@output_option
async def roles(
    operator: RealmOperator, name: str, add: tuple[str, ...], remove: tuple[str, ...], output: str
) -> None:
    """List, grant and remove the roles of USER."""
    if add or remove:
        from gateway.domain.ports.users import HolderKind, RoleHolder

        holder = RoleHolder(HolderKind.USER, (await operator.user(name)).id)
        changes = {"add": _roles_named(add), "remove": _roles_named(remove)}
        await operator.roles.change_mapped_roles(operator.acting, holder, **changes)
    granted = role_names(await _summary(operator, name))
    click.echo(json.dumps(granted, indent=2) if output == "json" else "\n".join(granted))


@user.command(short_help="Enable a user.")
@_user
@on_realm
async def enable(operator: RealmOperator, name: str) -> None:
    """Enable USER and end every lock-out."""
    found = await operator.user(name)
    await operator.users.administration.enable_user(operator.acting, found.id)
    click.echo(f"user {found.username}: enabled")


@user.command(short_help="Disable a user.")
@_user
@on_realm
async def disable(operator: RealmOperator, name: str) -> None:
    """Disable USER. Its tokens are rejected from now on."""
    found = await operator.user(name)
    await operator.users.administration.disable_user(operator.acting, found.id)
    click.echo(f"user {found.username}: disabled")


@user.command(short_help="Unlock a user.")
@_user
@on_realm
async def unlock(operator: RealmOperator, name: str) -> None:
    """End a temporary or permanent lock-out of USER and clear its failed sign-ins."""
    found = await operator.user(name)
    ended = await operator.users.administration.unlock_user(operator.acting, found.id)
    click.echo(f"user {name}: {'unlocked' if ended else 'was not locked out'}")


@user.command(short_help="End all sessions of a user.")
@_user
@on_realm
async def logout(operator: RealmOperator, name: str) -> None:
    """End every session of USER. Tokens that were issued before are rejected."""
    found = await operator.user(name)
    count = await operator.sessions.end_sessions_of_user(operator.acting, found.id)
    click.echo(f"user {name}: {counted(count, 'session')} ended")


async def _list_lockouts(operator: RealmOperator, output: str) -> None:
    found = await operator.users.lockouts.list_lockouts(operator.acting.realm)
    if output == "json":
        click.echo(json.dumps([dict(lockout.listed()) for lockout in found], indent=2))
        return
    show_rows(
        (
            lockout.user_id,
            lockout.username or "",
            "until it is unlocked"
            if lockout.seconds_left is None
            else f"{lockout.seconds_left} s left",
        )
        for lockout in found
    )


def _roles_named(names: Iterable[str]) -> "list[RoleName]":
    """Return the roles that `role` and `client/role` name."""
    from gateway.representations.roles import RoleName

    parts = (name.rpartition("/") for name in names)
    return [RoleName(role, client if slash else None) for client, slash, role in parts]


async def _summary(operator: RealmOperator, name: str) -> "UserSummary":
    from gateway.admin.users import summarize_user
    from gateway.domain.errors import RealmNotFound

    user, services = await operator.user(name), operator.services
    realm = operator.acting.realm.name
    entry = await services.directory.realm(realm)
    if entry is None:  # removed meanwhile
        raise RealmNotFound(f"there is no realm {realm!r}")
    lockouts, now = operator.users.lockouts, services.clock.now()
    return await summarize_user(services.database, lockouts, entry, user, now)


@user.command("import", short_help="Import users from a file, any number of them.")
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False, readable=True))
@on_realm
@click.option("--continue", "go_on", is_flag=True, help="Continue after users that are refused.")
@output_option
async def import_(operator: RealmOperator, file: Path, output: str, *, go_on: bool) -> None:
    """Import the users of FILE: JSON lines, a list, or a realm's export.

    Users are stored a few hundred at a time. Existing users are not changed, so an import that was
    stopped can be repeated. Hashed passwords are stored as they are.
    """
    from gateway.bootstrap.administration import user_import
    from gateway.representations.json_input import stream_objects

    realm = operator.acting.realm.name
    with (
        file.open(encoding="utf-8-sig", newline="") as text,
        click.progressbar(
            length=max(1, os.fstat(text.fileno()).st_size),
            label="Importing",
            file=sys.stderr,
            hidden=not sys.stderr.isatty(),
        ) as bar,
    ):
        done = await user_import(operator.services).run(
            realm,
            stream_objects(text, "users", str(file)),
            refuse=_print_refusal if go_on else None,
            progress=lambda state: bar.update(max(0, state.read - bar.pos)),
        )
    if output == "json":
        counts = {"added": done.added, "known": done.known, "refused": done.refused}
        click.echo(json.dumps({"realm": realm, **counts}))
    else:
        click.echo(f"realm {realm}: {counted(done.added, 'user')} added, {done.known} known before")
    if done.refused:
        raise click.ClickException(f"{counted(done.refused, 'user')} refused")


def _print_refusal(refusal: "InvalidInput") -> None:
    for error in refusal.errors:
        click.echo(f"refused: {error}", err=True)


for _command in COMMANDS:
    user.add_command(_command)
add_object_commands(user, "user")
