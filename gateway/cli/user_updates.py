"""The commands that change a user: fields, attributes, groups and required actions.

Each replaces only what it names. A change of fields is refused where another one came between the
read and the write.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import click

from gateway.cli.admin_objects import GROUP, REQUIRED_ACTION
from gateway.cli.admin_rows import AdminRows
from gateway.cli.administration import (
    RealmOperator,
    echo_document,
    on_realm,
    output_option,
    set_option,
)
from gateway.cli.object_fields import entries_of, parse_entry

_user = click.argument("name", metavar="USER")
_FIELDS = {"username": "username", "email": "email", "first_name": "firstName"} | {
    "last_name": "lastName",
    "email_verified": "emailVerified",
}


@click.command(short_help="Change fields and attributes of a user.")
@_user
@on_realm
@click.option("--username", help="The new user name.")
@click.option("--email", help="The e-mail address; empty to remove it.")
@click.option(
    "--email-verified/--email-not-verified",
    default=None,
    help="Whether the e-mail address is verified.",
)
@click.option("--first-name", help="The given name; empty to remove it.")
@click.option("--last-name", help="The family name; empty to remove it.")
@click.option(
    "--attribute",
    "attributes",
    multiple=True,
    metavar="NAME=VALUE",
    help="Set an attribute; repeat it for more values. Other attributes stay.",
)
@click.option(
    "--remove-attribute", "removed", multiple=True, metavar="NAME", help="Remove an attribute."
)
@set_option(never=("id", "credentials", "groups", "realmRoles", "clientRoles"))
async def update(
    operator: RealmOperator,
    name: str,
    fields: dict[str, Any],
    attributes: tuple[str, ...],
    removed: tuple[str, ...],
    **named: Any,
) -> None:
    """Change fields and attributes of USER. The user profile of the realm applies."""
    given = {_FIELDS[key]: value for key, value in named.items() if value is not None}
    texts = _attributes(attributes)
    if not given and not fields and not texts and not removed:
        raise click.UsageError("Give at least one option that changes the user.")
    found = await operator.user(name)
    rows, values = AdminRows(operator), {"user_id": found.id}
    rows.require_known("PUT", "users/{user_id}", fields)
    before = await rows.run("GET", "users/{user_id}", values)
    document = {**before.body, **fields, **given}
    stored = entries_of(document, "attributes") if texts or removed else {}
    missing = sorted(set(removed) - stored.keys())
    if missing:
        raise click.BadParameter(
            f"{found.username} has no attribute {missing[0]}", param_hint="--remove-attribute"
        )
    kept = {key: value for key, value in stored.items() if key not in removed}
    if texts or removed:
        document["attributes"] = {**kept, **texts}
    await rows.run("PUT", "users/{user_id}", values, body=document, if_match=before.tag)
    click.echo(f"user {document['username']}: updated")


def _attributes(given: Sequence[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for text in given:
        name, value = parse_entry(text, "--attribute")
        found.setdefault(name, []).append(value)
    return found


@click.command(short_help="List, join and leave groups of a user.")
@_user
@on_realm
@click.option("--add", multiple=True, metavar="/PATH", help="Add the user to this group.")
@click.option("--remove", multiple=True, metavar="/PATH", help="Remove the user from this group.")
@output_option
async def groups(
    operator: RealmOperator, name: str, add: tuple[str, ...], remove: tuple[str, ...], output: str
) -> None:
    """List the groups of USER, after adding and removing some. Both options may be repeated."""
    found, rows = await operator.user(name), AdminRows(operator)
    values = {"user_id": found.id}
    changes = [
        (method, (await rows.find(GROUP, path, {}))["id"])
        for method, paths in (("PUT", add), ("DELETE", remove))
        for path in paths
    ]
    for method, group_id in changes:
        await rows.run(method, "users/{user_id}/groups/{group_id}", values | {"group_id": group_id})
    listed = await rows.get("users/{user_id}/groups", values)
    _show(sorted(item["path"] for item in listed), output)


@click.command("required-actions", short_help="List, add and remove required actions of a user.")
@_user
@on_realm
@click.option("--add", multiple=True, metavar="ACTION", help="Require this action.")
@click.option("--remove", multiple=True, metavar="ACTION", help="Remove this required action.")
@output_option
async def required_actions(
    operator: RealmOperator, name: str, add: tuple[str, ...], remove: tuple[str, ...], output: str
) -> None:
    """List the required actions of USER, after adding and removing some.

    ACTION is the alias of a required action of the realm, such as UPDATE_PASSWORD. Both options may
    be repeated.
    """
    found, rows = await operator.user(name), AdminRows(operator)
    values = {"user_id": found.id}
    before = await rows.run("GET", "users/{user_id}", values)
    required = [alias for alias in before.body["requiredActions"] if alias not in remove]
    for alias in add:
        known = (await rows.find(REQUIRED_ACTION, alias, {}))["alias"]
        required += [] if known in required else [known]
    for alias in remove:
        if alias not in before.body["requiredActions"]:
            raise click.BadParameter(
                f"{alias} is not required of {found.username}", param_hint="--remove"
            )
    if add or remove:
        body: Mapping[str, Any] = {**before.body, "requiredActions": required}
        await rows.run("PUT", "users/{user_id}", values, body=body, if_match=before.tag)
    _show(required, output)


def _show(names: list[str], output: str) -> None:
    if output == "json":
        echo_document(names)
    else:
        for name in names:
            click.echo(name)


COMMANDS = (update, groups, required_actions)
