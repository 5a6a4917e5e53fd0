"""Placeholders `${NAME}` and `${NAME:default}` of realm files, replaced by environment variables.

They are replaced in the text of the file, before it is parsed: a default may be any JSON, or
contain placeholders. `${A,B}` takes the first of two variables that is set. Other names in braces
are resolved later, such as `${client_account}` by the texts of pages and `${authBaseUrl}` by the
address of the gateway: they stay. Documents of the admin API have no placeholders.
Keycloak: realm import (`kc.sh import`, `--import-realm`)
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from gateway.domain.errors import FieldError
from gateway.representations.refusals import describe_name, join

_OPENING: Final = "${"
_BRACE: Final = re.compile("[{}]")
_FIXED: Final = {"/": "/", ":": ":"}
_MOST_ROUNDS: Final = 10
"""Of replacements within what was replaced."""


class EndlessPlaceholderError(Exception):
    """A placeholder whose value contains itself, or a value that outgrows every file."""


def replace_placeholders(text: str, variables: Mapping[str, str], longest: int) -> str:
    """Return the text with the values of the variables, of at most `longest` characters.

    Raises EndlessPlaceholderError.
    """
    for _ in range(_MOST_ROUNDS):
        if _OPENING not in text:
            return text
        replaced = "".join(_pieces(text, variables))
        if len(replaced) > longest:
            raise EndlessPlaceholderError
        if replaced == text:
            return text
        text = replaced
    raise EndlessPlaceholderError


def _pieces(text: str, variables: Mapping[str, str]) -> Iterator[str]:
    done = 0
    while (start := text.find(_OPENING, done)) >= 0:
        end = _end_of(text, start + len(_OPENING))
        if end is None:
            break
        yield text[done:start]
        value = _value_of(text[start + len(_OPENING) : end], variables)
        done = end + 1
        yield text[start:done] if value is None else value
    yield text[done:]


def _end_of(text: str, start: int) -> int | None:
    """Return the place of the brace that closes a placeholder; None where nothing closes it."""
    depth = 1
    for found in _BRACE.finditer(text, start):
        depth += 1 if found.group() == "{" else -1
        if depth == 0:
            return found.start()
    return None


def _value_of(key: str, variables: Mapping[str, str]) -> str | None:
    """Return the value of a placeholder; None for one that stays."""
    if key in _FIXED:
        return _FIXED[key]
    if key in variables:
        return variables[key]
    name, colon, default = key.partition(":")
    if not name:
        return None
    first, _, second = name.partition(",")
    for each in (name, first, second):
        if each and each in variables:
            return variables[each]
    return default if colon else None


_REFERENCE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_SPELLED_AS_VARIABLE: Final = re.compile("[A-Z][A-Z0-9_]*")
_RESOLVED_LATER: Final = frozenset({"authBaseUrl", "authAdminUrl", "client_id"})
_TEXTS: Final = frozenset(
    {
        *("name", "description", "displayName", "displayNameHtml", "consent.screen.text"),
        *("kc.user.profile.config", "localizationTexts", "protocolMappers"),
    }
)
"""Members in which names in braces are keys of texts, or are resolved for each token."""
_TEMPLATES: Final = frozenset({"authorizationSettings", "identityProviderMappers"})
"""Members in which names in braces are those of templates."""


def unset_variables(document: Any, path: str = "") -> Iterator[FieldError]:
    """Yield an error for each variable that the document of a file names and that is not set."""
    yield from _unset(document, path, in_text=False)


def unset_names(text: str) -> list[str]:
    """Return the names of placeholders that are spelled as environment variables."""
    names = (found.group(1) for found in _REFERENCE.finditer(text))
    return [name for name in dict.fromkeys(names) if _SPELLED_AS_VARIABLE.fullmatch(name)]


def unset_variable(path: str, name: str) -> FieldError:
    """Return the error that names a variable."""
    shown = describe_name(name)
    sentence = f"the environment variable {shown} is not set: set it, or write ${{{shown}:default}}"
    return FieldError(path, f"${{{shown}}}", "a variable that is set", sentence=sentence)


def _unset(value: Any, path: str, *, in_text: bool) -> Iterator[FieldError]:
    if isinstance(value, str):
        if _OPENING in value:
            for found in dict.fromkeys(_REFERENCE.findall(value)):
                if _is_variable(found, in_text=in_text):
                    yield unset_variable(path, found)
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            if name not in _TEMPLATES:
                yield from _unset(inner, join(path, name), in_text=in_text or name in _TEXTS)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _unset(inner, f"{path}[{index}]", in_text=in_text)


def _is_variable(name: str, *, in_text: bool) -> bool:
    if _SPELLED_AS_VARIABLE.fullmatch(name):
        return True
    return not in_text and name not in _RESOLVED_LATER
