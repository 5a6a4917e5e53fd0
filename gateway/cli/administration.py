"""What the commands of administration share: the use cases, run as the local operator."""

# Everything heavy is imported by the command that runs, so that help and usage errors stay quick.
# ruff: noqa: PLC0415

import asyncio
import json
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from gateway.cli.installation import installed_settings

if TYPE_CHECKING:
    from gateway.admin.access import Acting, Changes
    from gateway.bootstrap.services import Services
    from gateway.domain.clients import Client
    from gateway.domain.users import User

Result = TypeVar("Result")

realm_option = click.option("--realm", required=True, metavar="NAME", help="Name of the realm.")
output_option = click.option(
    "--output",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Output format.",
)
set_option = click.option(
    "--set",
    "assignments",
    multiple=True,
    metavar="FIELD=VALUE",
    help="Set a field of Keycloak's representation. VALUE is JSON, otherwise text. Repeatable.",
)
yes_option = click.option("--yes", is_flag=True, help="Do not ask for confirmation.")


@dataclass(frozen=True, slots=True)
class Administration:
    """The stores, and how they are changed."""

    services: "Services"
    changes: "Changes"

    async def acting(self, realm_name: str, option: str | None = "--realm") -> "Acting":
        """Return the operator on a realm.

        Raises BadParameter for `option` where there is no such realm; RealmNotFound for None.
        """
        from gateway.admin.access import find_realm, operator
        from gateway.domain.errors import RealmNotFound

        try:
            async with self.services.database.read() as stores:
                return operator(await find_realm(stores, realm_name))
        except RealmNotFound as error:
            if option is None:
                raise
            raise click.BadParameter(str(error), param_hint=option) from error

    async def user(self, acting: "Acting", name: str) -> "User":
        """Return the user with that name or id; raises InvalidInput."""
        from gateway.admin.access import find_user

        async with self.services.database.read() as stores:
            return await find_user(stores, acting.realm, name)

    async def client(self, acting: "Acting", client_id: str) -> "Client":
        """Return the client with that public name; raises Missing."""
        from gateway.admin.access import Missing

        async with self.services.database.read() as stores:
            found = await stores.clients.find_by_client_id(acting.realm.id, client_id)
        if found is None:
            raise Missing(f"there is no client {client_id!r} in {acting.realm.name}")
        return found


def administer(work: Callable[[Administration], Awaitable[Result]]) -> Result:
    """Return what the work on an installation gives."""
    return asyncio.run(_administer(work))


async def _administer(work: Callable[[Administration], Awaitable[Result]]) -> Result:
    from gateway.bootstrap.access import administrative_changes
    from gateway.bootstrap.services import open_services

    async with open_services(installed_settings()) as services:
        return await work(Administration(services, administrative_changes(services)))


def assigned(
    assignments: tuple[str, ...], *, only: Collection[str] = (), never: Collection[str] = ()
) -> dict[str, Any]:
    """Return the document that `--set` options describe; raises BadParameter.

    `only` and `never` are for use cases that pass some fields over in silence, as Keycloak does.
    """
    document: dict[str, Any] = {}
    for assignment in assignments:
        name, equals, text = assignment.partition("=")
        if not equals or not name or name in document:
            problem = "twice" if name in document else "no FIELD=VALUE"
            raise click.BadParameter(f"{assignment!r}: {problem}", param_hint="--set")
        if name in never or (only and name not in only):
            raise click.BadParameter(f"{name!r}: not set by this command", param_hint="--set")
        document[name] = _value(text)
    return document


def confirm_removal(what: str, *, yes: bool) -> None:
    """Ask whether something is to be removed, unless it is said already."""
    if not yes:
        click.confirm(f"Delete {what}? This cannot be undone.", abort=True)


def echo_document(document: Mapping[str, Any] | list[dict[str, Any]]) -> None:
    """Print JSON."""
    click.echo(json.dumps(document, indent=2, ensure_ascii=False))


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
