"""Old forms of members of a realm file, rewritten as Keycloak 26.7 writes them.

Keycloak reads them in files of any version, and in files without a version. What has another type
than it should have is left to the readers, which refuse it.
Keycloak: realm import (requirement OPTIONAL, terms_and_conditions, credentials of users before 7.0,
authorizationServicesEnabled)
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from gateway.admin.realm_files.former_clients import with_current_clients
from gateway.domain.flows import REQUIRED_ACTIONS, TERMS_AND_CONDITIONS
from gateway.domain.users import PASSWORD_TYPES
from gateway.representations.keys import KEY_PROVIDER_TYPE
from gateway.representations.repeated_settings import LISTED_IF_GIVEN, NEVER_LISTED
from gateway.representations.shapes import text_of_scalar

_CONDITION: Final = "conditional-user-configured"
_OTP_TYPES: Final = frozenset({"totp", "hotp"})
_MOST_DIGITS: Final = 18
_NUMBERS: Final = {"hashIterations": 1, "digits": 0, "counter": 0, "period": 0}
"""Members of old credentials, with what counts where they are left out."""
_ACTION_LIFESPAN: Final = "accessCodeLifespanUserAction"
_LINK_LIFESPAN: Final = "actionTokenGeneratedByUserLifespan"
_HEADER: Final = "_browser_header."
_ENCRYPTING: Final = {"rsa-generated": "rsa-enc-generated", "rsa": "rsa-enc"}
"""Providers of keys, with those of the same keys for encryption."""
_ACTION_NAMES: Final = {each.casefold(): each for each in REQUIRED_ACTIONS}

Document = dict[str, Any]


def with_current_members(document: Mapping[str, Any], *, is_new: bool = True) -> Mapping[str, Any]:
    """Return the document without old forms; `is_new` of the realm that it is imported into."""
    rewritten = with_current_clients(document, is_new=is_new)
    flows = document.get("authenticationFlows")
    if isinstance(flows, list):
        rewritten["authenticationFlows"] = [*_with_conditional_flows(flows)]
    for name, change in (
        ("requiredActions", _with_current_action),
        ("users", with_current_user),
        ("clients", _with_service_account),
    ):
        if name in rewritten:
            rewritten[name] = _change_each(rewritten, name, change)
    _list_settings(rewritten, is_new=is_new)
    components = rewritten.get("components")
    if isinstance(components, Mapping) and KEY_PROVIDER_TYPE in components:
        keys = _change_each(components, KEY_PROVIDER_TYPE, _with_use_of_key)
        rewritten["components"] = {**components, KEY_PROVIDER_TYPE: keys}
    return rewritten


def _list_settings(document: Document, *, is_new: bool) -> None:
    """Keep each setting where Keycloak 26.7 shows it: as a field, as an attribute, or as both.

    Of a field and an attribute that differ an import takes the attribute.
    """
    attributes = document.get("attributes")
    if isinstance(attributes, Mapping):
        for name in LISTED_IF_GIVEN | NEVER_LISTED:
            text = attributes.get(name)
            if _is_plain(text) and text_of_scalar(document.get(name)) != text:
                document[name] = text
        document["attributes"] = attributes = {
            name: text
            for name, text in attributes.items()
            if not _repeats_field(name, text, document)
        }
    if not is_new:
        return
    lifespan = document.get(_ACTION_LIFESPAN)
    if lifespan is not None:
        document.setdefault(_LINK_LIFESPAN, lifespan)


def _is_plain(text: Any) -> bool:
    """Return whether the text of an attribute is a number or a switch."""
    return isinstance(text, str) and (text.isdecimal() or text in ("true", "false"))


def _repeats_field(name: str, text: Any, document: Mapping[str, Any]) -> bool:
    """Return whether an attribute repeats a field of the realm, as exports before 4.0 do."""
    if name.startswith(_HEADER):
        headers = document.get("browserSecurityHeaders")
        found = isinstance(headers, Mapping) and headers.get(name.removeprefix(_HEADER)) == text
    else:
        found = name in NEVER_LISTED and document.get(name) is not None
        found = found and text_of_scalar(document[name]) == text
    return bool(found)


def _with_use_of_key(component: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a key; a setting of RSA keys said that they encrypt, before version 17.

    Keycloak 26.7 makes a key of it that is listed as RS256 for encryption, and used by nothing.
    """
    provider, config = component.get("providerId"), component.get("config")
    if not isinstance(provider, str) or not isinstance(config, Mapping):
        return component
    encrypting = _ENCRYPTING.get(provider)
    uses = config.get("keyUse")
    of_encryption = isinstance(uses, list) and [str(use).lower() for use in uses] == ["enc"]
    if encrypting is None or not of_encryption:
        return component
    kept = {name: value for name, value in config.items() if name not in ("keyUse", "algorithm")}
    return {**component, "providerId": encrypting, "config": kept}


def _change_each(
    document: Mapping[str, Any], name: str, change: Callable[[Mapping[str, Any]], Any]
) -> Any:
    """Return a list of the document with each object changed; what is no list as it is."""
    items = document.get(name)
    if not isinstance(items, list):
        return items
    return [change(item) if isinstance(item, Mapping) else item for item in items]


def _with_conditional_flows(flows: list[Any]) -> list[Any]:
    """Return the flows; each execution OPTIONAL is required in a conditional flow of its own."""
    found: list[Any] = []
    for flow in flows:
        added: list[Document] = []
        steps = flow.get("authenticationExecutions") if isinstance(flow, Mapping) else None
        if isinstance(steps, list) and any(map(_is_optional, steps)):
            steps = [_conditional(flow, step, added) for step in steps]
            found.append({**flow, "authenticationExecutions": steps})
        else:
            found.append(flow)
        found += added
    return found


def _is_optional(step: Any) -> bool:
    return isinstance(step, Mapping) and step.get("requirement") == "OPTIONAL"


def _conditional(flow: Mapping[str, Any], step: Any, added: list[Document]) -> Any:
    """Return the step that replaces an optional one; its flow goes to `added`."""
    if not _is_optional(step):
        return step
    name = step.get("authenticator") or step.get("flowAlias")
    alias = f"{flow.get('alias')} - {name} - Conditional"
    condition = {"authenticator": _CONDITION, "requirement": "REQUIRED", "priority": 10}
    added.append(
        {
            "alias": alias,
            "description": f"Flow to determine if the {name} authenticator should be used or not.",
            "providerId": "basic-flow",
            "topLevel": False,
            "builtIn": flow.get("builtIn", False),
            "authenticationExecutions": [
                condition,
                {**step, "requirement": "REQUIRED", "priority": 20},
            ],
        }
    )
    priority = step.get("priority", 0)
    return {"flowAlias": alias, "requirement": "CONDITIONAL", "priority": priority}


def _with_current_action(action: Mapping[str, Any]) -> Mapping[str, Any]:
    if action.get("providerId", action.get("alias")) != TERMS_AND_CONDITIONS.lower():
        return action
    named = dict.fromkeys(("alias", "providerId"), TERMS_AND_CONDITIONS)
    return {**action, **named}


def with_current_user(user: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a user of a file without old forms of credentials and required actions."""
    changed = dict(user)
    actions, credentials = user.get("requiredActions"), user.get("credentials")
    if isinstance(actions, list):
        changed["requiredActions"] = [_current_name(each) for each in actions]
    if isinstance(credentials, list):
        changed["credentials"] = [_with_current_data(each) for each in credentials]
    return changed


def _current_name(action: Any) -> Any:
    """Return the name of a required action, which old files write in any case."""
    return _ACTION_NAMES.get(action.casefold(), action) if isinstance(action, str) else action


def _with_current_data(credential: Any) -> Any:
    """Return a credential whose hash or secret stands in members of its own in today's form."""
    if not isinstance(credential, Mapping) or credential.get("value") is not None:
        return credential
    hashed = credential.get("hashedSaltedValue")
    if credential.get("secretData") is not None or not isinstance(hashed, str):
        return credential
    kind = credential.get("type")
    numbers = {name: _number(credential.get(name, least)) for name, least in _NUMBERS.items()}
    if not isinstance(kind, str) or any(
        isinstance(each, str | list | Mapping) for each in numbers.values()
    ):
        return credential
    if kind in PASSWORD_TYPES:
        made = {
            "hashIterations": numbers["hashIterations"],
            "algorithm": credential.get("algorithm") or "pbkdf2",
            "additionalParameters": {},
        }
        secret = {"value": hashed, "salt": credential.get("salt")}
    elif kind in _OTP_TYPES:
        made = {
            "subType": kind,
            **{name: numbers[name] for name in ("digits", "counter", "period")},
            "algorithm": credential.get("algorithm"),
        }
        secret, kind = {"value": hashed}, "otp"
    else:
        return credential
    data = {"secretData": _compact(secret), "credentialData": _compact(made)}
    kept = ("id", "createdDate", "userLabel", "priority")
    priority = 20 if kind == "otp" else 10
    others = {name: credential[name] for name in kept if credential.get(name) is not None}
    return {"type": kind, "priority": priority, **others, **data}


def _compact(value: Mapping[str, Any]) -> str:
    """Return the JSON text as Keycloak writes it."""
    return json.dumps(value, separators=(",", ":"))


def _number(value: Any) -> Any:
    """Return the number of a text; what is longer than any number is left to the readers."""
    if isinstance(value, str) and value.isdecimal() and len(value) <= _MOST_DIGITS:
        return int(value)
    return value


def _with_service_account(client: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the client; one with authorization services has a service account.

    Their settings switch them on where nothing else is said.
    """
    if isinstance(client.get("authorizationSettings"), Mapping):
        client = {"authorizationServicesEnabled": True, **client}
    if client.get("authorizationServicesEnabled") is not True or client.get("publicClient") is True:
        return client
    return {**client, "serviceAccountsEnabled": True}
