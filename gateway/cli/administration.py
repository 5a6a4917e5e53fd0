"""Shared by the commands of administration: the use cases, run as the local operator."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import click

from gateway.cli.installation import installed_settings
from gateway.domain.resources import ValueT

if TYPE_CHECKING:
    from gateway.admin.access import Acting
    from gateway.admin.clients import ClientUseCases
    from gateway.admin.delivery_queues import OutgoingDeliveries
    from gateway.admin.device_listing import DeviceListing
    from gateway.admin.events import EventAdministration
    from gateway.admin.expiry import ExpiryListing
    from gateway.admin.groups import GroupAdministration
    from gateway.admin.key_rotation import RealmKeys
    from gateway.admin.realms import RealmUseCases
    from gateway.admin.resource_kinds import AnySite
    from gateway.admin.resources import ResourceAdministration, ResourceKind
    from gateway.admin.roles import RoleAdministration
    from gateway.admin.sessions import SessionAdministration
    from gateway.admin.users import UserUseCases
    from gateway.bootstrap.services import Services
    from gateway.domain.certificates import Authority
    from gateway.domain.clients import Client
    from gateway.domain.errors import InvalidInput
    from gateway.domain.users import User

Command = TypeVar("Command", bound=Callable[..., Any])
Result = TypeVar("Result")

realm_option = click.option("--realm", required=True, metavar="NAME", help="Name of the realm.")
output_option = click.option(
    "--output",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Output format.",
)
yes_option = click.option("--yes", is_flag=True, help="Do not ask for confirmation.")


def page_options(what: str, most: int, default: int | str = 100) -> Callable[[Command], Command]:
    """Return a decorator that adds `--first` and `--max`, at most `most`, to a list of `what`.

    A text as default is shown, and the command gets None.
    """
    first = click.option(
        "--first",
        type=click.IntRange(0),
        default=0,
        show_default=True,
        help=f"Number of {what} to skip.",
    )
    maximum = click.option(
        "--max",
        "maximum",
        type=click.IntRange(1, most),
        default=default if isinstance(default, int) else None,
        show_default=default if isinstance(default, str) else True,
        help="Limit.",
    )
    return lambda command: first(maximum(command))


@dataclass(frozen=True, slots=True)
class LocalOperator:
    """The local operator, who runs the use cases of the admin API.

    A capability is imported when a command uses it, so that each command starts quickly.
    """

    services: "Services"

    def authorities(self, client: str | None) -> "ResourceAdministration[Authority]":
        """Return the use cases of authorities of realms, or of the client with that id."""
        from gateway.bootstrap.client_certificates import authority_administration

        return authority_administration(self.services, client)

    @property
    def clients(self) -> "ClientUseCases":
        from gateway.bootstrap.administration import client_use_cases

        return client_use_cases(self.services)

    @property
    def events(self) -> "EventAdministration":
        from gateway.bootstrap.accounts import event_administration

        return event_administration(self.services)

    @property
    def expiry(self) -> "ExpiryListing":
        from gateway.bootstrap.client_certificates import read_client_certificates
        from gateway.bootstrap.expiry import expiry_listing

        settings = installed_settings()
        return expiry_listing(settings, self.services, read_client_certificates(settings))

    @property
    def devices(self) -> "DeviceListing":
        from gateway.bootstrap.client_certificates import device_listing, read_client_certificates

        settings = installed_settings()
        return device_listing(self.services, read_client_certificates(settings))

    @property
    def groups(self) -> "GroupAdministration":
        from gateway.bootstrap.accounts import group_administration

        return group_administration(self.services)

    @property
    def keys(self) -> "RealmKeys":
        from gateway.bootstrap.administration import realm_keys

        return realm_keys(self.services)

    @property
    def deliveries(self) -> "OutgoingDeliveries":
        from gateway.bootstrap.services import outgoing_deliveries

        return outgoing_deliveries(self.services)

    @property
    def realms(self) -> "RealmUseCases":
        from gateway.bootstrap.administration import realm_use_cases

        return realm_use_cases(self.services)

    @property
    def roles(self) -> "RoleAdministration":
        from gateway.bootstrap.accounts import role_administration

        return role_administration(self.services)

    @property
    def sessions(self) -> "SessionAdministration":
        from gateway.bootstrap.accounts import session_administration

        return session_administration(self.services)

    @property
    def sites(self) -> "ResourceAdministration[AnySite]":
        from gateway.admin.resource_kinds import PROTECTED_SITES

        return self.resources(PROTECTED_SITES)

    @property
    def users(self) -> "UserUseCases":
        from gateway.bootstrap.accounts import user_use_cases

        return user_use_cases(self.services)

    def resources(self, kind: "ResourceKind[ValueT]") -> "ResourceAdministration[ValueT]":
        """Return the use cases of a kind of small resource."""
        from gateway.bootstrap.services import resource_administration

        return resource_administration(self.services, kind)

    async def on(self, realm_name: str, option: str | None = "--realm") -> "Acting":
        """Return the operator on a realm.

        Raises BadParameter for `option` where there is no such realm; RealmNotFound for None.
        """
        from gateway.admin.access import find_realm, operator
        from gateway.domain.errors import RealmNotFound
        from gateway.representations.refusals import suggestion

        async with self.services.database.read() as stores:
            try:
                return operator(await find_realm(stores, realm_name))
            except RealmNotFound as error:
                known = [realm.name for realm in await stores.realms.list_realms()]
                text = f"{error}{suggestion(realm_name, known)}"
        if option is None:
            raise RealmNotFound(text)
        raise click.BadParameter(text, param_hint=option)


@dataclass(frozen=True, slots=True)
class RealmOperator(LocalOperator):
    """The local operator on one realm."""

    acting: "Acting"

    async def user(self, name: str) -> "User":
        """Return the user with that name or id; raises InvalidInput with the nearest name."""
        from gateway.admin.access import find_user
        from gateway.domain.errors import InvalidInput
        from gateway.domain.users import UserQuery

        realm = self.acting.realm
        async with self.services.database.read() as stores:
            try:
                return await find_user(stores, realm, name)
            except InvalidInput as error:
                known = [
                    user.username
                    for part in _parts_of(name)
                    for user in await stores.users.search_users(
                        realm.id, UserQuery(search=part), 0, _MOST_NEAR
                    )
                ]
                raise _with_suggestion(error, name, known) from None

    async def client(self, client_id: str) -> "Client":
        """Return the client with that public name; raises NotFound with the nearest name."""
        from gateway.domain.refusals import NotFound
        from gateway.representations.refusals import suggestion

        realm = self.acting.realm
        async with self.services.database.read() as stores:
            found = await stores.clients.find_by_client_id(realm.id, client_id)
        if found is not None:
            return found
        known = [each.client_id for each in await self.clients.listing.clients(realm, "")]
        nearest = suggestion(client_id, known)
        raise NotFound(f"there is no client {client_id!r} in {realm.name}{nearest}")


_MOST_NEAR = 100
"""Users that are compared with an unknown name, of each search."""


def _parts_of(name: str) -> tuple[str, ...]:
    """Return the searches that find names like this one: by its beginning, and by its middle."""
    return (name[:2], f"*{name[1:4]}*") if len(name) > 1 else (name,)


def _with_suggestion(error: "InvalidInput", name: str, known: Collection[str]) -> "InvalidInput":
    from gateway.domain.errors import InvalidInput
    from gateway.representations.refusals import suggestion

    nearest = suggestion(name, known)
    return InvalidInput(
        tuple(replace(each, sentence=f"{each.sentence}{nearest}") for each in error.errors)
    )


def administer(work: Callable[[LocalOperator], Awaitable[Result]]) -> Result:
    """Return the result of the work on an installation."""
    return asyncio.run(_administer(work))


def administer_realm(realm_name: str, work: Callable[[RealmOperator], Awaitable[Result]]) -> Result:
    """Return the result of the work on the realm of the option `--realm`."""

    async def run(operator: LocalOperator) -> Result:
        acting = await operator.on(realm_name)
        return await work(RealmOperator(operator.services, acting))

    return administer(run)


async def _administer(work: Callable[[LocalOperator], Awaitable[Result]]) -> Result:
    from gateway.bootstrap.services import open_services

    async with open_services(installed_settings()) as services:
        return await work(LocalOperator(services))


def on_realm(command: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Add the option `--realm` to a command, which receives a RealmOperator first."""

    @realm_option
    @wraps(command)
    def run(realm: str, **options: Any) -> None:
        administer_realm(realm, lambda operator: command(operator, **options))

    return run


def set_option(
    *,
    only: Collection[str] = (),
    never: Collection[str] | Callable[[], Collection[str]] = (),
    required: bool = False,
) -> Callable[[Command], Command]:
    """Return the decorator for `--set`, whose values are passed as one document, `fields`.

    `only` and `never` are for use cases that ignore some fields, as Keycloak does.
    """

    def parse_fields(
        _: click.Context, __: click.Parameter, texts: tuple[str, ...]
    ) -> dict[str, Any]:
        if required and not texts:
            raise click.UsageError("Give at least one --set FIELD=VALUE.")
        return _document(texts, only, never() if callable(never) else never)

    return click.option(
        "--set",
        "fields",
        multiple=True,
        metavar="FIELD=VALUE",
        callback=parse_fields,
        help="Set a field of Keycloak's representation. VALUE is JSON, otherwise text. Repeatable.",
    )


def _document(
    assignments: tuple[str, ...], only: Collection[str], never: Collection[str]
) -> dict[str, Any]:
    document: dict[str, Any] = {}
    for assignment in assignments:
        name, equals, text = assignment.partition("=")
        if not equals or not name or name in document:
            problem = "twice" if name in document else "expected FIELD=VALUE"
            raise click.BadParameter(f"{assignment!r}: {problem}", param_hint="--set")
        if name in never or (only and name not in only):
            raise click.BadParameter(f"{name!r}: not set by this command", param_hint="--set")
        document[name] = _value(text)
    return document


def confirm_removal(what: str, *, yes: bool) -> None:
    """Ask for confirmation of a removal, unless `--yes` was given."""
    confirm_change(f"Delete {what}", yes=yes)


def confirm_change(sentence: str, *, yes: bool) -> None:
    """Ask for confirmation of a change that cannot be undone, unless `--yes` was given."""
    if not yes:
        click.confirm(f"{sentence}? This cannot be undone.", abort=True)


def echo_document(document: Mapping[str, Any] | Sequence[object]) -> None:
    """Print JSON."""
    click.echo(json.dumps(document, indent=2, ensure_ascii=False))


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
