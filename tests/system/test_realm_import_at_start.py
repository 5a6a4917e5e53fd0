"""`start --import-realm` makes realms that are missing. Keycloak: existing realms are skipped."""

import json
import os
from pathlib import Path

from tests.support.forked_gateway import run_command
from tests.support.gateway_process import Gateway, start_gateway
from tests.support.realm_file_imports import FOLDER, VARIABLES
from tests.support.wire import SECRET, client, protocol

SVC = {"grant_type": "client_credentials", "client_id": "svc", "client_secret": SECRET}


def _lifespan(gateway: Gateway) -> int:
    with gateway.client() as http:
        return int(http.post(protocol("r", "token"), data=SVC).json()["expires_in"])


def _realm(lifespan: int) -> str:
    document = {"realm": "r", "enabled": True, "accessTokenLifespan": lifespan}
    return json.dumps(document | {"clients": [client("svc")]})


def test_what_an_administrator_changed_survives_the_next_start(tmp_path: Path) -> None:
    at_start, by_hand = tmp_path / "start.json", tmp_path / "hand.json"
    at_start.write_text(_realm(111))
    by_hand.write_text(_realm(222))
    with start_gateway(tmp_path, import_realm=at_start) as gateway:
        assert _lifespan(gateway) == 111
        done = run_command(
            ["realm", "import", str(by_hand)],
            env={"PATH": os.environ["PATH"], "REALMGATE_STATE_DIR": str(gateway.state_dir)},
            cwd=tmp_path,
        )
        assert done.returncode == 0, done.stderr
        assert _lifespan(gateway) == 222
    with start_gateway(tmp_path, import_realm=at_start) as gateway:
        assert _lifespan(gateway) == 222


def test_placeholders_are_replaced_when_a_gateway_starts(tmp_path: Path) -> None:
    file = FOLDER / "placeholders.json"
    with start_gateway(tmp_path, import_realm=file, environment=VARIABLES) as gateway:
        form = {"grant_type": "client_credentials", "client_id": "svc", "client_secret": "changeme"}
        with gateway.client(**{"X-Forwarded-Proto": "https"}) as http:
            answer = http.post(protocol(VARIABLES["SHOP_REALM"], "token"), data=form)
        assert answer.status_code == 200, answer.text
