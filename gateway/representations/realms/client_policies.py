"""Client policies and profiles, in Keycloak's shape.

Keycloak: ClientProfilesRepresentation, ClientPoliciesRepresentation
"""

from collections.abc import Mapping
from typing import Any, Final

from gateway.client_policies import (
    ClientPolicy,
    executor_problem,
    list_global_profiles,
    read_policies,
)
from gateway.domain.errors import FieldError, InvalidInput
from gateway.domain.realm import Realm
from gateway.representations.field_table import FieldNames, FieldTable, StoredOnly
from gateway.representations.realms.realm import parse_realm, render_realm
from gateway.representations.realms.refused_settings import GLOBAL_PROFILES
from gateway.representations.refusals import (
    join,
    mistyped,
    raise_all,
    refused_items,
    require_known,
)
from gateway.representations.shapes import Flag, Text, TextList, Verbatim, VerbatimObject

_MOST: Final = 200
_NAME: Final = Text(most=255)


class RefusedPolicies(InvalidInput):
    """What Keycloak refuses by a sentence of its own, which is `str()`."""

    def __init__(self, sentence: str) -> None:
        super().__init__(())
        self.args = (sentence,)


class _Parts(Verbatim):
    """The shape of conditions or executors: each has a name and a configuration."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._representation = f"ClientPolicy{kind.capitalize()}Representation"

    def read(self, value: Any, path: str) -> list[dict[str, Any]]:
        return [self._part(item, at) for item, at in _items(value, path)]

    def _part(self, item: Mapping[str, Any], at: str) -> dict[str, Any]:
        require_known(item, (self._kind, "configuration"), self._representation, at)
        given = item.get("configuration")
        name = Text(least=1, most=255).read(item.get(self._kind), join(at, self._kind))
        configuration = {} if given is None else given
        checked = VerbatimObject().read(configuration, join(at, "configuration"))
        return {self._kind: name, "configuration": checked}


_PROFILE: Final = FieldTable(
    (
        StoredOnly("name", None, _NAME),
        StoredOnly("description", None, Text()),
        StoredOnly("executors", None, _Parts("executor")),
    )
)
_POLICY: Final = FieldTable(
    (
        StoredOnly("name", None, _NAME),
        StoredOnly("description", None, Text()),
        StoredOnly("enabled", default=False, shape=Flag()),
        StoredOnly("mode", None, _NAME),
        StoredOnly("conditions", [], _Parts("condition")),
        StoredOnly("profiles", [], TextList(_NAME)),
    )
)


def render_profiles(realm: Realm) -> dict[str, Any]:
    """Return the profiles of the realm."""
    return dict(render_realm(realm)["clientProfiles"])


def render_policies(realm: Realm) -> dict[str, Any]:
    """Return the policies of the realm."""
    return dict(render_realm(realm)["clientPolicies"])


def policies_of(realm: Realm) -> tuple[ClientPolicy, ...]:
    """Return the enabled policies of the realm, ready to be applied."""
    policies = realm.unmodelled.get("clientPolicies")
    return read_policies(policies, realm.unmodelled.get("clientProfiles")) if policies else ()


def with_profiles(realm: Realm, document: Mapping[str, Any]) -> Realm:
    """Return the realm with other profiles; raises UnknownField, InvalidInput, RefusedPolicies."""
    profiles = _read_entries(
        *(document, "profiles", _PROFILE, "ClientProfile", list_global_profiles()),
        nameless="client profile without its name not allowed.",
        repeated="proposed client profile name duplicated.",
    )
    _require_executors(profiles)
    return parse_realm({"clientProfiles": {"profiles": profiles}}, base=realm)


def with_policies(realm: Realm, document: Mapping[str, Any]) -> Realm:
    """Return the realm with other policies; raises UnknownField, InvalidInput, RefusedPolicies."""
    policies = _read_entries(
        *(document, "policies", _POLICY, "ClientPolicy", []),
        nameless="client policy without name not allowed",
        repeated="proposed client policy name duplicated",
    )
    _require_profiles(policies, realm)
    return parse_realm({"clientPolicies": {"policies": policies}}, base=realm)


def _read_entries(
    document: Mapping[str, Any],
    kind: str,
    table: FieldTable,
    representation: str,
    of_every_realm: list[dict[str, Any]],
    *,
    nameless: str,
    repeated: str,
) -> list[dict[str, Any]]:
    """Return profiles or policies; `nameless` and `repeated` refuse what has no name of its own.

    Those of every realm may be sent back with other descriptions.
    """
    others = f"global{kind.capitalize()}"
    require_known(document, FieldNames((kind, others)), f"Client{kind.capitalize()}Representation")
    if document.get(others) and not _is_same(document[others], of_every_realm):
        raise RefusedPolicies(f"Global {kind} cannot be updated")
    entries = []
    errors: list[FieldError] = []
    for item, at in _items(document.get(kind), kind):
        table.require_known(item, f"{representation}Representation", at)
        given = table.collect(item, at, errors)
        kept = table.read_kept(given, {}, errors)
        raise_all(errors)
        entries.append(table.answer(None, kept))
    names = [entry.get("name") for entry in entries]
    if not all(names):
        raise RefusedPolicies(nameless)
    taken = {profile["name"] for profile in of_every_realm}.intersection(names)
    if taken:
        raise RefusedPolicies(
            f"Proposed profile name '{min(taken)}' is duplicated as a global profile"
        )
    if len(set(names)) != len(names):
        raise RefusedPolicies(repeated)
    return entries


def _is_same(sent: Any, own: list[dict[str, Any]]) -> bool:
    """Return whether names and settings are the same; a description is a text for people."""
    entries = [item for item, _ in _items(sent, "")]
    return [{**entry, "description": ""} for entry in entries] == [
        {**entry, "description": ""} for entry in own
    ]


def _require_executors(profiles: list[dict[str, Any]]) -> None:
    """Raise RefusedPolicies with all that is wrong with the configurations of executors."""
    problems = [
        f"{profile['name']}: {problem}"
        for profile in profiles
        for executor in profile.get("executors") or ()
        if (problem := executor_problem(executor)) is not None
    ]
    if problems:
        raise RefusedPolicies(
            "proposed client profile contains the executor, which does not have valid "
            f"provider, or has invalid configuration. {'; '.join(problems)}"
        )


def _require_profiles(policies: list[dict[str, Any]], realm: Realm) -> None:
    """Raise RefusedPolicies for a policy that names a profile which does not exist.

    A policy would have no effect because of a misspelled name.
    """
    stored = {profile.get("name") for profile in render_profiles(realm).get("profiles") or ()}
    for policy in policies:
        for name in policy.get("profiles") or ():
            if name not in stored and name not in GLOBAL_PROFILES:
                raise RefusedPolicies(f"Policy {policy['name']} contains invalid profile {name}")


def _items(value: Any, path: str) -> list[tuple[Mapping[str, Any], str]]:
    if value is None:
        return []
    if not isinstance(value, list) or len(value) > _MOST:
        raise refused_items(path, value, list, f"a list of at most {_MOST}")
    for index, item in enumerate(value):
        if not isinstance(item, Mapping):
            raise mistyped(f"{path}[{index}]", item, "an object")
    return [(item, f"{path}[{index}]") for index, item in enumerate(value)]
