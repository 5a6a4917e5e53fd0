"""Tables of constants in TOML files beside the modules that read them, each read once at import."""

import tomllib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from importlib.resources import files
from types import NoneType, UnionType
from typing import Any, get_args, get_origin


def read_table(package: str, name: str) -> dict[str, Any]:
    """Return the content of a TOML file of a package, for example "gateway.forward_auth"."""
    return tomllib.loads(files(package).joinpath(name).read_text("utf-8"))


def build_value(kind: Any, value: Any) -> Any:
    """Return a value of TOML as `kind`: a dataclass, an enum, tuple, mapping, or a plain type.

    A table becomes a dataclass by the types of its fields. Raises TypeError or KeyError for a table
    that does not fit, ValueError for an unknown value of an enum.
    """
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is UnionType:
        kind = next(each for each in arguments if each is not NoneType)
        return build_value(kind, value)
    if origin is tuple:
        if not isinstance(value, list):
            raise TypeError(f"{value!r} is not a list")
        kinds = [arguments[0]] * len(value) if arguments[-1] is ... else arguments
        return tuple(build_value(each, item) for each, item in zip(kinds, value, strict=True))
    if origin is Mapping:
        return {name: build_value(arguments[1], item) for name, item in value.items()}
    if not isinstance(kind, type):
        return value
    if issubclass(kind, Enum):
        return kind(value)
    if is_dataclass(kind):
        types = {field.name: field.type for field in fields(kind)}
        members = {name: build_value(types[name], item) for name, item in value.items()}
        return kind(**members)
    if not isinstance(value, kind):
        raise TypeError(f"{value!r} is not {kind.__name__}")
    return value
