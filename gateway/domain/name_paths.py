"""Paths of names that may contain slashes: `/` within a name is written `~/`.

This is Keycloak's form with `escape-slashes-in-group-path`. A `~` in front of a `/`, or at the end
of a name, is doubled, so that no two lists of names have the same path. Every other `~` stays.
Keycloak: server_admin, groups; KeycloakModelUtils.buildGroupPath
"""

import re
from collections.abc import Iterable
from typing import Final

_ESCAPE: Final = "~"
_AMBIGUOUS: Final = re.compile(r"~+(?=/|\Z)")


def render_names(names: Iterable[str]) -> str:
    """Return the path of the names, without a slash at its beginning."""
    return "/".join(map(_escape_name, names))


def parse_names(path: str) -> tuple[str, ...]:
    """Return the names of a path; each text is the path of some names.

    `parse_names(render_names(names)) == names`, except for no names, whose path is empty.
    """
    names: list[str] = []
    name = ""
    *pieces, last = path.split("/")
    for piece in pieces:
        stem = piece.rstrip(_ESCAPE)
        literal, is_escaped = divmod(len(piece) - len(stem), 2)
        name += stem + _ESCAPE * literal
        if is_escaped:
            name += "/"
        else:
            names.append(name)
            name = ""
    stem = last.rstrip(_ESCAPE)
    # One that nothing follows is itself.
    return (*names, name + stem + _ESCAPE * ((len(last) - len(stem) + 1) // 2))


def render_client_role(client_id: str, role: str) -> str:
    """Return `client/role`; the slashes of the clientId stay, those of the role are escaped.

    It is the path of no single name, so no realm role is written the same by `render_names`.
    """
    return render_names((*client_id.split("/"), role))


def parse_client_role(text: str) -> tuple[str, str]:
    """Return clientId and role; the clientId is empty for text without a separating slash."""
    *client, role = parse_names(text)
    return "/".join(client), role


def _escape_name(name: str) -> str:
    if _ESCAPE in name:
        name = _AMBIGUOUS.sub(lambda found: found[0] * 2, name)
    return name.replace("/", "~/") if "/" in name else name
