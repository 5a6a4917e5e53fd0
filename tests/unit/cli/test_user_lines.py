"""What `realmgate user show` tells a person."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from gateway.admin.users.listing import UserSummary
from gateway.admin.users.lockouts import UserLockout
from gateway.authentication.sign_in_obstacles import Effect, SignInObstacle
from gateway.cli.output import show_rows, sign_in_document, user_lines
from gateway.domain.ports.login_failures import LoginFailures
from gateway.domain.roles import EffectiveRoles
from gateway.domain.users import User
from gateway.representations.roles import RoleName

NOW = datetime(2026, 11, 20, tzinfo=UTC)
USER = User("uuid", "realm", "bob", enabled=True, created_at=NOW)
SHOWN = UserSummary(
    USER,
    (RoleName("staff"), RoleName("view-users", "realm-management")),
    EffectiveRoles(("staff",), (("account", ("view-profile",)),)),
    UserLockout("uuid", "bob", LoginFailures(), NOW),
)


def _line(shown: UserSummary, label: str) -> str:
    return dict(user_lines(shown, NOW))[label]


def _failed(**record: object) -> UserSummary:
    failures = LoginFailures(failures=3, last_address="192.0.2.7", **record)  # type: ignore[arg-type] # its own fields
    return replace(SHOWN, lockout=UserLockout("uuid", "bob", failures, NOW))


_AFTER = "after 3 failed sign-ins, the last from 192.0.2.7 (realmgate user unlock)"
_ASKED = SignInObstacle("profile", "no e-mail: the profile requires it", Effect.ASKED)
_LOCKED = SignInObstacle("locked", "locked out for some time")
_GRANT = SignInObstacle("required-action", "required action X", Effect.NONE)


def _obstructed(*obstacles: SignInObstacle, **record: object) -> UserSummary:
    return replace(_failed(**record), obstacles=obstacles)


@pytest.mark.parametrize(
    ("shown", "told", "reasons"),
    [
        (SHOWN, "allowed", []),
        (_failed(), "allowed, after 3 failed sign-ins, the last from 192.0.2.7", []),
        (
            _obstructed(_LOCKED, locked_until=NOW + timedelta(seconds=57)),
            "refused",
            [f"locked out until 2026-11-20T00:00:57Z, for another 57 s, {_AFTER}"],
        ),
        (
            _obstructed(_LOCKED, permanent=True),
            "refused",
            [f"locked out until it is unlocked, {_AFTER}"],
        ),
        (
            _obstructed(SignInObstacle("disabled", "disabled"), _ASKED),
            "refused",
            [
                "disabled (realmgate user enable)",
                "no e-mail: the profile requires it (realmgate user update)",
            ],
        ),
        (
            _obstructed(_ASKED, _GRANT),
            "pages ask first; refused without pages",
            [
                "no e-mail: the profile requires it (realmgate user update)",
                "required action X",
            ],
        ),
        (_obstructed(_GRANT), "allowed on pages; refused without pages", ["required action X"]),
        (
            replace(SHOWN, lockout=None, obstacles=(_ASKED,)),
            "unknown: Redis is unavailable; refused without pages",
            ["no e-mail: the profile requires it (realmgate user update)"],
        ),
        (
            replace(SHOWN, lockout=None, obstacles=(SignInObstacle("disabled", "disabled"),)),
            "refused",
            ["disabled (realmgate user enable)"],
        ),
        (replace(SHOWN, lockout=None), "unknown: Redis is unavailable", []),
    ],
)
def test_whether_a_user_may_sign_in_is_told_with_reasons(
    shown: UserSummary, told: str, reasons: list[str]
) -> None:
    assert _line(shown, "sign-in") == told
    assert [value for label, value in user_lines(shown, NOW) if not label] == reasons


_PAGES = {"allowed": "allowed on pages", "asked": "pages ask first", "refused": "refused on pages"}


@pytest.mark.parametrize("without", Effect)
@pytest.mark.parametrize("pages", Effect)
def test_both_ways_of_a_sign_in_are_shown(pages: Effect, without: Effect) -> None:
    """Neither state hides the other, for each obstacle and without Redis."""
    shown = replace(SHOWN, obstacles=(SignInObstacle("x", "x", pages, without),))
    for each in (shown, replace(shown, lockout=None)):
        ways, line = sign_in_document(each), _line(each, "sign-in")
        first, second = ways["onPages"], ways["passwordGrant"]
        begin = _PAGES.get(first, "unknown: Redis is unavailable")
        if first == second:
            assert line in {begin, first}
        else:
            assert line.startswith(begin)
            assert line.endswith(f"; {second} without pages")


def test_roles_are_told_with_what_they_bring() -> None:
    assert _line(SHOWN, "roles") == "staff, realm-management/view-users"
    assert _line(SHOWN, "effective roles") == "staff, account/view-profile"


def test_a_long_list_of_roles_is_shortened() -> None:
    names = tuple(f"role-{number}" for number in range(25))
    shown = replace(SHOWN, effective=EffectiveRoles(names, ()))
    line = _line(shown, "effective roles")
    assert line.startswith("role-0, role-1, ")
    assert line.endswith("role-19, and 5 more (--output json lists all)")


def test_nothing_that_is_shown_moves_the_cursor(capsys: pytest.CaptureFixture[str]) -> None:
    """Attacks: names and attributes come from strangers, and end in an operator's terminal."""
    user = replace(
        USER, attributes={"note": ("\x1b[2Jgone", "two\nlines", "\u202eflipped", "a\u00a0b")}
    )
    show_rows(user_lines(replace(SHOWN, user=user), NOW))
    shown = capsys.readouterr().out
    assert "\\x1b[2Jgone, two\\nlines, \\u202eflipped, a\u00a0b" in shown
    assert shown.count("\n") == len(list(user_lines(replace(SHOWN, user=user), NOW)))


def test_a_password_that_expires_has_a_line() -> None:
    assert "password expires" not in dict(user_lines(SHOWN, NOW))
    shown = replace(SHOWN, password_expires_at=NOW + timedelta(days=30))
    assert _line(shown, "password expires") == "2026-12-20T00:00:00+00:00"
