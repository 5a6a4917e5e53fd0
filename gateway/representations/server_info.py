"""Information about the server: version, features, providers, algorithms.

Keycloak: ServerInfoRepresentation. Only what exists here is listed.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from gateway.domain.events import EVENT_NAMES, EventType, OperationType, ResourceType
from gateway.domain.keys import SignatureAlgorithm
from gateway.domain.tables import read_table
from gateway.representations.realms import RULES

COMPATIBLE_WITH: Final = "26.7.3"
"""The version of Keycloak whose API this is: clients decide by it what to send."""
_TABLE: Final = read_table("gateway.representations", "server_info.toml")
_OF_OPERATORS: Final = frozenset({"account", "email", "login"})
"""The kinds that a theme of the operator may be."""


@dataclass(frozen=True, slots=True)
class Machine:
    """The process and its machine, for administrators of the server."""

    started_at: datetime
    system: str
    architecture: str
    release: str
    processors: int
    memory: int
    memory_used: int
    """In bytes, both."""


def render_system(now: datetime, program: str, machine: Machine | None) -> dict[str, Any]:
    """Return the system; the machine only where it is given."""
    system: dict[str, Any] = {
        "version": COMPATIBLE_WITH,
        "product": "Realmgate",
        "productVersion": program,
    }
    if machine is None:
        return {"systemInfo": system}
    system |= {
        "serverTime": now.strftime("%a %b %d %H:%M:%S UTC %Y"),
        "uptime": _spelled(now - machine.started_at),
        "uptimeMillis": (now - machine.started_at) // timedelta(milliseconds=1),
        "osName": machine.system,
        "osArchitecture": machine.architecture,
        "osVersion": machine.release,
        "fileEncoding": "UTF-8",
        "userTimezone": "UTC",
    }
    return {
        "systemInfo": system,
        "cpuInfo": {"processorCount": machine.processors},
        "memoryInfo": _memory(machine),
    }


def render_features() -> dict[str, Any]:
    """Return which of Keycloak's features are here."""
    return {
        "profileInfo": {
            "name": "default",
            "disabledFeatures": [
                each["name"] for each in _TABLE["features"] if not each["enabled"]
            ],
            "previewFeatures": [],
            "experimentalFeatures": [],
        },
        "features": [
            {
                "name": each["name"],
                "label": each["label"],
                "type": "DEFAULT" if each["enabled"] else "DISABLED_BY_DEFAULT",
                "dependencies": [],
                "enabled": each["enabled"],
            }
            for each in _TABLE["features"]
        ],
    }


def render_cryptography() -> dict[str, Any]:
    """Return which algorithms there are."""
    return {
        "cryptoInfo": {
            "cryptoProvider": "OpenSSL",
            "supportedKeystoreTypes": [],
            "clientSignatureSymmetricAlgorithms": [],
            "clientSignatureAsymmetricAlgorithms": sorted(SignatureAlgorithm),
        }
    }


def render_themes(themes: Collection[str]) -> dict[str, Any]:
    """Return the themes that a realm may name; `themes` are those of the operator."""
    every = {
        kind: tuple(dict.fromkeys((*names, *themes))) if kind in _OF_OPERATORS else names
        for kind, names in _TABLE["themes"].items()
    }
    return {kind: [{"name": name} for name in names] for kind, names in every.items()}


def render_providers(
    providers: Mapping[str, Collection[str]], limitations: Mapping[str, str]
) -> dict[str, Any]:
    """Return the providers of each kind, by Keycloak's name of the kind.

    `limitations` are the limits of providers, by id.
    """
    every = {"password-policy": list(RULES), **providers}
    return {
        kind: {
            "internal": False,
            "providers": {str(name): _provider(limitations.get(name)) for name in every[kind]},
        }
        for kind in sorted(every)
    }


def _provider(limitation: str | None) -> dict[str, Any]:
    if limitation is None:
        return {"order": 0}
    return {"order": 0, "operationalInfo": {"limitation": limitation}}


def render_password_policies() -> list[dict[str, Any]]:
    """Return the rules that a password policy may consist of."""
    return [
        {
            "id": name,
            "displayName": rule.label,
            **({"configType": rule.kind, "defaultValue": rule.default} if rule.kind else {}),
            "multipleSupported": rule.repeatable,
        }
        for name, rule in RULES.items()
    ]


def render_enums() -> dict[str, list[str]]:
    """Return the names in events."""
    types = [EVENT_NAMES[one, failed] for one in sorted(EventType) for failed in (False, True)]
    return {
        "operationType": sorted(OperationType),
        "eventType": types,
        "resourceType": sorted(ResourceType),
    }


def _memory(machine: Machine) -> dict[str, Any]:
    free = max(0, machine.memory - machine.memory_used)
    return {
        "total": machine.memory,
        "totalFormated": _megabytes(machine.memory),
        "used": machine.memory_used,
        "usedFormated": _megabytes(machine.memory_used),
        "free": free,
        "freePercentage": 100 * free // max(1, machine.memory),
        "freeFormated": _megabytes(free),
    }


def _megabytes(size: int) -> str:
    return f"{size // (1024 * 1024)} MB"


def _spelled(elapsed: timedelta) -> str:
    hours, rest = divmod(elapsed.seconds, 3600)
    minutes, seconds = divmod(rest, 60)
    return f"{elapsed.days} days, {hours} hours, {minutes} minutes, {seconds} seconds"
