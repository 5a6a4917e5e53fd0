"""Clients are stored by the module that decides on their reach, and by no other."""

import re
from pathlib import Path
from typing import Final

from gateway.http.admin.operations import State
from tests.support.admin_operations import operations

ROOT = Path(__file__).parents[2]
STORES_CLIENTS = re.compile(r"\bstores\.clients\.(add|replace)\(")
DECIDES = {"gateway/admin/client_reach.py"}
JUDGED: Final = {
    "": "decides",
    "/administrative-roles": "decides",
    "/certificates/authorities": "lowers",
    "/certificates/authorities/{sha256}": "lowers",
    "/certificates/{attr}/download": "stores nothing",
    "/certificates/{attr}/generate": "lowers",
    "/certificates/{attr}/generate-and-download": "lowers",
    "/certificates/{attr}/upload": "lowers",
    "/certificates/{attr}/upload-certificate": "lowers",
    "/client-secret": "lowers",
    "/client-secret/rotated": "lowers",
    "/default-client-scopes/{scope_id}": "lowers",
    "/device-locks": "refuses devices",
    "/nodes": "the gateway sends no requests to nodes",
    "/nodes/{node}": "the gateway sends no requests to nodes",
    "/optional-client-scopes/{scope_id}": "lowers",
    "/protocol-mappers/add-models": "lowers",
    "/protocol-mappers/models": "lowers",
    "/protocol-mappers/models/{mapper_id}": "lowers",
    "/push-revocation": "the gateway sends no requests to nodes",
    "/registration-access-token": "a change with the token decides on no role",
    "/roles": "administrative parts need their rights",
    "/roles/{role_name}": "administrative parts need their rights",
    "/roles/{role_name}/composites": "administrative parts need their rights",
    "/scope-mappings/clients/{container}": "lowers where a role is above the caller",
    "/scope-mappings/realm": "lowers where a role is above the caller",
}
"""What each operation below one client does to its reach; tests/http/test_reach_of_clients.py."""
_CLIENT: Final = "/admin/realms/{realm}/clients/{client_id}"


def test_one_module_stores_clients() -> None:
    found = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "gateway").rglob("*.py")
        if STORES_CLIENTS.search(path.read_text(encoding="utf-8"))
    }
    assert found == DECIDES


def test_every_operation_of_a_client_is_judged() -> None:
    changes = {
        one.path.removeprefix(_CLIENT)
        for one in operations()
        if one.path.startswith(_CLIENT)
        and one.method != "GET"
        and one.state is not State.NOT_SUPPORTED
    }
    assert changes == JUDGED.keys()
