"""`realmgate user`: the users of a realm.

The commands work directly on the stores: a shell on the host is sufficient, even if every account
is locked out. Passwords are prompted for without echo or read from a file, never arguments.
Exit codes: 0 done, 1 failed, 2 usage or bad input, 3 a store is unreachable.
"""

import json
from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from gateway.cli.administration import (
    RealmOperator,
    administer_realm,
    output_option,
    page_options,
    realm_option,
)
from gateway.cli.output import counted, role_names, show_rows, user_lines
from gateway.cli.user_import import import_

if TYPE_CHECKING:
    from gateway.admin.users import UserSummary
    from gateway.domain.users import User
    from gateway.representations.roles import RoleName

Result = TypeVar("Result")

_MOST = 1000


@click.group()
def user() -> None:
    """Create, change, unlock and import users."""


user.add_command(import_)

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
        password = _password_text(password_file)
        document["credentials"] = [{"type": "password", "value": password, "temporary": temporary}]

    async def work(operator: RealmOperator) -> "User":
        user_id = await operator.users.creation.create(operator.acting, document)
        return await operator.user(user_id)

    created = administer_realm(realm, work)
    if output == "json":
        from gateway.representations.users import write_user

        click.echo(json.dumps(write_user(created), indent=2))
        return
    click.echo(f"user {created.username}: created, id {created.id}")


@user.command(short_help="Show a user: roles, lock-out, required actions.")
@click.argument("name", metavar="USER")
@realm_option
@output_option
def show(name: str, realm: str, output: str) -> None:
    """Show USER, given by name or id: roles, lock-out, required actions, password expiration."""
    from gateway.representations.users import write_user

    shown = _summary(realm, name)
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
@realm_option
@click.option(
    "--search",
    help="Prefix of a user name, e-mail address, first or last name; * matches anything.",
)
@click.option("--locked", is_flag=True, help="List only locked users, with the time left.")
@page_options("users", _MOST)
@output_option
def list_(
    realm: str, search: str | None, first: int, maximum: int, output: str, *, locked: bool
) -> None:
    """List the users of a realm by name, one page at a time."""
    if locked:
        _list_lockouts(realm, output)
        return
    from gateway.domain.users import UserQuery
    from gateway.representations.users import write_user

    found = administer_realm(
        realm,
        lambda operator: operator.users.listing.users(
            operator.acting.realm, UserQuery(search=search), first, maximum
        ),
    )
    if output == "json":
        click.echo(json.dumps([write_user(item) for item in found], indent=2))
        return
    show_rows(
        (item.id, item.username, item.email or "", "" if item.enabled else "disabled")
        for item in found
    )


@user.command("set-password")
@click.argument("name", metavar="USER")
@realm_option
@_password_file
@_temporary
def set_password(name: str, realm: str, password_file: Any, *, temporary: bool) -> None:
    """Set the password of USER. Prompts without echo unless --password-file is given."""
    document = {"value": _password_text(password_file), "temporary": temporary}
    changed, _ = _on_user(
        realm,
        name,
        lambda operator, user: operator.users.credentials.reset_password(
            operator.acting, user.id, document
        ),
    )
    click.echo(f"user {changed.username}: the password is set")


@user.command()
@click.argument("name", metavar="USER")
@realm_option
@click.option("--add", multiple=True, metavar="[CLIENT/]ROLE", help="Grant this role. Repeatable.")
@click.option(
    "--remove", multiple=True, metavar="[CLIENT/]ROLE", help="Remove this role. Repeatable."
)
@output_option
def roles(
    name: str, realm: str, add: tuple[str, ...], remove: tuple[str, ...], output: str
) -> None:
    """List, grant and remove the roles of USER."""
    if add or remove:
        _change_roles(realm, name, _roles_named(add), _roles_named(remove))
    granted = role_names(_summary(realm, name))
    click.echo(json.dumps(granted, indent=2) if output == "json" else "\n".join(granted))


@user.command(short_help="Enable a user.")
@click.argument("name", metavar="USER")
@realm_option
def enable(name: str, realm: str) -> None:
    """Enable USER and end every lock-out."""
    changed, _ = _on_user(
        realm,
        name,
        lambda operator, user: operator.users.activation.enable(operator.acting, user.id),
    )
    click.echo(f"user {changed.username}: enabled")


@user.command(short_help="Disable a user.")
@click.argument("name", metavar="USER")
@realm_option
def disable(name: str, realm: str) -> None:
    """Disable USER. Its tokens are rejected from now on."""
    changed, _ = _on_user(
        realm,
        name,
        lambda operator, user: operator.users.activation.disable(operator.acting, user.id),
    )
    click.echo(f"user {changed.username}: disabled")


@user.command(short_help="Unlock a user.")
@click.argument("name", metavar="USER")
@realm_option
def unlock(name: str, realm: str) -> None:
    """End a temporary or permanent lock-out of USER and clear its failed sign-ins."""
    _, ended = _on_user(
        realm,
        name,
        lambda operator, user: operator.users.activation.unlock(operator.acting, user.id),
    )
    click.echo(f"user {name}: {'unlocked' if ended else 'was not locked out'}")


@user.command(short_help="End all sessions of a user.")
@click.argument("name", metavar="USER")
@realm_option
def logout(name: str, realm: str) -> None:
    """End every session of USER. Tokens that were issued before are rejected."""
    from gateway.cli.session import end_sessions_of_user

    count = end_sessions_of_user(realm, name)
    click.echo(f"user {name}: {counted(count, 'session')} ended")


def _list_lockouts(realm: str, output: str) -> None:
    found = administer_realm(
        realm, lambda operator: operator.users.lockouts.list(operator.acting.realm)
    )
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


def _change_roles(realm: str, name: str, add: "list[RoleName]", remove: "list[RoleName]") -> None:
    from gateway.domain.ports.storage.role_catalogue import Holding, RoleHolder

    _on_user(
        realm,
        name,
        lambda operator, user: operator.roles.mapping.change_by_name(
            operator.acting, RoleHolder(Holding.USER, user.id), add=add, remove=remove
        ),
    )


def _roles_named(names: Iterable[str]) -> "list[RoleName]":
    """Return the roles that `role` and `client/role` name."""
    from gateway.representations.roles import RoleName

    parts = (name.rpartition("/") for name in names)
    return [RoleName(role, client if slash else None) for client, slash, role in parts]


def _summary(realm: str, name: str) -> "UserSummary":
    from gateway.admin.users import summarize_user

    async def ask(operator: RealmOperator, user: "User") -> "UserSummary":
        database, lockouts = operator.services.database, operator.users.lockouts
        return await summarize_user(database, lockouts, operator.acting.realm, user)

    return _on_user(realm, name, ask)[1]


def _on_user(
    realm: str,
    name: str,
    work: "Callable[[RealmOperator, User], Awaitable[Result]]",
) -> "tuple[User, Result]":
    """Return the user as it was before the work, and the result of the work."""

    async def run(operator: RealmOperator) -> "tuple[User, Result]":
        user = await operator.user(name)
        return user, await work(operator, user)

    return administer_realm(realm, run)


def _password_text(file: Any) -> str:
    return _asked_password() if file is None else _first_line(file)


def _asked_password() -> str:
    import warnings
    from getpass import GetPassWarning

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", GetPassWarning)  # the echo cannot be switched off
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
