"""The rules file: TOML with a list `sites`, each with a list `rules`.

Dates, infinities and NaN, which JSON does not have, are refused. Spec: TOML 1.0.0
(https://toml.io/en/v1.0.0)
"""

import math
import tomllib
from typing import Any, Final

from gateway.domain.errors import FieldError, InvalidInput
from gateway.domain.forward_auth import Site
from gateway.representations.forward_auth.sites import parse_site, shared_names
from gateway.representations.json_input import check_json
from gateway.representations.refusals import (
    attempt,
    join,
    located,
    parse_each,
    raise_all,
    refused_items,
    unknown_fields,
)

LARGEST_FILE: Final = 4 * 1024 * 1024
"""In bytes."""
_SITES: Final = "sites"
_MOST_SITES: Final = 10_000
_DEEPEST: Final = 8
"""Levels of nesting; a valid file has six."""


def parse_rules_file(content: bytes, source: str) -> tuple[Site, ...]:
    """Return the sites of the file; raises InvalidInput with every error, each with its place."""
    with located(source):
        errors: list[FieldError] = []
        document = _as_json(_parse(content), "", errors)
        attempt(errors, None, check_json, document, "")
        errors.extend(unknown_fields("", document, "the file", (_SITES,)))
        sites = attempt(errors, (), _read_sites, document.get(_SITES, []))
        errors.extend(shared_names(sites, _SITES))
        raise_all(errors)
    return sites


def parse_toml(content: bytes, source: str) -> dict[str, Any]:
    """Return the document as JSON values; raises InvalidInput."""
    errors: list[FieldError] = []
    with located(source):
        document: dict[str, Any] = _as_json(_parse(content), "", errors)
        raise_all(errors)
        check_json(document, "")
    return document


def _parse(content: bytes) -> dict[str, Any]:
    if len(content) > LARGEST_FILE:
        raise _unreadable(f"the file is larger than {LARGEST_FILE} bytes")
    try:
        return tomllib.loads(content.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise _unreadable(f"not UTF-8 at byte {error.start}") from error
    except ValueError as error:  # a number of too many digits raises no TOMLDecodeError
        raise _unreadable(f"not TOML: {error}") from error
    except RecursionError as error:
        raise _unreadable("not TOML: it is nested too deeply") from error


def _unreadable(sentence: str) -> InvalidInput:
    return InvalidInput((FieldError("the file", "something else", "TOML", sentence=sentence),))


def _read_sites(value: Any) -> tuple[Site, ...]:
    if not isinstance(value, list) or len(value) > _MOST_SITES:
        raise refused_items(_SITES, value, list, f"a list of at most {_MOST_SITES} sites")
    return tuple(parse_each(value, parse_site, _SITES))


def _as_json(value: Any, path: str, errors: list[FieldError], depth: int = 0) -> Any:
    """Return the value with text in place of what JSON does not have, which is noted."""
    if isinstance(value, dict | list) and depth == _DEEPEST:
        # Dotted keys nest without brackets, deeper than functions may call each other.
        errors.append(FieldError(path, "deeper nesting", f"at most {_DEEPEST} levels of nesting"))
        return None
    if isinstance(value, dict):
        return {
            name: _as_json(member, join(path, name), errors, depth + 1)
            for name, member in value.items()
        }
    if isinstance(value, list):
        return [
            _as_json(item, f"{path}[{place}]", errors, depth + 1)
            for place, item in enumerate(value)
        ]
    if isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    errors.append(FieldError(path, str(value), "text, a whole number, true or false"))
    return str(value)
