"""The shapes of single fields of sites and rules: what each accepts, its error text."""

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Final

from gateway.domain.errors import FieldError
from gateway.domain.forward_auth import (
    AmbiguousTarget,
    BearerAudience,
    PathPattern,
    canonical_site_host,
)
from gateway.domain.groups import canonical_group_path, parse_group_path
from gateway.domain.roles import parse_client_role, render_client_role
from gateway.representations.client_scopes import is_scope_name
from gateway.representations.refusals import (
    parse_each,
    raise_all,
    refused,
    refused_items,
    refused_text,
    repeated_names,
)
from gateway.representations.shapes import Choice, Shape, Text, Verbatim

LONGEST_PATH: Final = 1000
_LONGEST_HOST: Final = 255
_NAME: Final = re.compile("[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_METHOD: Final = re.compile("[A-Z][A-Z0-9_-]{0,31}")
_DOMAIN: Final = re.compile(r"[a-z0-9-]+(\.[a-z0-9-]+)*\.[a-z][a-z0-9-]*")


@dataclass(frozen=True, slots=True)
class Members:
    """A list of one to `most` different texts; `collect` makes the domain's collection of them."""

    item: Shape
    most: int = 100
    collect: Callable[[list[Any]], Collection[Any]] = tuple

    def read(self, value: Any, path: str) -> Collection[Any]:
        if not isinstance(value, list) or not 0 < len(value) <= self.most:
            raise refused_items(path, value, list, f"a list of 1 to {self.most}")
        items = parse_each(value, self.item.read, path)
        texts = (str(self.item.write(item)) for item in items)
        raise_all(repeated_names(texts, path, "each of them once"))
        return self.collect(items)

    def write(self, value: Collection[Any] | None) -> list[Any] | None:
        if value is None:
            return None
        written = [self.item.write(item) for item in value]
        return written if isinstance(value, tuple) else sorted(written)


@dataclass(frozen=True, slots=True)
class Matching(Verbatim):
    """Text that matches a pattern as a whole."""

    pattern: re.Pattern[str]
    allowed: str

    def read(self, value: Any, path: str) -> str:
        if not isinstance(value, str) or self.pattern.fullmatch(value) is None:
            raise refused_text(path, value, self.allowed)
        return value


NAME: Final = Matching(
    _NAME, "1 to 64 letters, digits, dots, hyphens and underscores, a letter or digit first"
)
METHOD: Final = Matching(_METHOD, "a method in capitals, such as GET")
COOKIE_DOMAIN: Final = Matching(_DOMAIN, "a domain of two labels or more, such as example.org")


class Host(Verbatim):
    """A host of a site, with its port where that is not the one of https; `*.` is all below."""

    def read(self, value: Any, path: str) -> str:
        if not isinstance(value, str) or len(value) > _LONGEST_HOST:
            raise refused_text(path, value, f"a host name of at most {_LONGEST_HOST} characters")
        try:
            return canonical_site_host(value)
        except AmbiguousTarget as refusal:
            sentence = f"{value!a}: {refusal}"
            error = FieldError(path, "a wrong host", "a host name", sentence=sentence)
            raise_all((error,))
            raise


class Path:
    """A path, or a path and all below it; decoded, as rules compare it."""

    def read(self, value: Any, path: str) -> PathPattern:
        allowed = f"a path such as /admin or /admin/* of at most {LONGEST_PATH} characters"
        if not isinstance(value, str) or not 0 < len(value) <= LONGEST_PATH:
            raise refused_text(path, value, allowed)
        try:
            return PathPattern(value)
        except ValueError as refusal:
            raise refused(path, value, f"{allowed} ({refusal})") from refusal

    def write(self, value: PathPattern) -> str:
        return value.text


class BearerAudienceOrNone(Choice[BearerAudience]):
    """What the `aud` of bearer tokens needs; None where it was never chosen."""

    def write(self, value: BearerAudience | None) -> Any:
        return None if value is None else value.value


@dataclass(frozen=True, slots=True)
class Checked(Text):
    """Text of 1 to 255 characters that `check` accepts; it raises ValueError for others.

    `canonical` returns the spelling with which identities are compared.
    """

    least: int = 1
    most: int = 255
    check: Callable[[str], object] = str
    allowed: str = ""
    canonical: Callable[[str], str] = str

    def read(self, value: Any, path: str) -> str:
        text = Text.read(self, value, path)
        try:
            self.check(text)
        except ValueError as refusal:
            raise refused(path, value, self.allowed or str(refusal)) from refusal
        return self.canonical(text)


def _check_client_role(text: str) -> None:
    client, role = parse_client_role(text)
    if not client or not role:
        raise ValueError("no client or no role")


def _canonical_client_role(text: str) -> str:
    return render_client_role(*parse_client_role(text))


def _check_scope(text: str) -> None:
    if not is_scope_name(text):
        raise ValueError("no name of a scope")


def _check_group(text: str) -> None:
    names = parse_group_path(text)
    if not text.startswith("/") or not names or not all(names):
        raise ValueError("no path of a group")


PLAIN_NAME: Final = Checked()
CLIENT_ROLE: Final = Checked(
    check=_check_client_role,
    allowed="client/role, `~/` for a slash in the role",
    canonical=_canonical_client_role,
)
SCOPE: Final = Checked(check=_check_scope, allowed="the name of a scope")
GROUP: Final = Checked(
    check=_check_group,
    allowed="the path of a group, such as /staff/juniors, `~/` for a slash in a name",
    canonical=canonical_group_path,
)
