"""What real clients sent to Keycloak 26.7.3 and what it answered: tests/clients/recordings.

One JSON object a line, in the order of arrival, each recording on fresh realms. Tokens are `…`;
ids, times, keys and generated secrets are those of the recording. The server is
http://keycloak.example, its administrator `admin` with the password `admin`.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "clients" / "recordings"
RECORDINGS = tuple(sorted(path.stem for path in FOLDER.glob("*.jsonl")))
RECORDED_SERVER = "http://keycloak.example"


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request and its answer. `auth` says which exchange gave the caller's token."""

    number: int
    step: str
    method: str
    path: str
    auth: str
    media_type: str
    request: Any
    status: int
    location: str | None
    response: Any


def read_recording(name: str) -> tuple[Exchange, ...]:
    """Return the exchanges of a recording."""
    lines = (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return tuple(_exchange(json.loads(line)) for line in lines)


def _exchange(line: dict[str, Any]) -> Exchange:
    return Exchange(
        line["n"],
        line["step"],
        line["method"],
        line["path"],
        line["auth"] or "",
        line["request_type"] or "",
        line["request"],
        line["status"],
        line["location"],
        line["response"],
    )
