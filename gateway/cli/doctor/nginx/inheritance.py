"""Why a header is missing in a location: a line of its own dropped the inherited ones."""

from gateway.cli.doctor.nginx.scopes import Scope


def where_lost(scope: Scope, name: str, directive: str = "proxy_set_header") -> str:
    """Return the end of a sentence that names both lines, empty where nothing was inherited."""
    levels = [each for each in scope.outwards() if each.own(directive)]
    if not levels:
        return ""
    nearest, *outer = levels
    lines = (line for level in outer for line in level.own(directive))
    inherited = next((line for line in lines if line.arguments[0].lower() == name), None)
    if inherited is None:
        return ""
    return (
        f": the {directive} on {nearest.own(directive)[0].place} drops the one on {inherited.place}"
    )
