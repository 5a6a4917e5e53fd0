"""Rules of a site: JSON or TOML to `Rule` and back."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from gateway.domain.errors import FieldError
from gateway.domain.forward_auth import CertificateName, Credential, Rule
from gateway.representations.field_table import FieldTable, Given, Setting
from gateway.representations.forward_auth.fields import (
    CLIENT_ROLE,
    GROUP,
    METHOD,
    NAME,
    PLAIN_NAME,
    SCOPE,
    Checked,
    Members,
    Path,
)
from gateway.representations.refusals import (
    join,
    mistyped,
    parse_each,
    raise_all,
    refused_items,
    unknown_fields,
)
from gateway.representations.shapes import Choice, Flag, Shape

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
            Checked(most=_LONGEST_CERTIFICATE_NAME, check=CertificateName.parse),
        ),
        Setting("accepts", "accepts", Members(Choice(Credential), collect=frozenset)),
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
    elif Credential.BEARER not in rule.accepts:
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
