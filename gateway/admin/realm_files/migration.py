"""Files of earlier versions, and what a new realm of such a file has in version 26.7.

A file that names its `keycloakVersion` is brought up to date version by version, before anything
of it is read; one that names none is taken as it is. What no realm of this product has (themes
of Red Hat, LDAP, rights of administrators by policy) stays as it is.

A file that is merged into a realm is migrated as well, so that its second import changes nothing;
objects that a migration would add are left to the realm where the realm has them.
"""

import re
from collections.abc import Mapping
from itertools import count
from typing import Any, Final

from gateway.admin.realm_files.early_versions import EARLY_STEPS
from gateway.admin.realm_files.migration_steps import (
    ACTIONS,
    ALWAYS,
    EXECUTIONS,
    FLOWS,
    NEW_REALM,
    SCOPES,
    Document,
    KnownObjects,
    Step,
    Version,
    add_action,
    add_scope,
    alias_of,
    change_clients,
    flows_below,
    flows_of,
    objects_of,
    steps_of,
    without_authenticator,
    without_flow,
)
from gateway.domain.flows import DEFAULT_ACTIONS, Flows, default_configs, default_flows
from gateway.domain.realm import MASTER
from gateway.representations.flows import render_action, render_flow
from gateway.representations.stored_user_profile import (
    allowing_unmanaged_attributes,
    brings_profile,
)

_BROWSER: Final = "browser"
_ORGANIZATION: Final = ("Organization", "Browser - Conditional Organization")


def with_organization_step(document: Document, known: KnownObjects) -> None:
    """Add the step that asks for the organization to the browser flow, unless a part has it."""
    flows = flows_of(document)
    browser = flows.get(_BROWSER)
    if browser is None or flows.keys() & {*_ORGANIZATION}:
        return
    steps = [step for flow in flows_below(flows, _BROWSER) for step in steps_of(flow)]
    if any(step.get("authenticator") == "organization" for step in steps):
        return
    default = _default_flows()
    added = [
        step for step in default[_BROWSER][EXECUTIONS] if step.get("flowAlias") in _ORGANIZATION
    ]
    document[FLOWS] = [
        {**flow, EXECUTIONS: [*steps_of(flow), *added]} if flow is browser else flow
        for flow in document[FLOWS]
    ] + [default[alias] for alias in _ORGANIZATION if alias not in known.flows]


def _default_flows() -> dict[str, dict[str, Any]]:
    """Return the flows of a new realm as a file has them, by alias, without their ids."""
    flows, configs = Flows(default_flows("").values()), default_configs("")
    rendered = [render_flow(flows, flow, configs) for flow in flows]
    return {
        flow["alias"]: {name: value for name, value in flow.items() if name != "id"}
        for flow in rendered
    }


_VERSION: Final = re.compile(r"([0-9]{1,4})(?:\.([0-9]{1,4}))?(?:\.([0-9]{1,4}))?(?:[.-].*)?")
_PRODUCT: Final = re.compile(r"7\.([0-4])\.[0-9]{1,4}\.GA")
_OF_PRODUCT: Final[Mapping[str, Version]] = {
    "0": (1, 9, 8),
    "1": (2, 5, 5),
    "2": (3, 4, 3),
    "3": (4, 8, 3),
    "4": (9, 0, 3),
}
"""Versions of Keycloak in Red Hat Single Sign-On 7.0 to 7.4, whose files name its own."""
_ITERATIONS: Final = re.compile(r"hashIterations\([0-9]*\)")
_VIEW_GROUPS: Final = "view-groups"
_LIGHTWEIGHT: Final = "client.use.lightweight.access.token.enabled"
_PROFILE_ENABLED: Final = "userProfileEnabled"

_PARAMETERIZED: Final = {
    "is.dynamic.scope": "is.parameterized.scope",
    "dynamic.scope.regexp": "parameterized.scope.regexp",
}


def migrated(document: Mapping[str, Any], known: KnownObjects = NEW_REALM) -> Mapping[str, Any]:
    """Return the file of a realm as one of Keycloak 26.7.

    What has another type than it should have is left to the readers, which refuse it.
    """
    version = _version_of(document.get("keycloakVersion"))
    found = dict(document)
    for since, steps in _STEPS:
        if version is not None and version < since:
            for step in steps:
                step(found, known)
    return found


def _version_of(text: object) -> Version | None:
    found = _VERSION.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        return None
    product = _PRODUCT.fullmatch(found.string)
    if product is not None:
        return _OF_PRODUCT[product[1]]
    major, minor, patch = (int(part or 0) for part in found.groups())
    return major, minor, patch


def _reorder_actions(document: Document, known: KnownObjects) -> None:
    """Ask for a one-time password and for a new password after the address is verified."""
    actions = objects_of(document, ACTIONS)
    if known.is_new and actions is None and document.get(ACTIONS) is None:
        actions = [render_action(each) for each in DEFAULT_ACTIONS]
    places = {alias_of(each): each.get("priority", 0) for each in actions or ()}
    verified = places.get("VERIFY_EMAIL")
    if actions is None or not isinstance(verified, int):
        return
    otp, password = "CONFIGURE_TOTP", "UPDATE_PASSWORD"
    if (verified, places.get(otp), places.get(password)) == (50, 10, 30):
        moved = {otp: 54, password: 57}
    else:
        moved, last = {}, verified
        taken = {place for place in places.values() if isinstance(place, int)}
        for alias in (each for each in (otp, password) if each in places):
            last = next(place for place in count(last + 1) if place not in taken)
            moved[alias] = last
    document[ACTIONS] = [
        {**each, "priority": moved.get(alias_of(each), each.get("priority", 0))} for each in actions
    ]


def _lighten_tokens_of_administrators(document: Document, _known: KnownObjects) -> None:
    def lighten(client: Document) -> None:
        if client.get("clientId") in ("security-admin-console", "admin-cli"):
            client["fullScopeAllowed"] = True
            attributes = client.get("attributes") or {}
            if isinstance(attributes, Mapping):
                client["attributes"] = {**attributes, _LIGHTWEIGHT: "true"}

    change_clients(document, lighten)


def _rename_parameterized_scopes(document: Document, _known: KnownObjects) -> None:
    """Give the attributes of parameterized client scopes their present names."""
    scopes = objects_of(document, SCOPES)
    if scopes is None:
        return
    document[SCOPES] = [
        {
            **each,
            "attributes": {
                _PARAMETERIZED.get(name, name): text for name, text in each["attributes"].items()
            },
        }
        if isinstance(each.get("attributes"), Mapping)
        else each
        for each in scopes
    ]


def _allow_unmanaged_attributes(document: Document, known: KnownObjects) -> None:
    """Let users have attributes that the profile does not name, unless it was in use already."""
    attributes = document.get("attributes")
    enabled = False
    if isinstance(attributes, Mapping):
        enabled = str(attributes.get(_PROFILE_ENABLED)).lower() == "true"
        document["attributes"] = {
            name: text for name, text in attributes.items() if name != _PROFILE_ENABLED
        }
    components = document.get("components")
    if not enabled and (known.is_new or brings_profile(components)):
        document["components"] = allowing_unmanaged_attributes(components)


def _bind_first_broker_login(document: Document, known: KnownObjects) -> None:
    """Bind the flow of the file in a new realm: each other realm has such a flow already."""
    if not known.is_new:
        return
    flows = objects_of(document, "authenticationFlows")
    alias = "first broker login"
    if any(each.get("alias") == alias for each in flows or ()):
        document["firstBrokerLoginFlow"] = alias


def _set_theme(name: str, *before: str) -> Step:
    def change(document: Document, _known: KnownObjects) -> None:
        if document.get(name) in before:
            document[name] = "keycloak.v2"

    return change


def _add_organization_step(document: Document, known: KnownObjects) -> None:
    if document.get("realm") != MASTER:
        with_organization_step(document, known)


def _drop_former_iterations(document: Document, _known: KnownObjects) -> None:
    """Hash as often as is usual: the policy counts for an algorithm that is the default no more."""
    policy = document.get("passwordPolicy")
    if isinstance(policy, str) and "hashAlgorithm(" not in policy:
        rules = [rule.strip() for rule in policy.split(" and ")]
        kept = [rule for rule in rules if not _ITERATIONS.fullmatch(rule)]
        if kept != rules:
            document["passwordPolicy"] = " and ".join(kept)


def _show_groups_in_account_console(document: Document, _known: KnownObjects) -> None:
    """Put the role for it into the scope of the console, where the file knows no such role."""
    roles = document.get("roles")
    of_clients = roles.get("client") if isinstance(roles, Mapping) else None
    listed = objects_of(of_clients, "account") if isinstance(of_clients, Mapping) else None
    clients = objects_of(document, "clients") or ()
    brings = listed is not None or any(each.get("clientId") == "account" for each in clients)
    mappings = document.get("clientScopeMappings") or {}
    if not brings or any(each.get("name") == _VIEW_GROUPS for each in listed or ()):
        return
    if isinstance(mappings, Mapping) and isinstance(mappings.get("account", []), list):
        added = {"client": "account-console", "roles": [_VIEW_GROUPS]}
        of_account = [*mappings.get("account", []), added]
        document["clientScopeMappings"] = {**mappings, "account": of_account}


_STEPS: Final[tuple[tuple[Version, tuple[Step, ...]], ...]] = (
    *EARLY_STEPS,
    ((18, 0, 0), (add_scope("acr", ALWAYS),)),
    ((20, 0, 0), (_show_groups_in_account_console,)),
    ((21, 0, 0), (_set_theme("adminTheme", "keycloak", "rh-sso"),)),
    (
        (22, 0, 0),
        (
            without_flow("http challenge"),
            _set_theme("accountTheme", "keycloak", "rh-sso", "rh-sso.v2"),
        ),
    ),
    ((23, 0, 0), (without_authenticator("registration-profile-action"),)),
    ((24, 0, 0), (_allow_unmanaged_attributes, _bind_first_broker_login)),
    ((24, 0, 3), (add_action("delete_credential"),)),
    ((25, 0, 0), (add_scope("basic", ALWAYS), _drop_former_iterations)),
    ((26, 0, 0), (_lighten_tokens_of_administrators,)),
    ((26, 1, 0), (add_scope("service_account"),)),
    ((26, 3, 0), (add_action("idp_link"),)),
    ((26, 6, 1), (_add_organization_step,)),
    (
        (26, 7, 0),
        (
            _reorder_actions,
            _rename_parameterized_scopes,
            add_scope("AuthnContextClassRef", ALWAYS),
        ),
    ),
)
"""What each version changes of the files before it, in their order."""
