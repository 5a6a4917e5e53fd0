"""How a single setting is read from text, and written so that it can be given again.

A type of a setting names its readers, which are called one after the other. A reader raises
ValueError with what is allowed, as it stands before the word `expected`; it never quotes what was
given, which may be a secret. `written` is the way back: `realmgate settings show`
prints what `.env` accepts.
"""

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Annotated, Any, Final

from gateway.domain.errors import InvalidInput
from gateway.domain.hosts import public_url
from gateway.domain.secrets import Secret
from gateway.http.certificate_options import certificate_header_name, verdict_header_name
from gateway.storage.sql.address import parse_database_url

_UNITS: Final = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}
_UNIX_PATH_LIMIT: Final = 107
_SHORTEST_PROXY_SECRET: Final = 16
_LONGEST_DURATION: Final = timedelta(days=365)
_DURATION: Final = (
    "a duration above zero and of at most 365 days, such as 10s, 500ms, 5m, 1h or 1d (seconds"
    " without a unit)"
)
_SHORTEST: Final = timedelta(microseconds=1)
_ASCII_NUMBER: Final = re.compile(r"[0-9]+(\.[0-9]*)?|\.[0-9]+")
_PORT_OF_HOST: Final = re.compile(r"(?:\[[^\]]*\]|[^:]*)(?::([0-9]{0,5}))?")
_HEADER_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,100}")
_WHOLE_NUMBER: Final = re.compile(r"[0-9]{1,9}")
_PASSWORD_IN_URL: Final = re.compile(r"(?<=://)(?P<user>[^:/?#@]*):.*@", re.DOTALL)
_PARAMETER: Final = re.compile(
    r"([?&][^=&]*(?:password|passwd|secret|token|key)[^=&]*=)[^&]*", re.IGNORECASE
)
_WEB_URL: Final = re.compile(r"https?://[!-~]{1,2000}")
_MOST_URLS: Final = 100
_YES: Final = frozenset({"true", "yes", "on", "1"})
_NO: Final = frozenset({"false", "no", "off", "0"})
HIDDEN: Final = "***"

Reader = Callable[[Any], object]
"""Returns the value of a setting; it accepts its own results."""


@dataclass(frozen=True, slots=True)
class UnixAddress:
    """A unix socket by path."""

    path: Path

    def __str__(self) -> str:
        return f"unix:{self.path}"


@dataclass(frozen=True, slots=True)
class TcpAddress:
    """A TCP listener: IP address or host name, and port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def whole_number(least: int, most: int) -> Reader:
    """Return the reader of a number within bounds."""

    def read_number(value: object) -> int:
        if isinstance(value, int) and not isinstance(value, bool):
            number = value
        elif isinstance(value, str) and _WHOLE_NUMBER.fullmatch(value.strip()):
            number = int(value)
        else:
            raise ValueError(f"a whole number from {least} to {most}")
        if not least <= number <= most:
            raise ValueError(f"a whole number from {least} to {most}")
        return number

    return read_number


def one_of(*choices: str) -> Reader:
    """Return the reader of a choice."""

    def read_choice(value: object) -> object:
        if value not in choices:
            raise ValueError(" or ".join(choices))
        return value

    return read_choice


def _flag(value: object) -> bool:
    if isinstance(value, bool):
        return value
    text = value.strip().lower() if isinstance(value, str) else ""
    if text not in _YES | _NO:
        raise ValueError("true or false")
    return text in _YES


def _duration(value: object) -> timedelta:
    span = value if isinstance(value, timedelta) else _span(str(value).strip())
    if span is None or not _SHORTEST <= span <= _LONGEST_DURATION:
        raise ValueError(_DURATION)
    return span


def _span(text: str) -> timedelta | None:
    number = text.rstrip("dhms")
    seconds = _UNITS.get(text[len(number) :] or "s")
    if seconds is None or not _ASCII_NUMBER.fullmatch(number.strip()):
        return None
    try:
        return timedelta(seconds=float(number) * seconds)
    except OverflowError:
        return None


def _listed(value: object) -> tuple[str, ...]:
    """Split text at commas and white space; a tuple from the command line stays as it is."""
    if isinstance(value, str):
        return tuple(value.replace(",", " ").split())
    return tuple(str(item) for item in value) if isinstance(value, tuple) else ()


def _networks(value: object) -> tuple[IPv4Network | IPv6Network, ...]:
    try:
        return tuple(ip_network(item) for item in _listed(value))
    except ValueError:
        raise ValueError(
            "IP addresses and networks such as ::1 or 10.0.0.0/8, without bits behind the mask"
        ) from None


def _mailed_events(value: object) -> tuple[str, ...]:
    from gateway.domain.mail import EVENT_MAILS  # noqa: PLC0415 - 1 MB of the supervisor

    names = tuple(name.upper() for name in _listed(value))
    if not EVENT_MAILS.keys() >= set(names):
        raise ValueError(f"names of {', '.join(EVENT_MAILS)}")
    return names


def _header_names(value: object) -> tuple[str, ...]:
    names = _listed(value)
    if not all(_HEADER_NAME.fullmatch(name) for name in names):
        raise ValueError("names of headers: letters, digits, hyphens, underscores and dots")
    return names


def _file(value: object) -> Path:
    path = Path(str(value))
    if "\0" in str(value) or not path.is_file():
        raise ValueError("the path of a file that exists")
    return path


def _folder(value: object) -> Path:
    path = _path(value)
    if not path.is_dir():
        raise ValueError("a folder that exists")
    return path


def _files(value: object) -> tuple[Path, ...]:
    return tuple(_file(item) for item in _listed(value))


def _web_urls(value: object) -> tuple[str, ...]:
    urls = tuple(map(str, _listed(value)))
    if len(urls) > _MOST_URLS or not all(map(_WEB_URL.fullmatch, urls)):
        raise ValueError(f"at most {_MOST_URLS} URLs that begin with http:// or https://")
    return urls


def _path(value: object) -> Path:
    if "\0" in str(value):
        raise ValueError("a path")
    return Path(str(value)).absolute()


def _secret(value: object) -> object:
    return Secret(value) if isinstance(value, str) else value


def _long_enough(value: Secret) -> Secret:
    if len(value.reveal()) < _SHORTEST_PROXY_SECRET:
        raise ValueError(f"at least {_SHORTEST_PROXY_SECRET} characters")
    return value


def _refused(check: Callable[[Secret], object], value: Secret) -> Secret:
    """Return the secret if its user accepts it."""
    try:
        check(value)
    except InvalidInput as refusal:
        raise ValueError(", ".join(error.allowed for error in refusal.errors)) from None
    return value


def _database(value: Secret) -> Secret:
    _refused(parse_database_url, value)
    # Several hosts, each with its port, are libpq's own notation.
    host = value.reveal().partition("://")[2].partition("/")[0].partition("?")[0].rpartition("@")[2]
    port = _PORT_OF_HOST.fullmatch(host)
    if "," not in host and (port is None or not int(port[1] or 1) < 1 << 16):
        raise ValueError("sqlite:///PATH, or postgresql://... with a host and a port up to 65535")
    return value


def _redis(value: Secret) -> Secret:
    from gateway.storage.redis.connection import create_client  # noqa: PLC0415 - 8 MB

    return _refused(create_client, value)


def _keys(value: Secret) -> Secret:
    from gateway.crypto.secrets_at_rest import parse_keys  # noqa: PLC0415 - 10 MB

    try:
        parse_keys(value.reveal(), "key")
    except InvalidInput:
        raise ValueError("keys of 32 bytes each in base64, separated by white space") from None
    return value


def _address(value: object) -> UnixAddress | TcpAddress:
    if isinstance(value, UnixAddress | TcpAddress):
        return value
    text = str(value)
    if text.startswith("unix:"):
        path = _path(text.removeprefix("unix:"))
        if len(os.fsencode(path)) > _UNIX_PATH_LIMIT:
            raise ValueError(f"unix: and a path of at most {_UNIX_PATH_LIMIT} bytes")
        return UnixAddress(path)
    host, _, port = text.rpartition(":")
    if not host or not _WHOLE_NUMBER.fullmatch(port) or not 0 < int(port) < 1 << 16:
        raise ValueError("unix:PATH or HOST:PORT")
    return TcpAddress(host.removeprefix("[").removesuffix("]"), int(port))


Duration = Annotated[timedelta, _duration]
Flag = Annotated[bool, _flag]
Port = Annotated[int, whole_number(1, 65_535)]
PublicUrl = Annotated[str, public_url]
Address = Annotated[UnixAddress | TcpAddress, _address]
Networks = Annotated[tuple[IPv4Network | IPv6Network, ...], _networks]
MailedEvents = Annotated[tuple[str, ...], _mailed_events]
ExistingFile = Annotated[Path, _file]
ExistingFiles = Annotated[tuple[Path, ...], _files]
WebUrls = Annotated[tuple[str, ...], _web_urls]
ExistingFolder = Annotated[Path, _folder]
AbsolutePath = Annotated[Path, _path]
HeaderName = Annotated[str, certificate_header_name]
HeaderNames = Annotated[tuple[str, ...], _header_names]
VerdictHeaderName = Annotated[str, verdict_header_name]
SecretText = Annotated[Secret, _secret]
ProxySecret = Annotated[SecretText, _long_enough]
DatabaseUrl = Annotated[SecretText, _database]
RedisUrl = Annotated[SecretText, _redis]
EncryptionKeys = Annotated[SecretText, _keys]


def written(value: Any) -> str:
    """Return the text that reads as `value`; of an address only the password is hidden."""
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case timedelta():
            return _written_duration(value)
        case tuple():
            return ",".join(map(str, value))
        case Secret():
            return _written_secret(value.reveal())
        case _:
            return str(value)


def _written_duration(span: timedelta) -> str:
    microseconds = span // _SHORTEST
    if microseconds % 1_000_000 == 0:
        return f"{microseconds // 1_000_000}s"
    return f"{microseconds // 1000}.{microseconds % 1000:03}".rstrip("0").rstrip(".") + "ms"


def _written_secret(text: str) -> str:
    if "://" not in text:
        return HIDDEN
    masked = _PASSWORD_IN_URL.sub(rf"\g<user>:{HIDDEN}@", text)
    return _PARAMETER.sub(rf"\1{HIDDEN}", masked)
