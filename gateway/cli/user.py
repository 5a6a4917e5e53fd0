"""`realmgate user`: the users of a realm.

The commands work directly on the stores: a shell on the host is sufficient, even if every account
is locked out. Passwords are prompted for without echo or read from a file, never arguments.
Exit codes: 0 done, 1 failed, 2 usage or bad input, 3 a store is unreachable.
"""

# Everything heavy is imported by the command that runs, so that help and usage errors stay quick.
# ruff: noqa: PLC0415

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from gateway.cli.administration import Administration, administer
from gateway.cli.columns import counted, show_rows
from gateway.cli.installation import installed_settings
from gateway.cli.user_import import import_

if TYPE_CHECKING:
    from gateway.admin.users import UserAdministration
    from gateway.domain.users import User
    from gateway.representations.users import NewPassword

Result = TypeVar("Result")
Command = TypeVar("Command", bound=Callable[..., object])

_MOST = 1000


@click.group()
def user() -> None:
    """Create, change, unlock and import users."""


user.add_command(import_)

_realm = click.option("--realm", required=True, metavar="NAME", help="Name of the realm.")
_output = click.option(
    "--output",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Output format.",
)
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
@_realm
@click.option("--email", help="The e-mail address.")
@click.option("--email-verified", is_flag=True, help="Mark the e-mail address as verified.")
@click.option("--first-name", help="The given name.")
@click.option("--last-name", help="The family name.")
@click.option("--disabled", is_flag=True, help="Create the user disabled.")
@click.option("--set-password", is_flag=True, help="Prompt for a password.")
@_password_file
@_temporary
@_output
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
        password = _password_text(password_file)
        document["credentials"] = [{"type": "password", "value": password, "temporary": temporary}]
    created = administer(lambda administration: _create(administration, realm, document))
    _tell(output, created, f"user {created.username}: created, id {created.id}")


async def _create(administration: Administration, realm: str, document: dict[str, Any]) -> "User":
    from gateway.admin.access import find_user
    from gateway.admin.users import NewPasswords, UserCreation

    services = administration.services
    acting = await administration.acting(realm)
    creation = UserCreation(
        services.database,
        administration.changes,
        NewPasswords(services.clock, services.blacklists),
        services.passwords,
    )
    user_id = await creation.create(acting, document)
    async with services.database.read() as stores:
        return await find_user(stores, acting.realm, user_id)


@user.command(short_help="Show a user: roles, lock-out, required actions.")
@click.argument("name", metavar="USER")
@_realm
@_output
def show(name: str, realm: str, output: str) -> None:
    """Show USER, given by name or id: roles, lock-out, required actions, password expiration."""
    from gateway.cli.user_lines import role_names, user_lines
    from gateway.representations.users import write_user

    shown = _run(lambda users: users.show(realm, name))
    if output == "text":
        show_rows((label, value) for label, value in user_lines(shown) if value)
        return
    document = write_user(shown.user) | {
        "roles": role_names(shown),
        "effectiveRoles": [
            *shown.effective.realm,
            *(f"{client}/{role}" for client, roles in shown.effective.clients for role in roles),
        ],
        "lockout": dict(shown.lockout.listed()) if shown.lockout else None,
    }
    click.echo(json.dumps(document, indent=2))


@user.command("list")
@_realm
@click.option(
    "--search",
    help="Prefix of a user name, e-mail address, first or last name; * matches anything.",
)
@click.option("--locked", is_flag=True, help="List only locked users, with the time left.")
@click.option(
    "--first", type=click.IntRange(0), default=0, show_default=True, help="Number of users to skip."
)
@click.option(
    "--max", "maximum", type=click.IntRange(1, _MOST), default=100, show_default=True, help="Limit."
)
@_output
def list_(
    realm: str, search: str | None, first: int, maximum: int, output: str, *, locked: bool
) -> None:
    """List the users of a realm by name, one page at a time."""
    if locked:
        _list_lockouts(realm, output)
        return
    from gateway.domain.users import UserQuery
    from gateway.representations.users import write_user

    found = _run(lambda users: users.search(realm, UserQuery(search=search), first, maximum))
    if output == "json":
        click.echo(json.dumps([write_user(item) for item in found], indent=2))
        return
    show_rows(
        (item.id, item.username, item.email or "", "" if item.enabled else "disabled")
        for item in found
    )


@user.command("set-password")
@click.argument("name", metavar="USER")
@_realm
@_password_file
@_temporary
def set_password(name: str, realm: str, password_file: Any, *, temporary: bool) -> None:
    """Set the password of USER. Prompts without echo unless --password-file is given."""
    password = _password(password_file, temporary=temporary)
    changed = _run(lambda users: users.set_password(realm, name, password))
    click.echo(f"user {changed.username}: the password is set")


@user.command()
@click.argument("name", metavar="USER")
@_realm
@click.option("--add", multiple=True, metavar="[CLIENT/]ROLE", help="Grant this role. Repeatable.")
@click.option(
    "--remove", multiple=True, metavar="[CLIENT/]ROLE", help="Remove this role. Repeatable."
)
@_output
def roles(
    name: str, realm: str, add: tuple[str, ...], remove: tuple[str, ...], output: str
) -> None:
    """List, grant and remove the roles of USER."""
    from gateway.admin.users import RoleChange, read_role_arguments
    from gateway.cli.user_lines import role_names

    if add or remove:
        change = RoleChange(read_role_arguments(add), read_role_arguments(remove))
        _run(lambda users: users.change_roles(realm, name, change))
    shown = _run(lambda users: users.show(realm, name))
    granted = role_names(shown)
    click.echo(json.dumps(granted, indent=2) if output == "json" else "\n".join(granted))


@user.command(short_help="Enable a user.")
@click.argument("name", metavar="USER")
@_realm
def enable(name: str, realm: str) -> None:
    """Enable USER and end every lock-out."""
    changed = _run(lambda users: users.set_enabled(realm, name, enabled=True))
    click.echo(f"user {changed.username}: enabled")


@user.command(short_help="Disable a user.")
@click.argument("name", metavar="USER")
@_realm
def disable(name: str, realm: str) -> None:
    """Disable USER. Its tokens are rejected from now on."""
    changed = _run(lambda users: users.set_enabled(realm, name, enabled=False))
    click.echo(f"user {changed.username}: disabled")


@user.command(short_help="Unlock a user.")
@click.argument("name", metavar="USER")
@_realm
def unlock(name: str, realm: str) -> None:
    """End a temporary or permanent lock-out of USER and clear its failed sign-ins."""
    ended = _run(lambda users: users.unlock(realm, name))
    click.echo(f"user {name}: {'unlocked' if ended else 'was not locked out'}")


@user.command(short_help="End every session of a user.")
@click.argument("name", metavar="USER")
@_realm
def logout(name: str, realm: str) -> None:
    """End every session of USER. Tokens that were issued before are rejected."""
    from gateway.cli.session import run_sessions

    count = run_sessions(lambda sessions: sessions.log_out(realm, name))
    click.echo(f"user {name}: {counted(count, 'session')} ended")


def _list_lockouts(realm: str, output: str) -> None:
    found = _run(lambda users: users.locked_out(realm))
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


def _password(file: Any, *, temporary: bool) -> "NewPassword":
    from gateway.admin.users import new_password

    return new_password(_password_text(file), temporary=temporary)


def _password_text(file: Any) -> str:
    return _asked_password() if file is None else _first_line(file)


def _asked_password() -> str:
    import warnings
    from getpass import GetPassWarning

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", GetPassWarning)  # nowhere to switch the echo off
            text: str = click.prompt("Password", hide_input=True, confirmation_prompt="Once more")
    except GetPassWarning as error:
        raise click.UsageError(
            "No terminal to ask for a password: use --password-file FILE, or - for standard input."
        ) from error
    return text


def _first_line(file: Any) -> str:
    try:
        text: str = file.read(_MOST * 10)
    except (OSError, UnicodeDecodeError) as error:
        raise click.BadParameter(
            "it cannot be read as UTF-8", param_hint="--password-file"
        ) from error
    return text.removesuffix("\n").removesuffix("\r")


def _tell(output: str, user: "User", line: str) -> None:
    from gateway.representations.users import write_user

    click.echo(json.dumps(write_user(user), indent=2) if output == "json" else line)


def _run(act: "Callable[[UserAdministration], Awaitable[Result]]") -> Result:
    from gateway.admin.users import Lockouts, UserAdministration
    from gateway.bootstrap import open_services
    from gateway.domain.errors import RealmNotFound

    async def run() -> Result:
        async with open_services(installed_settings()) as services:
            users = UserAdministration(
                database=services.database,
                passwords=services.passwords,
                lockouts=Lockouts(services.database, services.login_failures, services.clock),
                clock=services.clock,
                invalidation=services.invalidation,
                blacklists=services.blacklists,
            )
            return await act(users)

    try:
        return asyncio.run(run())
    except RealmNotFound as error:
        raise click.BadParameter(str(error), param_hint="--realm") from error
