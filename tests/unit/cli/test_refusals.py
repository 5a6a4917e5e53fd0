"""A hundred wrong values: each on a line, with its place, what was given, what is allowed."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from gateway.cli import main

BAD: list[Any] = [5.5, {"a": {"b": 1}}, [[1]], True, "\ud800", "x" * 5000, 10**30, None]
FIELDS = {
    "": (
        *("enabled", "sslRequired", "accessTokenLifespan", "defaultSignatureAlgorithm"),
        *("failureFactor", "bruteForceStrategy", "passwordPolicy", "otpPolicyDigits", "notBefore"),
        *("browserSecurityHeaders", "smtpServer", "eventsListeners", "displayName", "roles"),
    ),
    "clients[0].": ("enabled", "redirectUris", "attributes", "protocolMappers", "publicClient"),
    "users[0].": ("email", "enabled", "credentials", "attributes", "realmRoles", "firstName"),
}
LINE = re.compile(r"Error: \S.*?: .+ given, .+ expected")
OTHER_VOICES = ("Input should", "Value error", "pydantic", "Traceback", "object at 0x", "<class")


def _document(value: Any) -> dict[str, Any]:
    document: dict[str, Any] = {"realm": "demo"} | dict.fromkeys(FIELDS[""], value)
    document["clients"] = [{"clientId": "c"} | dict.fromkeys(FIELDS["clients[0]."], value)]
    document["users"] = [{"username": "u"} | dict.fromkeys(FIELDS["users[0]."], value)]
    return document


@pytest.mark.parametrize("value", BAD, ids=lambda value: str(type(value).__name__))
@pytest.mark.parametrize("part", ["realm", "clients", "users"])
def test_every_refusal_of_a_file_speaks_in_one_voice(value: Any, part: str, tmp_path: Path) -> None:
    whole = _document(value)
    document = whole if part == "realm" else {"realm": "demo", part: whole[part]}
    file = tmp_path / "realm.json"
    file.write_text(json.dumps(document))
    environment = {"REALMGATE_STATE_DIR": str(tmp_path / "state")}
    done = CliRunner(env=environment).invoke(main, ["realm", "import", str(file)])
    if done.exit_code == 0:  # absent is allowed nearly everywhere
        assert value is None
        return
    assert done.exit_code == 2, done.output
    lines = done.stderr.splitlines()
    assert lines
    for line in lines:
        assert LINE.fullmatch(line), line
        assert len(line) < 400 + len(str(file))
        assert line.isprintable()
        assert not [voice for voice in OTHER_VOICES if voice in line]
