"""Rules of protected sites: JSON or TOML to `Rule` and back, and rules that never decide.

A rule never decides where rules before it decide every request that it matches. It is a mistake
that opens what it was to close: `/*` comes before `/admin/*`.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from gateway.domain.certificate_names import CertificateName
from gateway.domain.errors import FieldError
from gateway.domain.forward_auth import AcceptedCredential, BearerAudience, PathPattern, Rule
from gateway.domain.groups import canonical_group_path, parse_group_path
from gateway.domain.hosts import AmbiguousTarget, canonical_site_host
from gateway.domain.roles import parse_client_role, render_client_role
from gateway.representations.client_scopes import is_scope_name
from gateway.representations.field_table import FieldTable, Given, Setting
from gateway.representations.refusals import (
    join,
    mistyped,
    parse_each,
    raise_all,
    refused,
    refused_items,
    refused_text,
    repeated_names,
    unknown_fields,
)
from gateway.representations.shapes import Choice, Flag, Shape, Text, Verbatim

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
class MatchingText(Verbatim):
    """Text that matches a pattern as a whole."""

    pattern: re.Pattern[str]
    allowed: str

    def read(self, value: Any, path: str) -> str:
        if not isinstance(value, str) or self.pattern.fullmatch(value) is None:
            raise refused_text(path, value, self.allowed)
        return value


NAME: Final = MatchingText(
    _NAME, "1 to 64 letters, digits, dots, hyphens and underscores, a letter or digit first"
)
METHOD: Final = MatchingText(_METHOD, "a method in capitals, such as GET")
COOKIE_DOMAIN: Final = MatchingText(_DOMAIN, "a domain of two labels or more, such as example.org")


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
    """The audience that bearer tokens need; None where it was never chosen."""

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


MOST_RULES: Final = 1000
_LONGEST_CERTIFICATE_NAME: Final = 1000
_NEW: Final = Rule(name="", paths=())
_ALWAYS: Final = ("name", "paths")


def _requirement(name: str, attribute: str, item: Shape) -> Setting:
    return Setting(name, attribute, Members(item), omit_empty=True, group="requirements")


RULE_FIELDS: Final = FieldTable(
    (
        Setting("name", "name", NAME),
        Setting("paths", "paths", Members(Path())),
        Setting("methods", "methods", Members(METHOD, collect=frozenset)),
        Setting("anonymous", "anonymous", Flag(), omit_empty=True),
        _requirement("realmRoles", "realm_roles", PLAIN_NAME),
        _requirement("clientRoles", "client_roles", CLIENT_ROLE),
        _requirement("scopes", "scopes", SCOPE),
        _requirement("groups", "groups", GROUP),
        _requirement("clients", "clients", PLAIN_NAME),
        _requirement(
            "certificates",
            "certificates",
            Checked(most=_LONGEST_CERTIFICATE_NAME, check=CertificateName.parse_name),
        ),
        Setting("accepts", "accepts", Members(Choice(AcceptedCredential), collect=frozenset)),
        Setting("boundOnly", "bound_only", Flag(), omit_empty=True),
        Setting("audiences", "audiences", Members(PLAIN_NAME), omit_empty=True),
    )
)


class RuleList:
    """The rules of a site, in the order in which they are tried."""

    def read(self, value: Any, path: str) -> tuple[Rule, ...]:
        if not isinstance(value, list) or len(value) > MOST_RULES:
            raise refused_items(path, value, list, f"a list of at most {MOST_RULES} rules")
        return tuple(parse_each(value, _read_rule, path))

    def write(self, value: tuple[Rule, ...]) -> list[dict[str, Any]]:
        return [_render_rule(rule) for rule in value]


def collect_fields(
    table: FieldTable, document: Any, path: str, what: str, errors: list[FieldError]
) -> Given:
    """Return the fields that were given; notes unknown names, and each of `name` and the like."""
    if not isinstance(document, Mapping):
        raise mistyped(path or what, document, "an object")
    given = table.collect(document, path, errors)
    errors.extend(unknown_fields(path, given, f"a {what}", table.shapes))
    return given


def missing_fields(given: Given, names: tuple[str, ...], path: str) -> Iterator[FieldError]:
    """Yield an error for each of the names that was not given."""
    for name in names:
        if name not in given:
            yield FieldError(join(path, name), "nothing", "a value", sentence="it is missing")


def _read_rule(document: Any, path: str) -> Rule:
    errors: list[FieldError] = []
    given = collect_fields(RULE_FIELDS, document, path, "rule", errors)
    errors.extend(missing_fields(given, _ALWAYS, path))
    updates = RULE_FIELDS.read_settings(given, errors)
    raise_all(errors)
    rule = RULE_FIELDS.updated(_NEW, updates)
    raise_all(_contradictions(rule, given))
    return rule


def _contradictions(rule: Rule, given: Given) -> Iterator[FieldError]:
    """Yield the fields that have no effect together with others."""
    if rule.anonymous:
        without_effect = (rule.requirements, rule.accepts) != (_NEW.requirements, _NEW.accepts)
        if without_effect or rule.bound_only or rule.audiences:
            sentence = "an anonymous rule lets every caller pass, so it cannot require anything"
            yield FieldError(given["anonymous"][0], "true", "false", sentence=sentence)
    elif AcceptedCredential.BEARER not in rule.accepts:
        sentence = "it is about bearer tokens, which the rule does not accept"
        if rule.bound_only:
            yield FieldError(given["boundOnly"][0], "true", "false", sentence=sentence)
        if rule.audiences:
            yield FieldError(given["audiences"][0], "a list", "nothing", sentence=sentence)


def _render_rule(rule: Rule) -> dict[str, Any]:
    written = RULE_FIELDS.answer(rule, {})
    if rule.anonymous or rule.accepts == _NEW.accepts:
        del written["accepts"]
    return written


_BELOW: Final = "/*"


def unreachable_rules(rules: Sequence[Rule]) -> Iterator[tuple[int, Rule]]:
    """Yield the place of each rule that never decides, and the first rule that decides instead."""
    decided: dict[str, _Decided] = {}
    for place, rule in enumerate(rules):
        methods = rule.decided_methods
        earlier = [_first_decider(decided, pattern, methods) for pattern in rule.paths]
        known = [found for found in earlier if found is not None]
        if earlier and len(known) == len(earlier):
            yield place, known[0]
        for pattern in rule.paths:
            decided.setdefault(pattern.text, _Decided()).add_rule(rule, methods)


class _Decided:
    """The decisions of the rules so far at one pattern: their methods, None for every method."""

    def __init__(self) -> None:
        self.methods: frozenset[str] | None = frozenset()
        self.first: Rule | None = None

    def add_rule(self, rule: Rule, methods: frozenset[str] | None) -> None:
        self.first = self.first or rule
        self.methods = _united(self.methods, methods)


def _first_decider(
    decided: dict[str, _Decided], pattern: PathPattern, methods: frozenset[str] | None
) -> Rule | None:
    """Return a rule before that decides all requests of the pattern, together with others."""
    united: frozenset[str] | None = frozenset()
    first: Rule | None = None
    for text in _covering(pattern):
        found = decided.get(text)
        if found is not None:
            united = _united(united, found.methods)
            first = first or found.first
    is_covered = united is None or (methods is not None and methods <= united)
    return first if is_covered else None


def _covering(pattern: PathPattern) -> Iterator[str]:
    """Yield the texts of all patterns that match everything which this one matches."""
    yield pattern.text
    path = pattern.path
    if not pattern.covers_below:
        yield f"{path.rstrip('/')}{_BELOW}"
    while path:
        path = path.rpartition("/")[0]
        yield f"{path}{_BELOW}"


def _united(one: frozenset[str] | None, other: frozenset[str] | None) -> frozenset[str] | None:
    return None if one is None or other is None else one | other
