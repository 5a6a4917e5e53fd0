"""The commands of the objects in `admin_objects`: one interpreter for all of them.

`group_of` makes a command of the top level, `add_object_commands` adds to one that has commands of
its own. A command runs an operation of the admin API; see `admin_rows`.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from typing import Any

import click

from gateway.cli import COMMANDS
from gateway.cli.admin_objects import (
    ACTIONS,
    CREATE,
    DELETE,
    HELP_OF_GROUPS,
    LIST,
    OBJECTS,
    RELATIONS,
    ROLE,
    SHOW,
    UPDATE,
    Action,
    AdminObject,
    MapOption,
    Option,
    Relation,
)
from gateway.cli.admin_rows import AdminRows, Argument, unknown_name
from gateway.cli.administration import (
    RealmOperator,
    confirm_removal,
    echo_document,
    on_realm,
    output_option,
    set_option,
    yes_option,
)
from gateway.cli.output import show_rows, visible

Body = Callable[..., Any]
_DICTS = ("attributes", "config")
"""Members whose entries stay where an update does not name them; null removes one."""
_FILTERS = {
    "parent": "Id of the parent.",
    "type": "Provider type.",
    "name": "Exact name.",
}


def group_of(word: str) -> click.Group:
    """Return the command of the top level with that word."""
    group = click.Group(word, help=COMMANDS[word][1])
    add_object_commands(group, word)
    return group


def add_object_commands(group: click.Group, word: str) -> None:
    """Add the commands of the objects that begin with `word` to its group."""
    for one in OBJECTS:
        for verb, make in _VERBS.items():
            if verb in one.verbs:
                _add(group, word, f"{one.command} {verb}", make(one))
    for relation in RELATIONS:
        for verb, command in _relation_commands(relation):
            _add(group, word, f"{relation.command} {verb}", command)
    for action in ACTIONS:
        _add(group, word, action.command, _action(action))


def _add(root: click.Group, word: str, path: str, command: click.Command) -> None:
    """Add a command whose path begins with `word` below its group, which is made where missing."""
    first, *groups, last = path.split()
    if first != word:
        return
    group, known = root, first
    for name in groups:
        known = f"{known} {name}"
        inner = group.commands.get(name)
        if not isinstance(inner, click.Group):
            inner = click.Group(name, help=_help_of(known), short_help=_help_of(known))
            group.add_command(inner)
        group = inner
    command.name = last
    group.add_command(command)


def _help_of(path: str) -> str:
    if path in HELP_OF_GROUPS:
        return HELP_OF_GROUPS[path]
    for one in OBJECTS:
        if one.command == path:
            return f"Manage the {one.noun if one.key is None else one.all}."
    relation = next(each for each in RELATIONS if each.command == path)
    return f"List and change {relation.what}."


def _named(arguments: Sequence[Argument]) -> Callable[[Body], Body]:
    """Return the decorator that passes the names on the command line as `names`."""

    def decorate(body: Body) -> Body:
        @wraps(body)
        def run(*positional: Any, **options: Any) -> Any:
            names = [options.pop(f"argument_{place}") for place in range(len(arguments))]
            return body(*positional, names=names, **options)

        for place, argument in reversed(tuple(enumerate(arguments))):
            run = click.argument(f"argument_{place}", metavar=argument.metavar)(run)
        return run

    return decorate


def _maps(maps: Sequence[MapOption]) -> Callable[[Body], Body]:
    """Return the decorator for options such as `--config NAME=VALUE`, merged into `fields`."""

    def decorate(body: Body) -> Body:
        @wraps(body)
        def run(*positional: Any, fields: dict[str, Any], **options: Any) -> Any:
            for each in maps:
                given = options.pop(f"map_{each.member}")
                if given:
                    fields = {**fields, each.member: _entries(each, given, fields)}
            return body(*positional, fields=fields, **options)

        for each in maps:
            run = click.option(
                f"--{each.member.removesuffix('s')}",
                f"map_{each.member}",
                multiple=True,
                metavar="NAME=VALUE",
                help=f"Set an entry of `{each.member}`; others stay. Repeatable.",
            )(run)
        return run

    return decorate


def _entries(option: MapOption, given: Sequence[str], fields: Mapping[str, Any]) -> dict[str, Any]:
    entries: dict[str, Any] = dict(fields.get(option.member) or {})
    for text in given:
        name, equals, value = text.partition("=")
        if not name or not equals:
            hint = f"--{option.member.removesuffix('s')}"
            raise click.BadParameter(f"{text!r}: no NAME=VALUE", param_hint=hint)
        entries[name] = [*entries.get(name, ()), value] if option.lists else value
    return entries


_file_option = click.option(
    "--file",
    type=click.File("rb"),
    help="Read the JSON object from this file, - for standard input. --set goes before it.",
)


def _fields_of(file: Any, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members of the file and of `--set`; raises InvalidInput for unreadable JSON."""
    from gateway.cli.secret_input import read_whole
    from gateway.representations.json_input import parse_json

    if file is None:
        return dict(fields)
    document = parse_json(read_whole(file, _LARGEST, "--file"), "--file")
    if not isinstance(document, dict):
        raise click.BadParameter("no JSON object", param_hint="--file")
    return {**document, **fields}


_LARGEST = 1024 * 1024
"""Bytes of a file, as of a request."""


def _require_some(fields: Mapping[str, Any]) -> None:
    if not fields:
        raise click.UsageError("Give --file, or at least one --set FIELD=VALUE.")


def _merged(before: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the object after an update: maps entry by entry, all other members as a whole."""
    document = {**before, **fields}
    for name in _DICTS:
        given, stored = fields.get(name), before.get(name)
        if isinstance(given, dict) and isinstance(stored, dict):
            entries = {**stored, **given}
            document[name] = {key: value for key, value in entries.items() if value is not None}
    return document


def _list(one: AdminObject) -> click.Command:
    async def list_(
        operator: RealmOperator, *, names: list[str], output: str, **filters: str | None
    ) -> None:
        rows = AdminRows(operator)
        values = await rows.resolve(one.owners, names)
        query = tuple((name, text) for name, text in filters.items() if text is not None)
        found = await rows.get(one.url, values, query)
        _show_list(found[one.items] if one.items else found, one.columns, output)

    command = _named(one.owners)(output_option(list_))
    for name in one.filters:
        command = click.option(f"--{name}", help=_FILTERS[name])(command)
    return _command(f"List the {one.all}.", command)


def _show_list(items: Any, columns: Sequence[str], output: str) -> None:
    if output == "json":
        echo_document(items)
        return
    show_rows([_text(item.get(name) if name else item) for name in columns] for item in items)


def _show(one: AdminObject) -> click.Command:
    async def show(operator: RealmOperator, *, names: list[str]) -> None:
        rows = AdminRows(operator)
        echo_document((await _found(rows, one, names))[0])

    return _command(f"Show {one.single}, as JSON.", _named(_arguments(one))(show))


async def _found(
    rows: AdminRows, one: AdminObject, names: Sequence[str]
) -> tuple[dict[str, Any], dict[str, str], str | None]:
    """Return an object, the values of its URLs, and its entity tag."""
    if one.items:
        answer = await rows.run("GET", one.url, {})
        return _item(rows, one, answer.body, names[-1]), {}, answer.tag
    values = await rows.resolve(_arguments(one), names)
    if one.update_url and one.key is not None:  # the list has what a PUT takes
        return await rows.find(one.key, names[-1], values), values, None
    answer = await rows.run("GET", one.url_of_one, values)
    return answer.body, values, answer.tag


def _item(
    rows: AdminRows, one: AdminObject, document: Mapping[str, Any], name: str
) -> dict[str, Any]:
    items = document.get(one.items) or []
    found = next((item for item in items if item.get("name") == name), None)
    if found is None:
        raise unknown_name(one.word, name, rows.realm, [item["name"] for item in items])
    return dict(found)


def _arguments(one: AdminObject) -> tuple[Argument, ...]:
    return one.owners if one.key is None else (*one.owners, one.key)


def _create(one: AdminObject) -> click.Command:
    key = one.key
    new = (Argument("NAME", ""),) if one.named else ()

    async def create(
        operator: RealmOperator, *, names: list[str], fields: dict[str, Any], file: Any
    ) -> None:
        rows = AdminRows(operator)
        document = {**one.defaults, **_fields_of(file, fields)}
        if one.named and key is not None:
            document[key.names[0]] = names[-1]
        if one.items:
            await _replace_items(rows, one, lambda items: [*items, document], new=names[-1])
            click.echo(f"{one.word} {names[-1]}: created")
            await _require_effect(rows, one, names, document)
            return
        values = await rows.resolve(one.owners, names[: len(one.owners)])
        rows.require_known("POST", one.url, document)
        answer = await rows.run("POST", one.url, values, body=document)
        if one.shows_created:
            echo_document(answer.body)
            return
        click.echo(f"{one.word} {names[-1]}: created, id {answer.created}")
        await _require_effect(rows, one, names, document)

    arguments = (*one.owners, *new)
    command = set_option(required=False)(_maps(one.maps)(_named(arguments)(create)))
    return _command(f"Create {one.single}.", _file_option(command))


def _update(one: AdminObject) -> click.Command:
    async def update(
        operator: RealmOperator, *, names: list[str], fields: dict[str, Any], file: Any
    ) -> None:
        given = _fields_of(file, fields)
        _require_some(given)
        rows = AdminRows(operator)
        before, values, tag = await _found(rows, one, names)
        after = _merged(before, given)
        if one.items:
            await _replace_items(
                rows,
                one,
                lambda items: [after if item["name"] == names[-1] else item for item in items],
            )
        else:
            url = one.update_url or one.url_of_one
            rows.require_known("PUT", url, given)
            await rows.run("PUT", url, values, body=after, if_match=tag)
        click.echo(f"{' '.join((one.word, *names[-1:]))}: updated")
        if one.key is not None and one.key.names[0] in given:
            names = [*names[:-1], str(given[one.key.names[0]])]
        await _require_effect(rows, one, names, given)

    command = set_option(required=False)(_maps(one.maps)(_named(_arguments(one))(update)))
    return _command(f"Change {one.single}.", _file_option(command))


async def _require_effect(
    rows: AdminRows, one: AdminObject, names: Sequence[str], given: Mapping[str, Any]
) -> None:
    """Raise InvalidRequest for a member that was given and that the stored object has not.

    Keycloak's documents of many objects may have members that mean nothing: a typing error in one
    is found here.
    """
    from gateway.domain.refusals import InvalidRequest
    from gateway.representations.refusals import suggestion

    stored, _, _ = await _found(rows, one, names)
    for name, value in given.items():
        if name not in stored and value not in (None, "", [], {}, False):
            nearest = suggestion(name, stored)
            raise InvalidRequest(f"{name}: has no effect on {one.single}{nearest}")


def _delete(one: AdminObject) -> click.Command:
    async def delete(operator: RealmOperator, *, names: list[str], yes: bool) -> None:
        rows = AdminRows(operator)
        what = " ".join((one.word, *names[-1:]))
        if one.items:
            _item(rows, one, await rows.get(one.url, {}), names[-1])
        else:
            values = await rows.resolve(_arguments(one), names)
        confirm_removal(f"the {what} of {rows.realm}", yes=yes)
        if one.items:
            await _replace_items(
                rows, one, lambda items: [item for item in items if item["name"] != names[-1]]
            )
        else:
            await rows.run("DELETE", one.url_of_one, values)
        click.echo(f"{what}: removed")

    return _command(f"Delete {one.single}.", yes_option(_named(_arguments(one))(delete)))


async def _replace_items(
    rows: AdminRows,
    one: AdminObject,
    change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]],
    new: str | None = None,
) -> None:
    """Replace the document that has the objects, unless another change came first.

    Raises AlreadyExists where an object has the name `new`, and PreconditionFailed.
    """
    from gateway.domain.errors import AlreadyExists

    answer = await rows.run("GET", one.url, {})
    items = list(answer.body.get(one.items) or [])
    if new is not None and any(item.get("name") == new for item in items):
        raise AlreadyExists(f"{one.word} {new} already exists")
    document = {**answer.body, one.items: change(items)}
    await rows.run("PUT", one.url, {}, body=document, if_match=answer.tag)


_VERBS = {LIST: _list, SHOW: _show, CREATE: _create, UPDATE: _update, DELETE: _delete}


async def _related(
    rows: AdminRows, relation: Relation, values: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Return the objects of a relation; roles of clients have the name `client/role`."""
    found = await rows.get(relation.url, values)
    if relation.by_owner:
        return _mapped(found)
    if relation.member is None:
        return [await _with_client(rows, role) for role in found]
    items: list[dict[str, Any]] = found
    return items


async def _change_relation(
    rows: AdminRows, relation: Relation, owners: Sequence[str], names: Sequence[str], *, add: bool
) -> None:
    """Add or remove the objects with these names, all of which are found before the first change.

    Raises NotFound for one that cannot be removed because it is not there.
    """
    values, member = await rows.resolve(relation.owners, owners), relation.member or ROLE
    present = {item[relation.columns[0]] for item in await _related(rows, relation, values)}
    wanted = [(name, await rows.find(member, name, values)) for name in names]
    for name in names:
        if not add and name not in present:
            raise _not_among(relation.what, name, present)
    for name, found in wanted:
        if add and name in present:
            click.echo(f"{name}: was there before")
            continue
        method, url, more, body = _operation_of(relation, found, add=add)
        await rows.run(method, url, {**values, **more}, body=body)
        click.echo(f"{name}: {'added' if add else 'removed'}")


def _relation_commands(relation: Relation) -> Sequence[tuple[str, click.Command]]:
    owners, what = _named(relation.owners), relation.what
    metavar = (relation.member or ROLE).metavar

    async def list_(operator: RealmOperator, *, names: list[str], output: str) -> None:
        rows = AdminRows(operator)
        values = await rows.resolve(relation.owners, names)
        _show_list(await _related(rows, relation, values), relation.columns, output)

    def command(verb: str, *, add: bool) -> click.Command:
        async def run(operator: RealmOperator, *, names: list[str], members: Sequence[str]) -> None:
            await _change_relation(AdminRows(operator), relation, names, members, add=add)

        many = click.argument("members", metavar=f"{metavar}...", nargs=-1, required=True)
        return _command(f"{verb} {what}.", owners(many(run)))

    return (
        (LIST, _command(f"List {what}.", owners(output_option(list_)))),
        ("add", command("Add to", add=True)),
        ("remove", command("Remove from", add=False)),
    )


def _not_among(what: str, name: str, present: Iterable[str]) -> Exception:
    from gateway.domain.refusals import NotFound
    from gateway.representations.refusals import suggestion

    return NotFound(f"{name!r} is not among {what}{suggestion(name, present)}")


def _operation_of(
    relation: Relation, found: Mapping[str, Any], *, add: bool
) -> tuple[str, str, dict[str, str], Any]:
    """Return method, URL, further values of the URL, and body of a change by one object."""
    if relation.member is not None:
        placeholder = relation.member.placeholder
        url = f"{relation.url}/{{{placeholder}}}"
        return "PUT" if add else "DELETE", url, {placeholder: found["id"]}, None
    method, url, more = "POST" if add else "DELETE", relation.url, {}
    if relation.by_owner and found.get("clientRole"):
        more = {relation.by_owner: found["containerId"]}
        url = f"{url}/clients/{{{relation.by_owner}}}"
    elif relation.by_owner:
        url = f"{url}/realm"
    return method, url, more, [found]


def _mapped(found: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the roles of `MappingsRepresentation`, those of clients as `client/role`."""
    roles = list(found.get("realmMappings", ()))
    for client, mapped in found.get("clientMappings", {}).items():
        roles += [{**role, "name": f"{client}/{role['name']}"} for role in mapped["mappings"]]
    return roles


async def _with_client(rows: AdminRows, role: dict[str, Any]) -> dict[str, Any]:
    if not role.get("clientRole"):
        return role
    client = await rows.get("clients/{client_id}", {"client_id": role["containerId"]})
    return {**role, "name": f"{client['clientId']}/{role['name']}"}


def _action(action: Action) -> click.Command:
    async def run(operator: RealmOperator, *, names: list[str], **options: Any) -> None:
        rows = AdminRows(operator)
        given, further = names[: len(action.arguments)], names[len(action.arguments) :]
        url = action.url
        values: Mapping[str, str]
        if url.startswith("{role}"):
            beginning, values = await rows.address_of_role(given[0])
            url = url.replace("{role}", beginning)
        else:
            values = await rows.resolve(action.arguments, given)
        body = _body_of(action, values, further, options)
        query = tuple([each async for each in _query_of(rows, action.options, options)])
        if action.asks:
            confirm_removal(f"{action.asks} of {rows.realm}", yes=options["yes"])
        answer = await rows.run(action.method, url, values, query=query, body=body)
        if action.columns:
            _show_list(answer.body, action.columns, options["output"])
        elif isinstance(answer.body, str) and (answer.body or action.method != "GET"):
            done = f"{' '.join(given)}: {action.done}".removeprefix(": ")
            click.echo("\n".join(map(visible, (answer.body or done).splitlines())))
        else:
            echo_document(answer.body)

    return _command(action.help, _with_parameters(action, run))


def _with_parameters(action: Action, body: Body) -> Body:
    """Return the body with the arguments and options of the action."""
    if action.texts:
        many = click.argument("texts", metavar=f"{action.texts}...", nargs=-1, required=True)
        body = many(body)
    further = (*(metavar for metavar, _ in action.fields), action.text)
    new = (Argument(metavar, "") for metavar in further if metavar)
    body = _named((*action.arguments, *new))(body)
    if action.columns:
        body = output_option(body)
    if action.sets:
        body = _file_option(set_option()(body))
    if action.asks:
        body = yes_option(body)
    for option in action.options:
        body = click.option(
            option.name,
            f"query_{option.query}",
            is_flag=option.is_flag,
            required=option.is_required,
            help=option.help,
        )(body)
    return body


def _body_of(
    action: Action, values: Mapping[str, str], further: Sequence[str], options: Mapping[str, Any]
) -> Any:
    """Return the body of the operation of a command line."""
    if action.texts:
        return list(options["texts"])
    if action.text:
        return further[0]
    if not action.sets and not action.fields:
        return None
    fields = _fields_of(options.get("file"), options.get("fields", {}))
    named = {member: text for (_, member), text in zip(action.fields, further, strict=True)}
    added = {each: values[each] for each in ("providerId",) if each in values}
    if not fields and not named and not added:
        _require_some(fields)
    return {**fields, **added, **named}


async def _query_of(rows: AdminRows, wanted: Sequence[Option], options: Mapping[str, Any]) -> Any:
    for option in wanted:
        given = options[f"query_{option.query}"]
        if option.is_flag:
            given = "true" if given else None
        if given is not None and option.find is not None:
            given = (await rows.find(option.find, given, {}))[option.find.value]
        if given is not None:
            yield option.query, given


def _command(text: str, body: Body) -> click.Command:
    """Return the command with that help, whole in lists of commands."""
    return click.command(help=text, short_help=text)(on_realm(body))


def _text(value: Any) -> str:
    if value is None or value == "":
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


client_policy = group_of("client-policy")
client_profile = group_of("client-profile")
client_scope = group_of("client-scope")
component = group_of("component")
flow = group_of("flow")
identity_provider = group_of("identity-provider")
initial_access = group_of("initial-access")
required_action = group_of("required-action")
text = group_of("text")
user_profile = group_of("user-profile")
