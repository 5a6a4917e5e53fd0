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
    assert adding == {"authentication/new_users.py"}


def test_the_role_of_a_new_user_is_chosen_in_one_place() -> None:
    """Beside it, the realm's representation shows the role and roles protect it from removal."""
    naming = {
        str(path.relative_to(GATEWAY))
        for path in GATEWAY.rglob("*.py")
        if "default_role_name" in path.read_text()
    }
    assert naming == {
        "admin/access/role_index.py",
        "admin/realms/listing.py",
        "admin/roles.py",
        "authentication/new_users.py",
        "domain/realm/realm.py",
    }


def test_a_capability_lists_its_use_cases_at_its_top() -> None:
    """In the module of the capability, or in its package: one file lists a new use case."""
    listing = {
        path.relative_to(GATEWAY / "admin")
        for path in (GATEWAY / "admin").rglob("*.py")
        if re.search(r"^class \w+UseCases\b", path.read_text(), re.MULTILINE)
    }
    assert listing
    assert [
        str(file) for file in listing if len(file.parts) > 1 and file.name != "__init__.py"
    ] == []
