"""Which settings of a realm a module reads, by its syntax tree.

A setting is read where its attribute is taken from its group: from `realm.session_limits`, from a
parameter or field annotated as SessionLimits, or from a name that such a group was assigned to. An
attribute of the same name on anything else is none.
"""

import ast
import typing
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import fields
from itertools import chain

from gateway.domain.realm import Realm

Read = tuple[str | None, str]
"""The field of Realm that holds the group, None for Realm itself; and the attribute."""

_HINTS = typing.get_type_hints(Realm)
GROUPS = {
    field.name: _HINTS[field.name].__name__
    for field in fields(Realm)
    if getattr(_HINTS[field.name], "__module__", "").startswith("gateway.domain.realm")
}
"""Fields of Realm that hold a group, and its class."""
_OWNERS: dict[str, str | None] = {
    "Realm": None,
    **{class_name: field for field, class_name in GROUPS.items()},
}


def settings_read(code: ast.Module) -> set[Read]:
    """Return the settings that the module reads."""
    classes: defaultdict[str, set[str]] = defaultdict(set)
    for held, class_name in chain(_annotated(code), _assigned(code)):
        classes[held].add(class_name)
    found: set[Read] = set()
    for node in ast.walk(code):
        if not isinstance(node, ast.Attribute):
            continue
        name = _last_name(node.value)
        if name is not None:
            owners = {_OWNERS[class_name] for class_name in classes.get(name, ())}
            owners |= {name} & GROUPS.keys()
            owners |= {None} if name == "realm" else set()
            found |= {(owner, node.attr) for owner in owners}
    return found


def _annotated(code: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield parameters and fields, and the classes that their annotations name."""
    for node in ast.walk(code):
        match node:
            case ast.arg(arg=name, annotation=ast.AST() as annotation):
                yield from ((name, owner) for owner in _named_classes(annotation))
            case ast.AnnAssign(target=target, annotation=annotation):
                name = _last_name(target) or ""
                yield from ((name, owner) for owner in _named_classes(annotation))


def _named_classes(annotation: ast.AST) -> Iterator[str]:
    for part in ast.walk(annotation):
        if isinstance(part, ast.Name) and part.id in _OWNERS:
            yield part.id


def _assigned(code: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield names that a group is assigned to, and its class."""
    for node in ast.walk(code):
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
                pairs = list(zip(targets, values, strict=False))
            case (
                ast.Assign(targets=[target], value=value)
                | ast.NamedExpr(target=target, value=value)
            ):
                pairs = [(target, value)]
            case _:
                continue
        for target, value in pairs:
            name = _last_name(target)
            if name is not None and isinstance(value, ast.Attribute) and value.attr in GROUPS:
                yield name, GROUPS[value.attr]


def _last_name(node: ast.AST) -> str | None:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return None
