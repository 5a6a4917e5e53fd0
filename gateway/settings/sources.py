"""Sources of the settings: the only place that reads the environment and `.env`.

Precedence: command-line flags, then the environment, then `.env` in the working directory, then
the defaults here. Within one of these, a `REALMGATE_` name wins over Keycloak's spelling of it
(`KC_BOOTSTRAP_ADMIN_*`, `KC_SPI_X509CERT_LOOKUP_*`). Any setting ending in SECRET, KEY, PASSWORD
or URL may be given as `NAME_FILE`, the path of a file that holds the value. An empty value counts
as not given. Every mistake is reported at once, under the name that carries it.
"""

import difflib
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dotenv import dotenv_values

from gateway.domain.errors import FieldError, InvalidInput
from gateway.http.certificate_options import FLAGS, LookupFlag
from gateway.representations.refusals import describe
from gateway.settings.model import (
    SETTING_NAMES,
    Settings,
    WrongSettings,
    disagreements,
    read_settings,
)

PREFIX = "REALMGATE_"
SCRIPT_NAMES = frozenset(
    PREFIX + name
    for name in (
        *("URL", "MTLS_URL", "SELF_SIGNED_URL", "MANAGEMENT_URL", "CA", "CLIENT_CERT"),
        *("CLIENT_KEY", "CLIENT_ID", "REALM"),
        *("HTTPS_PORT", "MTLS_PORT", "SELF_SIGNED_PORT", "HTTP_PORT", "DEMO_PORT", "SITE_URL"),
    )
)
"""Names of `var/run.env` and of the scripts: tolerated here, read there."""

_LOOKUP_SPELLINGS = "KC_SPI_X509CERT_LOOKUP"
_ALIASES = {
    "KC_BOOTSTRAP_ADMIN_USERNAME": "admin",
    "KC_BOOTSTRAP_ADMIN_PASSWORD": "admin_password",
    "KC_SPI_EVENTS_LISTENER__EMAIL__INCLUDE_EVENTS": "email_include_events",
    "KC_SPI_EVENTS_LISTENER__EMAIL__EXCLUDE_EVENTS": "email_exclude_events",
    **{name: flag.field for flag in FLAGS for name in flag.variables},
}
_FLAGS: Mapping[str, LookupFlag] = {name: flag for flag in FLAGS for name in flag.variables}
"""The flags of the certificate lookup by their variables."""
_CLOSE = 0.75
"""The similarity from 0 to 1 of a name that is suggested."""
_FROM_FILE = ("_secret", "_key", "_password", "_url")


class SettingsError(InvalidInput):
    """Settings that cannot be used: one line per mistake, safe to print."""

    def __init__(self, lines: Iterable[str]) -> None:
        super().__init__(())
        self.lines = tuple(lines)

    def __str__(self) -> str:
        return "\n".join(self.lines)


@dataclass(frozen=True, slots=True)
class _Given:
    """A raw value and the name it came under."""

    name: str
    value: Any


def variable(field: str) -> str:
    """Return the environment variable that sets `field`."""
    return PREFIX + field.upper()


def file_variable(field: str) -> str | None:
    """Return the variable that names a file holding the value of `field`, where there is one."""
    taken = f"{field}_file" in SETTING_NAMES
    return f"{variable(field)}_FILE" if field.endswith(_FROM_FILE) and not taken else None


def environment_variables() -> dict[str, str]:
    """Return the variables of the environment, which placeholders of realm files name."""
    return dict(os.environ)


def load_settings(
    options: Mapping[str, Any] | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    env_file: Path = Path(".env"),
) -> Settings:
    """Read the settings; raises SettingsError.

    `options` are command-line flags by field, those of a certificate lookup by their variable.
    """
    errors: list[str] = []
    given = _named(_dotenv(env_file), errors)
    given |= _named(os.environ if environment is None else environment, errors)
    given |= dict(_from_flags(options or {}))
    values: dict[str, Any] = {}
    wrong: set[str] = set()
    for field, raw in given.items():
        try:
            values[field] = _content(raw, field)
        except (OSError, ValueError) as failure:  # a path with NUL is a ValueError
            reason = failure.strerror if isinstance(failure, OSError) else "not UTF-8 text"
            allowed = f"the path of a readable file ({reason})"
            errors.append(str(FieldError(raw.name, describe(raw.value), allowed)))
            wrong.add(field)
    settings = _checked(values, given, wrong, errors)
    if errors or settings is None:
        raise SettingsError(errors)
    return settings


def _checked(
    values: Mapping[str, Any], given: Mapping[str, _Given], wrong: set[str], errors: list[str]
) -> Settings | None:
    """Return the settings without the wrong fields, so that the others are compared too."""
    try:
        settings = read_settings(**values)
    except WrongSettings as failure:
        found = failure.allowed
        errors += [_line(field, allowed, given) for field, allowed in found.items()]
        wrong |= found.keys()
        rest = {field: value for field, value in values.items() if field not in found}
        # A default can be wrong that follows from another setting: leaving it out changes nothing.
        return _checked(rest, given, wrong, errors) if len(rest) < len(values) else None
    errors += [
        _line(field, allowed, given)
        for field, allowed in disagreements(settings)
        if field not in wrong
    ]
    errors += _flags_of_other_lookups(settings, given)
    return settings


def _from_flags(options: Mapping[str, Any]) -> Iterator[tuple[str, _Given]]:
    for name, value in options.items():
        if not value:
            continue
        flag = _FLAGS.get(name)
        if flag is None:
            yield name, _Given("--" + name.replace("_", "-"), value)
        else:
            yield flag.field, _Given(flag.spellings[0], value)


def _flags_of_other_lookups(settings: Settings, given: Mapping[str, _Given]) -> Iterator[str]:
    """Yield options of a lookup that is not the configured one: they would mean another header."""
    for flag in FLAGS:
        name = given[flag.field].name if flag.field in given else None
        lookup = settings.certificate_lookup
        other = flag.lookup not in {None, lookup}
        if other and name in {*flag.spellings, *flag.variables}:
            yield f"{name} is an option of the lookup {flag.lookup}, and {lookup} is configured"


def share_metrics(directory: Path) -> None:
    """Let this process and its children count in files of `directory`.

    prometheus_client reads the environment at import, so this runs first.
    """
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(directory)


def _dotenv(path: Path) -> dict[str, str]:
    if not path.is_file():
        return {}
    try:
        values = dotenv_values(path, interpolate=False)
    except (UnicodeDecodeError, OSError) as failure:
        reason = failure.strerror if isinstance(failure, OSError) else "UTF-8 text is expected"
        raise SettingsError((f"{path} cannot be read: {reason}",)) from failure
    return {key: value or "" for key, value in values.items()}


def _named(source: Mapping[str, str], errors: list[str]) -> dict[str, _Given]:
    """Find the fields that a source sets; unknown names become errors."""
    known = _known_names()
    found: dict[str, _Given] = {}
    for name in sorted(source, reverse=True):  # REALMGATE_ names after, so that they win over KC_
        if not name.startswith((PREFIX, _LOOKUP_SPELLINGS)) and name not in known:
            continue
        field = known.get(name)
        if field is not None and source[name]:
            found.setdefault(field, _Given(name, source[name]))
            if found[field].name in {name + "_FILE", name.removesuffix("_FILE")} - {name}:
                errors.append(f"{name} and {found[field].name} are both set: one is expected")
        elif field is None and name not in SCRIPT_NAMES:
            errors.append(f"{name} is not a setting" + _suggestion(name, known))
    return found


def _known_names() -> dict[str, str]:
    names = {variable(field): field for field in SETTING_NAMES}
    files = {file_variable(field): field for field in SETTING_NAMES}
    return names | {name: field for name, field in files.items() if name} | _ALIASES


def _suggestion(name: str, known: Iterable[str]) -> str:
    # Without the prefix, which would make every name similar.
    prefix = PREFIX if name.startswith(PREFIX) else ""
    names = {one.removeprefix(prefix): one for one in known if one.startswith(prefix)}
    close = difflib.get_close_matches(name.removeprefix(prefix), names, n=1, cutoff=_CLOSE)
    return f"; did you mean {names[close[0]]}?" if close else ""


def _content(given: _Given, field: str) -> Any:
    """Return the value, from the file where the name ends in `_FILE`."""
    if given.name == file_variable(field):
        return Path(given.value).read_text(encoding="utf-8").strip()
    return given.value


def _line(field: str, allowed: str, given: Mapping[str, _Given]) -> str:
    name = given[field].name if field in given else variable(field)
    return str(FieldError(name, _shown(field, given), allowed))


def _shown(field: str, given: Mapping[str, _Given]) -> str:
    """Return the value for an error message, unless it may be a secret."""
    if field not in given:
        return "nothing"
    value = given[field].value
    if field.endswith(_FROM_FILE) and not (field.endswith("public_url") and "@" not in value):
        return "a hidden value"
    return describe(value if isinstance(value, str) else " ".join(map(str, value)))
