"""Output of commands: columns, instants, users, deliveries, and failures with their exit codes.

Characters that move the cursor or hide text are escaped: names come from users. Exit codes: 2 bad
input, 3 unreachable, 1 the rest.
"""

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from unicodedata import category

import click

from gateway.domain.errors import InvalidInput, RealmgateError, StoreUnavailable

if TYPE_CHECKING:
    from gateway.admin.users import UserLockout, UserSummary
    from gateway.domain.deliveries import WebhookStatus
    from gateway.domain.mail import MailStatus
    from gateway.domain.users import Credential

_GAP = "  "
_HIDDEN = frozenset({"Cc", "Cf", "Cs"})
"""Categories of characters that move the cursor, or change how others are shown."""
_MOST_ROLES = 20
_UNKNOWN = "unknown: Redis is unavailable"


def show_rows(rows: Iterable[Sequence[str]]) -> None:
    """Print the rows; a column that is empty in all of them is left out."""
    kept = [tuple(map(visible, row)) for row in rows]
    widths = [max(map(len, column)) for column in zip(*kept, strict=True)]
    for row in kept:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True) if width)
        click.echo(_GAP.join(cells).rstrip())


def show_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print the rows below their heads; nothing without rows, and no column that is empty."""
    found = [tuple(row) for row in rows]
    if not found:
        return
    shown = [any(column) for column in zip(*found, strict=True)]
    show_rows(
        tuple(cell for cell, is_shown in zip(row, shown, strict=True) if is_shown)
        for row in (tuple(heads), *found)
    )


def counted(number: int, what: str) -> str:
    """Return `1 user`, `2 users`."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def instant_text(instant: datetime) -> str:
    """Return the instant in UTC and whole seconds, such as `2026-11-23T19:00:00Z`."""
    return instant.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def delivery_document(item: "MailStatus | WebhookStatus", **own: str) -> dict[str, Any]:
    """Return a mail or an event that waits or was given up; `own` are members of its kind."""
    return {
        "id": item.id,
        "state": "waiting" if item.failed_at is None else "given up",
        **own,
        "created": instant_text(item.created_at),
        "attempts": item.attempts,
        "due": None if item.due_at is None else instant_text(item.due_at),
        "failed": None if item.failed_at is None else instant_text(item.failed_at),
        "reason": item.reason,
    }


def visible(text: str) -> str:
    """Return the text in one line, its control and format characters as escapes."""
    return "".join(sign if category(sign) not in _HIDDEN else repr(sign)[1:-1] for sign in text)


def text_on_terminal(text: str) -> str:
    """Return the text for a terminal: as `visible`, but lines and tabs stay."""
    return "".join(sign if sign in "\n\t" else visible(sign) for sign in text)


def report(failure: RealmgateError) -> int:
    """Print every line of `failure` and return its exit code."""
    from gateway.domain.refusals import InvalidRequest

    errors = failure.errors if isinstance(failure, InvalidInput) else ()
    for line in [str(error) for error in errors] or str(failure).splitlines():
        click.echo(f"Error: {visible(line)}", err=True)
    match failure:
        case InvalidInput() | InvalidRequest() | InvalidRequest() | InvalidRequest():
            return 2
        case StoreUnavailable():
            return 3
        case _:
            return 1


def report_of_system(failure: OSError) -> int:
    """Print an error of the operating system, such as a full disk, and return the exit code."""
    click.echo(f"Error: {failure.strerror or failure}", err=True)
    # The rest of the output would be written again at exit, and fail again.
    with suppress(OSError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
    return 1


def user_lines(shown: "UserSummary", now: datetime) -> Iterator[tuple[str, str]]:
    """Yield label and value of each line; an empty value is not shown."""
    user = shown.user
    yield "user", user.username
    yield "id", user.id
    yield "name", " ".join(filter(None, (user.first_name, user.last_name)))
    if user.email:
        yield "e-mail", f"{user.email}, {'verified' if user.email_verified else 'not verified'}"
    yield "created", user.created_at.isoformat(timespec="seconds")
    yield "sign-in", _sign_in(shown)
    for text in _reasons(shown, now):
        yield "", text
    yield "required actions", ", ".join(user.required_actions)
    yield "credentials", ", ".join(map(_credential, shown.credentials))
    yield "groups", ", ".join(shown.groups)
    if shown.password_expires_at is not None:
        yield "password expires", shown.password_expires_at.isoformat(timespec="seconds")
    for attribute, values in user.attributes.items():
        yield attribute, ", ".join(values)
    yield "roles", ", ".join(role_names(shown))
    yield "effective roles", _shortened(list(_effective(shown)))


def role_names(shown: "UserSummary") -> list[str]:
    """Return the roles given to the user, client roles as `client/role`."""
    return [f"{role.client}/{role.name}" if role.client else role.name for role in shown.granted]


def _effective(shown: "UserSummary") -> Iterator[str]:
    yield from shown.effective.realm
    for client, roles in shown.effective.clients:
        yield from (f"{client}/{role}" for role in roles)


def _shortened(names: Sequence[str]) -> str:
    if len(names) <= _MOST_ROLES:
        return ", ".join(names)
    rest = f"and {len(names) - _MOST_ROLES} more (--output json lists all)"
    return ", ".join((*names[:_MOST_ROLES], rest))


def sign_in_document(shown: "UserSummary") -> dict[str, Any]:
    """Return whether the user may sign in on pages and by the password grant, and why not.

    Each way is `allowed`, `asked` (pages ask for something first), `refused`, or `unknown` where
    Redis is unavailable, which knows of failed sign-ins.
    """
    ways = {
        "onPages": [each.on_pages.value for each in shown.obstacles],
        "passwordGrant": [each.password_grant.value for each in shown.obstacles],
    }
    return {
        **{way: _state(effects, known=shown.lockout is not None) for way, effects in ways.items()},
        "reasons": [
            {
                "code": each.code,
                "text": each.text,
                "onPages": each.on_pages.value,
                "passwordGrant": each.password_grant.value,
            }
            for each in shown.obstacles
        ],
    }


def _state(effects: Sequence[str], *, known: bool) -> str:
    if "refused" in effects:
        return "refused"
    if not known:
        return "unknown"
    return "asked" if "asked" in effects else "allowed"


def _sign_in(shown: "UserSummary") -> str:
    document = sign_in_document(shown)
    pages, without = document["onPages"], document["passwordGrant"]
    if pages != without:
        return f"{_ON_PAGES[pages]}; {without} without pages"
    if pages == "allowed":
        lockout = shown.lockout
        failed = lockout is not None and lockout.record.failures
        return f"allowed, after {_failures(lockout)}" if lockout and failed else "allowed"
    return "refused" if pages == "refused" else _ON_PAGES[pages]


_ON_PAGES = {
    "allowed": "allowed on pages",
    "asked": "pages ask first",
    "refused": "refused on pages",
    "unknown": _UNKNOWN,
}


def _reasons(shown: "UserSummary", now: datetime) -> Iterator[str]:
    """Yield a line for each obstacle, with the command that removes it."""
    for each in shown.obstacles:
        text = each.text
        if each.code == "locked":
            text = _locked(shown, now)
        command = _REMEDIES.get(each.code)
        yield f"{text} ({command})" if command else text


_REMEDIES = {
    "locked": "realmgate user unlock",
    "disabled": "realmgate user enable",
    "no-credential": "realmgate user set-password",
    "password-expired": "realmgate user set-password",
    "profile": "realmgate user update",
}
"""The commands of `realmgate user` that remove obstacles."""


def _locked(shown: "UserSummary", now: datetime) -> str:
    lockout = shown.lockout
    if lockout is None or lockout.record.permanent or lockout.record.locked_until is None:
        until = "locked out until it is unlocked"
    else:
        end = lockout.record.locked_until
        left = max(0, round((end - now).total_seconds()))
        until = f"locked out until {instant_text(end)}, for another {left} s"
    return until if lockout is None else f"{until}, after {_failures(lockout)}"


def _credential(credential: "Credential") -> str:
    return f"{credential.type} ({credential.label})" if credential.label else credential.type


def _failures(lockout: "UserLockout") -> str:
    record = lockout.record
    failed = f"{record.failures} failed sign-in{'s' if record.failures != 1 else ''}"
    return f"{failed}, the last from {record.last_address}" if record.last_address else failed
