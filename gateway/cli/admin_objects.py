"""The objects of the admin API and the words of their commands, by the URLs of its table.

The commands are made by `object_commands`; validation, rights, events and invalidation are those of
the rows. Each row of the admin API has a command, here or in a module of its own: see the test.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from gateway.cli.admin_rows import Argument
from gateway.domain.tables import build_value, read_table

LIST, SHOW, CREATE, UPDATE, DELETE = "list", "show", "create", "update", "delete"
EVERYTHING: Final = (LIST, SHOW, CREATE, UPDATE, DELETE)


@dataclass(frozen=True, slots=True)
class MapOption:
    """A repeatable option `NAME=VALUE` for a member that is a map; `lists`: of lists of texts."""

    member: str
    lists: bool = False


@dataclass(frozen=True, slots=True)
class AdminObject:
    """A kind of object, and the URLs of its list and of one of them below the realm.

    Without a `key` it is one document. With `items`, the objects are parts of the document at
    `url`, in its member of that name: a change replaces the document with If-Match.
    """

    command: str
    """The words before the verb, such as `client mapper`."""
    noun: str
    url: str
    key: Argument | None = None
    plural: str = ""
    owners: tuple[Argument, ...] = ()
    one: str = ""
    """The URL of one where it is not `url` and the placeholder of the key."""
    verbs: tuple[str, ...] = EVERYTHING
    columns: tuple[str, ...] = ("name",)
    filters: tuple[str, ...] = ()
    """Query parameters of the list that are options; `first` and `max` among them."""
    maps: tuple[MapOption, ...] = ()
    defaults: Mapping[str, object] = field(default_factory=dict)
    """Members of a new object that no option names."""
    items: str = ""
    update_url: str = ""
    """The URL of PUT where it differs from that of GET."""
    sent: tuple[str, ...] = ()
    """Members that a PUT needs; with them, an update sends only these and the changed ones."""
    shows_created: bool = False
    """Whether the created object is printed: it has a secret that is shown once."""
    named: bool = True
    """Whether a new object is created with a NAME."""

    @property
    def all(self) -> str:
        """Its plural."""
        return self.plural or f"{self.noun}s"

    @property
    def word(self) -> str:
        """Its noun in messages, without that of its owner."""
        return self.noun.partition(" of ")[0]

    @property
    def single(self) -> str:
        """Its noun with an article."""
        if self.key is None:
            return f"the {self.noun}"
        return f"{'an' if self.noun[0] in 'aeio' else 'a'} {self.noun}"

    @property
    def url_of_one(self) -> str:
        if self.one or self.key is None:
            return self.one or self.url
        return f"{self.url}/{{{self.key.placeholder}}}"


@dataclass(frozen=True, slots=True)
class Relation:
    """A list of other objects: `list`, `add` and `remove` by their names.

    `member` is added by PUT and removed by DELETE of its URL. Without it, the list has roles, which
    bodies name; `by_owner`: at URLs for the realm and for each client.
    """

    command: str
    what: str
    """For help: `the default groups of a realm`."""
    url: str
    owners: tuple[Argument, ...] = ()
    member: Argument | None = None
    columns: tuple[str, ...] = ("name",)
    by_owner: str = ""
    """The placeholder of the client whose roles a URL has; empty where one URL has all roles."""


@dataclass(frozen=True, slots=True)
class Option:
    """An option that is a query parameter; `find` is for one that names an object by its id."""

    name: str
    query: str
    help: str
    find: Argument | None = None
    is_flag: bool = False
    is_required: bool = False


@dataclass(frozen=True, slots=True)
class Action:
    """A command of its own: one operation."""

    command: str
    help: str
    method: str
    url: str
    arguments: tuple[Argument, ...] = ()
    fields: tuple[tuple[str, str], ...] = ()
    """Further arguments of the command line and the members of the body that they are."""
    texts: str = ""
    """The argument, any number of times, whose values are the body."""
    text: str = ""
    """The argument that is the body, as plain text."""
    text_file: str = ""
    """What `--file` has, which is the body, as plain text."""
    sets: bool = False
    """Whether `--set` and `--file` give members of the body."""
    options: tuple[Option, ...] = ()
    columns: tuple[str, ...] = ()
    """Of a list that is printed as rows; without them the answer is printed as JSON, if any."""
    done: str = "done"
    """Printed where there is no answer."""
    asks: str = ""
    """What is confirmed before; `{}` is the name of an argument."""


_TABLES: Final = read_table("gateway.cli", "admin_objects.toml")
_ARGUMENTS: Final[Mapping[str, Argument]] = build_value(
    Mapping[str, Argument], _TABLES["arguments"]
)


def _options() -> dict[str, Option]:
    return {name: _with_names(Option, table) for name, table in _TABLES["options"].items()}


def _with_names(kind: type[Any], table: Mapping[str, Any]) -> Any:
    """Return a row whose arguments and options are named; raises KeyError for an unknown name."""
    named: dict[str, Callable[[Any], object]] = {
        "key": lambda name: _ARGUMENTS[name],
        "member": lambda name: _ARGUMENTS[name],
        "find": lambda name: _ARGUMENTS[name],
        "owners": lambda names: tuple(_ARGUMENTS[name] for name in names),
        "arguments": lambda names: tuple(_ARGUMENTS[name] for name in names),
        "options": lambda names: tuple(_OPTIONS[name] for name in names),
    }
    members = {name: value for name, value in table.items() if name not in named}
    found = build_value(kind, members)
    return replace(
        found, **{name: read(table[name]) for name, read in named.items() if name in table}
    )


_OPTIONS: Final = _options()
OBJECTS: Final[tuple[AdminObject, ...]] = tuple(
    _with_names(AdminObject, table) for table in _TABLES["objects"]
)
RELATIONS: Final[tuple[Relation, ...]] = tuple(
    _with_names(Relation, table) for table in _TABLES["relations"]
)
ACTIONS: Final[tuple[Action, ...]] = tuple(
    _with_names(Action, table) for table in _TABLES["actions"]
)
HELP_OF_GROUPS: Final[Mapping[str, str]] = _TABLES["groups"]
"""Help of groups of commands that have no object of their own."""
GROUP: Final = _ARGUMENTS["group"]
ROLE: Final = _ARGUMENTS["role"]
REQUIRED_ACTION: Final = _ARGUMENTS["required-action"]
