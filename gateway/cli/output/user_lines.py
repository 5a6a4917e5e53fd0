"""A user as text."""

from collections.abc import Iterator

from gateway.admin.users import Lockout, UserSummary
from gateway.domain.users import User

_UNKNOWN = "unknown: Redis is unavailable"


def user_lines(shown: UserSummary) -> Iterator[tuple[str, str]]:
    """Yield label and value of each line; an empty value is not shown."""
    user = shown.user
    yield "user", user.username
    yield "id", user.id
    yield "name", " ".join(filter(None, (user.first_name, user.last_name)))
    if user.email:
        yield "e-mail", f"{user.email}, {'verified' if user.email_verified else 'not verified'}"
    yield "created", user.created_at.isoformat(timespec="seconds")
    yield "sign-in", _sign_in(user, shown.lockout)
    yield "required actions", ", ".join(user.required_actions)
    if shown.password_expires_at is not None:
        yield "password expires", shown.password_expires_at.isoformat(timespec="seconds")
    for attribute, values in user.attributes.items():
        yield attribute, ", ".join(values)
    yield "roles", ", ".join(role_names(shown))
    yield "effective roles", ", ".join(_effective(shown))


def role_names(shown: UserSummary) -> list[str]:
    """Return the roles given to the user, those of clients as `client/role`."""
    return [f"{role.client}/{role.name}" if role.client else role.name for role in shown.granted]


def _effective(shown: UserSummary) -> Iterator[str]:
    yield from shown.effective.realm
    for client, roles in shown.effective.clients:
        yield from (f"{client}/{role}" for role in roles)


def _sign_in(user: User, lockout: Lockout | None) -> str:
    if lockout is not None and lockout.record.permanent:
        return f"locked out until it is unlocked, after {_failures(lockout)}"
    if not user.enabled:
        return "disabled"
    if lockout is None:
        return _UNKNOWN
    if lockout.locked:
        return f"locked out for another {lockout.seconds_left} s, after {_failures(lockout)}"
    return f"allowed, after {_failures(lockout)}" if lockout.record.failures else "allowed"


def _failures(lockout: Lockout) -> str:
    record = lockout.record
    failed = f"{record.failures} failed sign-in{'s' if record.failures != 1 else ''}"
    return f"{failed}, the last from {record.last_address}" if record.last_address else failed
