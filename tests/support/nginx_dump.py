"""What nginx itself says its configuration is (`nginx -T`), as a tree with includes put in."""

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tests.support.nginx import RunningNginx, nginx_command

_FILE = re.compile(r"^# configuration file (?P<path>.+):$", re.MULTILINE)
_TOKEN = re.compile(
    r"""\s+|\#[^\n]*|(?P<quoted>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')"""
    r"""|(?P<mark>[{};])|(?P<word>(?:\$\{|[^\s{};"'\#])(?:\$\{[^}]*\}|[^\s{};])*)"""
)


@dataclass(frozen=True, slots=True)
class Directive:
    """One directive with its arguments, and its block when it has one."""

    arguments: tuple[str, ...]
    block: tuple["Directive", ...]

    @property
    def name(self) -> str:
        """Return the directive's name."""
        return self.arguments[0]

    def children(self, *names: str) -> Iterator["Directive"]:
        """Yield the directives of these names straight below."""
        return (child for child in self.block if child.name in names)

    def walk(self) -> Iterator["Directive"]:
        """Yield every directive below, depth first."""
        for child in self.block:
            yield child
            yield from child.walk()

    def value(self, name: str) -> str:
        """Return the only argument line of a directive below that must stand there once."""
        (child,) = self.children(name)
        return " ".join(child.arguments[1:])


def dump(prefix: Path, configuration: Path) -> Directive:
    """Return the root of the configuration as nginx reads it."""
    command = nginx_command(prefix, configuration, "-T")
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    parts = _FILE.split(text)
    files = dict(zip(parts[1::2], parts[2::2], strict=True))
    return Directive(("root",), _parse(files[str(configuration)], files, configuration.parent))


@dataclass(frozen=True, slots=True)
class Location:
    """A location that proxies, and a URL in it."""

    url: str
    tls: bool


def proxying_locations(nginx: RunningNginx) -> Iterator[Location]:
    """Yield every location that callers can ask for and that proxies, of every server."""
    (http,) = dump(nginx.prefix, nginx.configuration).children("http")
    for server in http.children("server"):
        _, listen, *options = next(server.children("listen")).arguments
        scheme = "https" if "ssl" in options else "http"
        for location in server.walk():
            if location.name == "location" and any(location.children("proxy_pass")):
                modifier, path = ("", *location.arguments[1:])[-2:]
                if path.startswith("@"):
                    continue
                assert "~" not in modifier.replace("^~", ""), f"no sample path for {path}"
                port = listen.rpartition(":")[2]
                yield Location(f"{scheme}://localhost:{port}{path}", scheme == "https")


def _parse(text: str, files: dict[str, str], folder: Path) -> tuple[Directive, ...]:
    block, rest = _block(_tokens(text), files, folder)
    assert not rest, "an unopened block ends"
    return block


def _tokens(text: str) -> list[str]:
    position, tokens = 0, []
    while position < len(text):
        match = _TOKEN.match(text, position)
        assert match, f"unreadable: {text[position : position + 40]!r}"
        position = match.end()
        if match.lastgroup:
            tokens.append(match.group())
    return tokens


def _block(
    tokens: list[str], files: dict[str, str], folder: Path
) -> tuple[tuple[Directive, ...], list[str]]:
    directives: list[Directive] = []
    arguments: list[str] = []
    while tokens:
        token, *tokens = tokens
        if token == "}":
            return tuple(directives), ["}", *tokens]
        if token not in {";", "{"}:
            arguments.append(token.strip("\"'"))
            continue
        inner: tuple[Directive, ...] = ()
        if token == "{":
            inner, tokens = _block(tokens, files, folder)
            assert tokens.pop(0) == "}"
        if arguments[0] == "include":
            for name in _matching(str(folder / arguments[1]), files):
                directives += _parse(files[name], files, folder)
        else:
            directives.append(Directive(tuple(arguments), inner))
        arguments = []
    return tuple(directives), []


def _matching(pattern: str, files: dict[str, str]) -> list[str]:
    if "*" not in pattern:
        return [pattern]
    return sorted(name for name in files if PurePosixPath(name).match(pattern))
