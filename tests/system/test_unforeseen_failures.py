"""What nobody foresaw: the caller learns that it failed, the log why, and the rest goes on.

No stack trace, statement, path or version leaves the house. Attacks E5
"""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

from tests.support.gateway_process import start_gateway
from tests.support.wire import SECRET, client, protocol

REALM = {"realm": "r", "enabled": True, "clients": [client("damaged"), client("whole")]}
REQUEST_ID = "0123456789abcdef0123456789abcdef"


def test_a_damaged_row_is_told_to_the_log_alone(tmp_path: Path) -> None:
    """attacks: E5."""
    (tmp_path / "realms.json").write_text(json.dumps(REALM))
    form = {"grant_type": "client_credentials", "client_secret": SECRET}
    with (
        start_gateway(tmp_path, import_realm=tmp_path / "realms.json") as gateway,
        gateway.client(**{"X-Request-Id": REQUEST_ID}) as http,
    ):
        with closing(sqlite3.connect(gateway.state_dir / "realmgate.db")) as database, database:
            database.execute(
                "UPDATE clients SET settings = json_set(settings, '$.attributes', 7)"
                " WHERE client_id = 'damaged'"
            )
        failed = http.post(protocol("r", "token"), data=form | {"client_id": "damaged"})
        assert failed.status_code == 500
        assert failed.json() == {
            "error": "unknown_error",
            "error_description": "For more on this error consult the server log.",
        }
        assert "server" not in failed.headers
        (told,) = [line for line in gateway.log() if line["event"] == "unhandled"]
        assert told["request_id"] == REQUEST_ID
        assert "Traceback" in told["exception"]
        assert SECRET not in gateway.log_text()
        whole = http.post(protocol("r", "token"), data=form | {"client_id": "whole"})
        assert whole.status_code == 200
