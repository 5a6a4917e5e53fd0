"""Clients are stored by the module that decides on their reach, and by no other."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
STORES_CLIENTS = re.compile(r"\bstores\.clients\.(add|replace)\(")
DECIDES = {"gateway/admin/client_reach.py"}


def test_one_module_stores_clients() -> None:
    found = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "gateway").rglob("*.py")
        if STORES_CLIENTS.search(path.read_text(encoding="utf-8"))
    }
    assert found == DECIDES
