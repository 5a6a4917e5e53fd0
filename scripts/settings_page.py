"""Prints docs/settings.md from gateway/settings, so that the page and the program agree.

`python -m scripts.settings_page > docs/settings.md`; a test compares them.
"""

import ast
import inspect
import sys
import textwrap
from dataclasses import fields
from typing import Any

from gateway.http.certificate_lookup import LOOKUPS
from gateway.http.certificate_options import FLAGS
from gateway.settings import (
    SCRIPT_NAMES,
    SETTING_NAMES,
    Settings,
    file_variable,
    model,
    sources,
    variable,
    written,
)

HEAD = """\
# Settings

This page lists every setting. Each is an environment variable; copy [.env.example](../.env.example)
to start. Precedence: flags of `realmgate start`, the environment, `.env` in the working directory,
the default. An empty value counts as missing. The gateway reports all errors at once, by name, and
does not start; an unknown `REALMGATE_` name is an error.

Durations: `500ms`, `10s`, `5m`, `1h`, `1d`; without a unit, seconds. Lists are separated by
commas. A name that ends in `_FILE` is the path of a file with the value. Relative paths are
relative to the working directory of the gateway or of the command. `realmgate settings show` prints
the settings in force in the format of `.env`, with masked secrets as comments.
`scripts/settings_page.py` generates this page.

| variable | default | meaning |
|---|---|---|
"""
LOOKUP_OPTIONS = """
## Keycloak's options of the certificate lookups

Options are flags of `realmgate start`, `--spi-x509cert-lookup-<lookup>-<option>`, and variables,
`KC_SPI_X509CERT_LOOKUP_<LOOKUP>_<OPTION>`. The second spelling of Keycloak is accepted too, with
`--` and `__` on both sides of the lookup. An option of another lookup than the configured one is an
error.
[Certificates behind proxies](certificates-behind-proxies.md) says what they do.

| option | lookups | same as |
|---|---|---|
"""
SCRIPTS = """
## Variables of the scripts

`var/run.env` contains settings and the following variables of the scripts, which the gateway
accepts and ignores: {names}.
"""
TAIL = """
## Other names

| name | same as |
|---|---|
"""


def _of_lookups(name: str) -> str:
    """Return the default of each certificate lookup, those with the same one together."""
    lookups: dict[str, list[str]] = {}
    for lookup, kind in LOOKUPS.items():
        value = getattr(kind, name)
        lookups.setdefault("none" if value is None else f"`{written(value)}`", []).append(lookup)
    return ", ".join(f"{value} ({', '.join(each)})" for value, each in lookups.items())


DERIVED = {
    "database_url": "`realmgate.db` in the state folder",
    "listen": "`run/gateway.sock` in the state folder",
    "encryption_key_file": "`secrets/encryption.key` in the state folder",
    "state_dir": "`var`",
    "certificate_header": _of_lookups("default_header"),
    "certificate_chain_header": _of_lookups("default_chain_header"),
    "certificate_url_encoded": _of_lookups("default_url_encoded"),
    "certificate_verdict_header": _of_lookups("default_verdict_header"),
}


_DEFAULTS = {field.name: field.default for field in fields(Settings)}


def page() -> str:
    """Return the whole page."""
    rows = [
        f"| {_names(field)} | {_default(field)} | {_meaning(field)} |" for field in SETTING_NAMES
    ]
    aliases = [f"| `{name}` | `{variable(field)}` |" for name, field in _other_names().items()]
    names = textwrap.fill(", ".join(f"`{name}`" for name in sorted(SCRIPT_NAMES)), 100)
    scripts = SCRIPTS.format(names=names)
    lookups = LOOKUP_OPTIONS + "\n".join(_lookup_options()) + "\n"
    return HEAD + "\n".join(rows) + "\n" + TAIL + "\n".join(aliases) + "\n" + lookups + scripts


def _names(field: str) -> str:
    by_file = file_variable(field)
    return f"`{variable(field)}`" + (f"<br>`{by_file}`" if by_file else "")


def _default(field: str) -> str:
    if field in DERIVED:
        return DERIVED[field]
    value: Any = _DEFAULTS[field]
    if value is None or value == ():
        return "none"
    return f"`{written(value)}`"


def _meaning(field: str) -> str:
    return " ".join(_docstrings()[field].split()).replace("|", "\\|")


def _docstrings() -> dict[str, str]:
    """Return the text below each field of the class."""
    (found,) = (
        node
        for node in ast.parse(inspect.getsource(model)).body
        if isinstance(node, ast.ClassDef) and node.name == "Settings"
    )
    texts: dict[str, str] = {}
    for before, node in zip(found.body, found.body[1:], strict=False):
        if isinstance(before, ast.AnnAssign) and isinstance(node, ast.Expr):
            texts[ast.unparse(before.target)] = inspect.cleandoc(ast.literal_eval(node.value))
    return texts


def _other_names() -> dict[str, str]:
    aliases: dict[str, str] = sources._ALIASES  # noqa: SLF001 - the page is made of this very table
    shown = {name for flag in FLAGS if flag.lookup is None for name in flag.variables}
    hidden = {name for flag in FLAGS for name in flag.variables} - shown
    flags = {flag.spellings[0]: flag.field for flag in FLAGS if flag.lookup is None}
    return flags | {name: field for name, field in aliases.items() if name not in hidden}


def _lookup_options() -> list[str]:
    """Return a row for each option of the certificate lookups."""
    lookups: dict[tuple[str, str], list[str]] = {}
    for lookup, kind in LOOKUPS.items():
        for option, field in kind.options.items():
            lookups.setdefault((option, field), []).append(lookup)
    return [
        f"| `{option}` | {', '.join(each)} | `{variable(field)}` |"
        for (option, field), each in lookups.items()
    ]


if __name__ == "__main__":
    sys.stdout.write(page())
