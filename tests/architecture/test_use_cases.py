"""One use case per action: what must not be written a second time."""

import re
from pathlib import Path

GATEWAY = Path(__file__).resolve().parents[2] / "gateway"
_ADDS_USER = re.compile(r"\busers\.add(_all)?\(")


def test_a_new_user_is_stored_in_one_place() -> None:
    adding = {
        str(path.relative_to(GATEWAY))
        for path in GATEWAY.rglob("*.py")
        if _ADDS_USER.search(path.read_text())
    }
    assert adding == {"admin/users/new_users.py"}
