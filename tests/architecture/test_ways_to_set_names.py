"""Every way to set a user's name or address passes `unique_names.py`.

Users are added in one module, with a proof that their names are free. A function that overwrites a
user either checks the names itself, or is listed here because it leaves them as they are.
"""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

Function = ast.AsyncFunctionDef | ast.FunctionDef
ROOT: Final = Path(__file__).resolve().parents[2] / "gateway"
CHECKS: Final = {"require_free_names", "require_all_free_names"}
ADDING: Final = "authentication/new_users.py"
PROOFS: Final = "authentication/unique_names.py"
KEEP_NAMES: Final = {
    ("admin/sessions.py", "_reject_tokens_of_user"),
    ("admin/users/administration.py", "_store_enabled"),
    ("admin/users/credentials.py", "_attempt"),
    ("admin/users/listing.py", "store_missing_keys"),
    ("authentication/account_updates.py", "replace"),
    ("authentication/profile_updates.py", "cancel"),
    ("authentication/engine/required_action.py", "require_new_password"),
    ("authentication/brute_force_protection.py", "lock_for_good"),
    ("authentication/recovery_codes.py", "_with_action"),
    ("authentication/required_actions/credentials.py", "submit"),
    ("authentication/required_actions/credentials.py", "_store"),
    ("authentication/required_actions/deletion.py", "submit"),
    ("authentication/required_actions/profile.py", "submit"),
    ("authentication/required_actions/credentials.py", "_change"),
    ("protocol/action_token_handlers.py", "mark_verified"),
}
"""Functions that change flags, attributes, credentials or required actions alone."""


@cache
def _functions() -> tuple[tuple[str, Function], ...]:
    return tuple(_parsed())


def _parsed() -> Iterator[tuple[str, Function]]:
    for file in sorted(ROOT.rglob("*.py")):
        name = file.relative_to(ROOT).as_posix()
        if name.startswith("storage/"):
            continue
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, Function):
                yield name, node


@cache
def _calls(function: ast.AST) -> set[str]:
    """Return what a function calls, as it is written."""
    return {ast.unparse(node.func) for node in ast.walk(function) if isinstance(node, ast.Call)}


def test_users_are_added_in_one_module() -> None:
    adding = {
        name
        for name, function in _functions()
        if any(call.endswith(("users.add", "users.add_all")) for call in _calls(function))
    }
    assert adding == {ADDING}


def test_only_one_module_proves_that_names_are_free() -> None:
    makers = {name for name, function in _functions() if "FreeNames" in _calls(function)}
    assert makers == {PROOFS}


def test_a_function_that_overwrites_a_user_checks_the_names() -> None:
    checking = {
        (name, function.name) for name, function in _functions() if CHECKS & _calls(function)
    }
    unchecked = set()
    for name, function in _functions():
        calls = _calls(function)
        overwrites = any(call.endswith(("users.replace", "update.replace")) for call in calls)
        checks = CHECKS & calls or any((name, call) in checking for call in calls)
        if overwrites and not checks:
            unchecked.add((name, function.name))
    assert unchecked - KEEP_NAMES == set(), "does it change a name or an address?"
    assert KEEP_NAMES - unchecked == set(), "it is gone"


def test_what_users_choose_themselves_is_checked_in_one_place() -> None:
    """`OwnProfile._storable` is passed by forms, documents and links alike."""
    checking = {
        name for name, function in _functions() if "own_name_violations" in _calls(function)
    }
    assert checking == {"authentication/profile_updates.py"}
    callers = {
        function.name for _, function in _functions() if "self._storable" in _calls(function)
    }
    assert callers == {"with_email", "_changed"}
    changing = {
        (name, function.name)
        for name, function in _functions()
        if name.startswith("authentication/") and _sets_names(function)
    }
    assert changing == {
        ("authentication/registration.py", "_store_alike"),
        ("authentication/unique_names.py", "named_by_address"),
        ("authentication/profile_updates.py", "with_email"),
    }
    naming = {name for name, function in _functions() if "named_by_address" in _calls(function)}
    assert naming == {
        "accounts/profile.py",
        "admin/realm_files/known_users.py",
        "admin/realm_files/partial_import.py",
        "admin/realm_files/user_import.py",
        "admin/users/administration.py",
        "admin/users/listing.py",
        "authentication/profile_updates.py",
    }


def _sets_names(function: ast.AST) -> bool:
    """Tell whether a function makes a user with another name or address."""
    return any(
        ast.unparse(call.func) == "replace"
        and {"username", "email"} & {keyword.arg for keyword in call.keywords}
        for call in ast.walk(function)
        if isinstance(call, ast.Call)
    )
