"""Configuration files of adapters for a realm and a client.

Keycloak: clients/{id}/installation/providers/{id}, clients-registrations/install/{clientId} (26.7)
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from xml.sax.saxutils import escape

from gateway.domain.clients import Client
from gateway.domain.realm import Realm
from gateway.representations.shapes import MASK

_MODULE: Final = "WAR MODULE NAME.war"
_INDENT: Final = 4


@dataclass(frozen=True, slots=True)
class Installation:
    """What a file contains. `url` is the gateway's; a masked secret is left out."""

    realm: Realm
    client: Client
    url: str
    has_roles: bool
    masked: bool = False


def installation_document(installation: Installation) -> dict[str, Any]:
    """Return the content of keycloak.json."""
    client = installation.client
    document: dict[str, Any] = {"realm": installation.realm.name}
    if client.bearer_only:
        document["bearer-only"] = True
    document["auth-server-url"] = f"{installation.url}/"
    document["ssl-required"] = installation.realm.ssl_required.value
    document["resource"] = client.client_id
    if client.public_client:
        document["public-client"] = True
    if installation.has_roles:
        document["verify-token-audience"] = True
    if not client.public_client and not client.bearer_only:
        document["credentials"] = _credentials(installation)
    if installation.has_roles:
        document["use-resource-role-mappings"] = True
    return {**document, "confidential-port": 0}


def _credentials(installation: Installation) -> dict[str, Any]:
    client = installation.client
    secret = client.secret.reveal() if client.secret and not installation.masked else MASK
    match client.client_authenticator_type:
        case "client-secret":
            return {"secret": secret}
        case "client-secret-jwt":
            return {"secret-jwt": {"secret": secret}}
        case "client-jwt":
            return {"jwt": _key_store(client)}
        case _:
            return {}


def _key_store(client: Client) -> dict[str, Any]:
    return {
        "client-key-password": "REPLACE WITH THE KEY PASSWORD IN KEYSTORE",
        "client-keystore-file": "REPLACE WITH THE LOCATION OF YOUR KEYSTORE FILE",
        "client-keystore-password": "REPLACE WITH THE KEYSTORE PASSWORD",
        "client-key-alias": client.client_id,
        "token-timeout": 10,
        "client-keystore-type": "jks",
    }


def _keycloak_json(installation: Installation) -> str:
    document = installation_document(installation)
    text = json.dumps(document, indent=2, separators=(",", " : "), ensure_ascii=False)
    return text.replace(" : {}", " : { }")


def _subsystem_xml(installation: Installation) -> str:
    lines = [f'<secure-deployment name="{_MODULE}">']
    for name, value in _for_subsystem(installation).items():
        if name == "credentials":
            lines += _xml_credentials(value)
        else:
            lines.append(_element(name, value, _INDENT))
    return "\n".join((*lines, "</secure-deployment>", ""))


def _xml_credentials(credentials: Mapping[str, Any]) -> list[str]:
    lines: list[str] = []
    pad = " " * _INDENT
    for name, value in credentials.items():
        if isinstance(value, Mapping):
            inner = [_element(each, text, 2 * _INDENT) for each, text in value.items()]
            lines += [f'{pad}<credential name="{name}">', *inner, f"{pad}</credential>"]
        else:
            lines.append(f'{pad}<credential name="{name}">{escape(value)}</credential>')
    return lines


def _element(name: str, value: Any, indent: int) -> str:
    return f"{' ' * indent}<{name}>{escape(_plain(value))}</{name}>"


def _subsystem_cli(installation: Installation) -> str:
    values = _for_subsystem(installation)
    credentials = values.pop("credentials", {})
    first = ("realm", "resource", "auth-server-url")
    last = ("ssl-required",)
    between = (name for name in values if name not in {*first, *last})
    quoted = {"realm", "resource"}
    shown = [
        f"    {name}={_quoted(values[name]) if name in quoted else _plain(values[name])}"
        for name in (*first, *between, *last)
    ]
    at = f'/subsystem=keycloak/secure-deployment="{_MODULE}"/'
    commands = [f"{at}:add( \\\n" + ", \\\n".join(shown) + ")", ""]
    for name, value in credentials.items():
        inner = (
            "{" + ", ".join(f"{each}={text}" for each, text in value.items()) + "}"
            if isinstance(value, Mapping)
            else value
        )
        commands.append(f"{at}credential={name}:add(value={inner})")
    return "\n".join((*commands, ""))


def _for_subsystem(installation: Installation) -> dict[str, Any]:
    """Return the elements in the order of Keycloak's subsystem."""
    document = installation_document(installation)
    order = (
        *("realm", "auth-server-url", "bearer-only", "public-client", "ssl-required", "resource"),
        *("verify-token-audience", "credentials", "use-resource-role-mappings"),
    )
    found = {name: document[name] for name in order if name in document}
    return found | {"ssl-required": str(document["ssl-required"]).upper()}


def _plain(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _quoted(value: str) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


@dataclass(frozen=True, slots=True)
class InstallationKind:
    """A kind of file, as the server information lists it."""

    id: str
    title: str
    help: str
    filename: str
    media_type: str
    write: Callable[[Installation], str]


INSTALLATIONS: Final = (
    InstallationKind(
        *("keycloak-oidc-jboss-subsystem", "Keycloak OIDC JBoss Subsystem XML"),
        "A piece of XML for the Keycloak OIDC subsystem of the application server.",
        *("keycloak-oidc-subsystem.xml", "application/xml"),
        _subsystem_xml,
    ),
    InstallationKind(
        *("keycloak-oidc-jboss-subsystem-cli", "Keycloak OIDC JBoss Subsystem CLI"),
        "A script for the command line of the application server.",
        *("keycloak-oidc-subsystem.cli", "text/plain"),
        _subsystem_cli,
    ),
    InstallationKind(
        *("keycloak-oidc-keycloak-json", "Keycloak OIDC JSON"),
        "The file keycloak.json of the OIDC client adapter.",
        *("keycloak.json", "application/json"),
        _keycloak_json,
    ),
)
"""Files for clients of OpenID Connect."""
