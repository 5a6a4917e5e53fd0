"""Small realm files of Keycloak, and ways to import them."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from tests.support.administration import Administration
from tests.support.made_realms import CREATED

FOLDER: Final = Path(__file__).parent / "realm_files"
NO_VARIABLES: Final[Mapping[str, str]] = {}
VARIABLES: Final = {"SHOP_REALM": "shopping", "SHOP_URL": "https://shop.example"}
FILES: Final = tuple(
    sorted(file.stem for file in FOLDER.glob("*.json") if not file.stem.startswith("partial-"))
)
_PLACEHOLDERS: Final = ("placeholders", "placeholders-silent")
WITHOUT_PLACEHOLDERS: Final = tuple(name for name in FILES if name not in _PLACEHOLDERS)


def realm_of(name: str) -> str:
    """Return the name of the realm of a file."""
    realm = str(json.loads((FOLDER / f"{name}.json").read_text())["realm"])
    return VARIABLES["SHOP_REALM"] if realm.startswith("${") else realm


def renamed(name: str, realm: str) -> str:
    """Return the text of a file with another name of its realm."""
    text = (FOLDER / f"{name}.json").read_text()
    before = str(json.loads(text)["realm"])
    text = text.replace(f"default-roles-{before}", f"default-roles-{realm.lower()}")
    return text.replace(f'"realm": "{before}"', f'"realm": "{realm}"', 1)


def run_command(
    administration: Administration,
    text: str,
    *command: str,
    status: int = 0,
    variables: Mapping[str, str] | None = None,
) -> str:
    """Run a command of realm files on the text of one; return its output."""
    file = administration.gateway.state_dir / "imported.json"
    file.write_text(text)
    done = administration.command("realm", *command, str(file), variables=variables)
    assert done.exit_code == status, done.output
    return done.output


def import_files(administration: Administration, texts: Sequence[str], command: str) -> str:
    """Import the files as one list of realms; return the output."""
    return run_command(administration, f"[{','.join(texts)}]", command)


def post_files(administration: Administration, texts: Sequence[str]) -> None:
    """Create the realms over the admin API."""
    for text in texts:
        answer = administration.ask("POST", "", content=text.encode())
        assert answer.status_code == CREATED, answer.text


WAYS: Final[Mapping[str, Callable[[Administration, Sequence[str]], object]]] = {
    "import": lambda administration, texts: import_files(administration, texts, "import"),
    "apply": lambda administration, texts: import_files(administration, texts, "apply"),
    "post": post_files,
}


def shown(administration: Administration, realm: str) -> Any:
    """Return what the admin API shows of a realm and its users."""
    whole = "partial-export?exportClients=true&exportGroupsAndRoles=true"
    path = quote(realm)
    found = administration.ask("POST", f"{path}/{whole}").json()
    users = administration.ask("GET", f"{path}/users").json()
    for user in users:
        for more in ("credentials", "role-mappings", "groups", "consents"):
            user[more] = administration.ask("GET", f"{path}/users/{user['id']}/{more}").json()
    return {**found, "users": users}


_OF_EACH_REALM: Final = frozenset(
    {
        "id",
        "containerId",
        "secret",
        "createdTimestamp",
        "createdDate",
        "lastUpdatedDate",
        "parentId",
        "components",
    }
)


def comparable(value: Any, realm: str) -> Any:
    """Return what `shown` gave without what differs between two realms of one file."""
    if isinstance(value, dict):
        return {
            _without(realm, name): comparable(each, realm)
            for name, each in value.items()
            if name not in _OF_EACH_REALM and not name.startswith("client.secret.")
        }
    if isinstance(value, list):
        return [comparable(each, realm) for each in value]
    return _without(realm, value) if isinstance(value, str) else value


def _without(realm: str, text: str) -> str:
    for spelling in (realm, quote(realm), realm.lower()):
        text = text.replace(spelling, "*")
    return text
