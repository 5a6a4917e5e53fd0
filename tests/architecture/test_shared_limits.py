"""Every limit that callers can use up has a test in which a stranger tries to.

A limit that is keyed by a user, a realm or an address of mails, and not shared by the network of
the caller, serves an attacker (decision 0023). The table names, for each place where the code
makes a limit or counts, the test with an adversary; `_OWN` are limits that no stranger reaches.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.architecture.test_modules import MODULES, ROOT, tree

_KINDS: Final = {"RateLimit", "GuessLimit", "MailLimit", "FairThreads", "Room"}
"""Classes of limits."""
_COUNTERS: Final = re.compile(r"redis\.call\('(?:INCR|INCRBY)'|bounded\.set\('([a-z-]+)'")

_LIMITS: Final = "tests/contract/test_rate_limiter.py::test_one_network_takes_no_limit_from_another"
_MAILS: Final = "tests/contract/test_mail_queue.py::test_no_mail_keeps_a_mail_of_another_sort_back"
_HASHES: Final = (
    "tests/http/test_password_hash_limits.py"
    "::test_one_network_does_not_stop_the_sign_ins_of_its_realm"
)
_CODES: Final = (
    "tests/contract/test_device_authorizations.py"
    "::test_a_flood_of_one_network_leaves_the_codes_of_others"
)
_SIGN_INS: Final = (
    "tests/contract/test_authentication_sessions.py"
    "::test_a_flood_of_one_network_leaves_the_sign_ins_of_others"
)
_PUSHED: Final = (
    "tests/contract/test_pushed_requests.py"
    "::test_a_flood_of_one_network_leaves_the_requests_of_others"
)
_GUESSES: Final = (
    "tests/contract/test_device_authorizations.py"
    "::test_guesses_of_one_network_keep_no_other_from_its_code"
)
SHARED: Final = {
    "gateway/domain/limits/rate_limits.py: REGISTRATIONS": _LIMITS,
    "gateway/domain/limits/rate_limits.py: CLIENT_REGISTRATIONS": (
        "tests/http/test_registration_policies.py"
        "::test_one_network_does_not_fill_the_clients_of_a_realm"
    ),
    "gateway/domain/limits/rate_limits.py: RESETS": (
        "tests/http/test_reset_credentials.py::test_an_address_asks_for_a_bounded_number_of_mails"
    ),
    "gateway/domain/limits/rate_limits.py: RESETS_OF_USER": (
        "tests/http/test_reset_credentials.py::test_a_stranger_keeps_no_link_from_a_user"
    ),
    "gateway/domain/limits/rate_limits.py: LINKS": _LIMITS,
    "gateway/storage/redis/rate_limits.lua: INCR": _LIMITS,
    "gateway/domain/mail.py: _LIMITS": _MAILS,
    "gateway/crypto/passwords.py: __init__": _HASHES,
    "gateway/domain/limits/fair_share.py: __init__": _HASHES,
    "gateway/protocol/device_authorization.py: _CODE_LIMIT": _GUESSES,
    "gateway/storage/redis/device_authorizations.lua: INCR": _GUESSES,
    "gateway/storage/redis/device_authorizations.lua: device-code": _CODES,
    "gateway/storage/redis/pushed_requests.lua: pushed-request": _PUSHED,
    "gateway/storage/redis/authentication_sessions.lua: authentication-session": _SIGN_INS,
    "gateway/storage/redis/bounded_bytes.lua: INCR": _CODES,
}
"""Place of a limit -> the test with an adversary in one network and a victim in another."""
_OWN: Final = {
    "gateway/protocol/devices.py: require_within_quota": "a trusted certificate names the device",
    "gateway/storage/redis/login_failures.py: incr": "a trusted certificate names the device",
    "gateway/admin/keys.py: _THREADS": "administrators of the realm make keys",
}
"""Place of a limit -> why no stranger uses it up."""


def _limits_of_code() -> Iterator[str]:
    for module in MODULES:
        for name, call in _calls(tree(module)):
            called = call.func
            if isinstance(called, ast.Name) and called.id in _KINDS:
                yield f"{module}: {name}"
            if isinstance(called, ast.Attribute) and called.attr in {"incr", "incrby"}:
                yield f"{module}: {called.attr}"


def _calls(parsed: ast.AST, name: str = "") -> Iterator[tuple[str, ast.Call]]:
    """Yield each call with the constant or the function that it is in."""
    for node in ast.iter_child_nodes(parsed):
        inner = name
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            inner = node.name
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and not name:
            inner = node.target.id
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and not name:
            inner = node.targets[0].id
        if isinstance(node, ast.Call):
            yield name, node
        yield from _calls(node, inner)


def _limits_of_scripts() -> Iterator[str]:
    for script in sorted((ROOT / "gateway").rglob("*.lua")):
        for found in _COUNTERS.finditer(script.read_text()):
            yield f"{script.relative_to(ROOT).as_posix()}: {found[1] or 'INCR'}"


def test_every_limit_has_a_row() -> None:
    assert {*_limits_of_code(), *_limits_of_scripts()} == {*SHARED, *_OWN}


def test_every_row_names_a_test_that_exists() -> None:
    for named in SHARED.values():
        file, _, test = named.partition("::")
        assert f"def {test}(" in Path(ROOT / file).read_text(), named
