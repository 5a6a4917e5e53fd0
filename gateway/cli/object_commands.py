"""The commands of the objects in `admin_objects`: one interpreter for all of them.

`group_of` makes a command of the top level, `add_object_commands` adds to one that has commands of
its own. A command runs an operation of the admin API; see `admin_rows`.
"""

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
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
    Option,
    Relation,
)
from gateway.cli.admin_rows import AdminRows, Argument, unknown_name
from gateway.cli.administration import (
    RealmOperator,
    confirm_change,
    confirm_removal,
    echo_document,
    on_realm,
    output_option,
    set_option,
    yes_option,
)
from gateway.cli.object_fields import (
    Body,
    fields_of,
    file_option,
    merged,
    read_text,
    require_some,
    with_maps,
    with_names,
)
from gateway.cli.output import show_rows, text_on_terminal

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


def _list(one: AdminObject) -> click.Command:
    async def list_(
        operator: RealmOperator, *, names: list[str], output: str, **filters: str | None
    ) -> None:
        rows = AdminRows(operator)
        values = await rows.resolve(one.owners, names)
        query = tuple((name, text) for name, text in filters.items() if text is not None)
        found = await rows.get(one.url, values, query)
        _show_list(found[one.items] if one.items else found, one.columns, output)

    command = with_names(one.owners)(output_option(list_))
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

    return _command(f"Show {one.single}, as JSON.", with_names(_arguments(one))(show))


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
        document = {**one.defaults, **fields_of(file, fields)}
        if one.named and key is not None:
            document[key.names[0]] = names[-1]
        if one.items:
            await _replace_items(rows, one, lambda items: [*items, document], new=names[-1])
            click.echo(f"{one.word} {names[-1]}: created")
            _require_effect(one, await _stored(rows, one, {}, names[-1]), document)
            return
        values = await rows.resolve(one.owners, names[: len(one.owners)])
        rows.require_known("POST", one.url, document)
        answer = await rows.run("POST", one.url, values, body=document)
        if one.shows_created:
            echo_document(answer.body)
            return
        click.echo(f"{one.word} {names[-1]}: created, id {answer.created}")
        if key is not None:
            values = {**values, key.placeholder: answer.created}
        _require_effect(one, await _stored(rows, one, values, answer.created), document)

    arguments = (*one.owners, *new)
    command = set_option(required=False)(with_maps(one.maps)(with_names(arguments)(create)))
    return _command(f"Create {one.single}.", file_option(command))


def _update(one: AdminObject) -> click.Command:
    async def update(
        operator: RealmOperator, *, names: list[str], fields: dict[str, Any], file: Any
    ) -> None:
        given = fields_of(file, fields)
        require_some(given)
        rows = AdminRows(operator)
        values: Mapping[str, str] = {}
        if one.items:
            await _replace_items(rows, one, partial(_with_change, rows, one, names[-1], given))
        else:
            before, values, tag = await _found(rows, one, names)
            url = one.update_url or one.url_of_one
            rows.require_known("PUT", url, given)
            after = merged(before, given)
            if one.sent:
                after = {
                    name: value
                    for name, value in after.items()
                    if name in one.sent or name in given
                }
            await rows.run("PUT", url, values, body=after, if_match=tag)
        click.echo(f"{' '.join((one.word, *names[-1:]))}: updated")
        name = str(given.get("name", names[-1])) if one.items else ""
        values = _values_after(one, values, given)
        _require_effect(one, await _stored(rows, one, values, name), given)

    command = set_option(required=False)(with_maps(one.maps)(with_names(_arguments(one))(update)))
    return _command(f"Change {one.single}.", file_option(command))


def _with_change(
    rows: AdminRows,
    one: AdminObject,
    name: str,
    given: Mapping[str, Any],
    items: list[dict[str, Any]],
) -> list[dict[str, Any]]:
    """Return the objects of a document after the update of one; raises NotFound."""
    before = _item(rows, one, {one.items: items}, name)
    after = merged(before, given)
    return [after if item == before else item for item in items]


def _values_after(
    one: AdminObject, values: Mapping[str, str], given: Mapping[str, Any]
) -> dict[str, str]:
    """Return the values of URLs after an update, which may change the value of the object."""
    key = one.key
    if key is None or key.value == "id" or key.value not in given:
        return dict(values)
    return {**values, key.placeholder: str(given[key.value])}


async def _stored(
    rows: AdminRows, one: AdminObject, values: Mapping[str, str], name: str
) -> dict[str, Any]:
    """Return an object after a change, by the values of its URLs; `name` is of one of `items`."""
    if one.items:
        return _item(rows, one, await rows.get(one.url, {}), name)
    if one.update_url and one.key is not None:
        return await rows.find(one.key, values[one.key.placeholder], values)
    found: dict[str, Any] = await rows.get(one.url_of_one, values)
    return found


def _require_effect(one: AdminObject, stored: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    """Raise InvalidRequest for a member that was given and that the stored object has not.

    Keycloak's documents of many objects may have members that mean nothing: a typing error in one
    is found here.
    """
    from gateway.domain.refusals import InvalidRequest
    from gateway.representations.refusals import suggestion

    for name, value in given.items():
        if name not in stored and value not in (None, "", [], {}, False):
            nearest = suggestion(name, stored)
            raise InvalidRequest(f"stored, but {name} has no effect on {one.single}{nearest}")


def _delete(one: AdminObject) -> click.Command:
    async def delete(operator: RealmOperator, *, names: list[str], yes: bool) -> None:
        rows = AdminRows(operator)
        what = " ".join((one.word, *names[-1:]))
        if one.items:
            _item(rows, one, await rows.get(one.url, {}), names[-1])
        else:
            values = await rows.resolve(_arguments(one), names)
        confirm_removal(_whole_name(one, names, rows.realm), yes=yes)
        if one.items:
            await _replace_items(
                rows, one, lambda items: [item for item in items if item["name"] != names[-1]]
            )
        else:
            await rows.run("DELETE", one.url_of_one, values)
        click.echo(f"{what}: removed")

    return _command(f"Delete {one.single}.", yes_option(with_names(_arguments(one))(delete)))


def _whole_name(one: AdminObject, names: Sequence[str], realm: str) -> str:
    """Return an object with its name, its owners and its realm."""
    own = [] if one.key is None else [names[-1]]
    owners = [
        f"of the {owner.what.partition(' with ')[0]} {name}"
        for owner, name in reversed(tuple(zip(one.owners, names, strict=False)))
    ]
    return " ".join(("the", one.word, *own, *owners, f"of the realm {realm}"))


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
            click.echo(f"{name}: already present")
            continue
        method, url, more, body = _operation_of(relation, found, add=add)
        await rows.run(method, url, {**values, **more}, body=body)
        click.echo(f"{name}: {'added' if add else 'removed'}")


def _relation_commands(relation: Relation) -> Sequence[tuple[str, click.Command]]:
    owners, what = with_names(relation.owners), relation.what
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
            question = f"{action.asks.format(*given)} of the realm {rows.realm}"
            confirm_change(question, yes=options["yes"])
        answer = await rows.run(action.method, url, values, query=query, body=body)
        if action.columns:
            _show_list(answer.body, action.columns, options["output"])
        elif isinstance(answer.body, str) and (answer.body or action.method != "GET"):
            done = f"{' '.join(given)}: {action.done}".removeprefix(": ")
            shown = answer.body or done
            terminal = sys.stdout.isatty() or not answer.body
            click.echo(
                text_on_terminal(shown) if terminal else shown, nl=shown[-1] != "\n", color=True
            )
        else:
            echo_document(answer.body)

    return _command(action.help, _with_parameters(action, run))


def _with_parameters(action: Action, body: Body) -> Body:
    """Return the body with the arguments and options of the action."""
    if action.texts:
        many = click.argument("texts", metavar=f"{action.texts}...", nargs=-1, required=True)
        body = many(body)
    if action.text_file:
        body = click.option(
            "--file",
            type=click.File("rb"),
            required=True,
            help=f"Read the {action.text_file} from this file, - for standard input.",
        )(body)
    further = (*(metavar for metavar, _ in action.fields), action.text)
    new = (Argument(metavar, "") for metavar in further if metavar)
    body = with_names((*action.arguments, *new))(body)
    if action.columns:
        body = output_option(body)
    if action.sets:
        body = file_option(set_option()(body))
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
    if action.text_file:
        return read_text(options["file"])
    if not action.sets and not action.fields:
        return None
    fields = fields_of(options.get("file"), options.get("fields", {}))
    named = {member: text for (_, member), text in zip(action.fields, further, strict=True)}
    added = {each: values[each] for each in ("providerId",) if each in values}
    if not fields and not named and not added:
        require_some(fields)
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
