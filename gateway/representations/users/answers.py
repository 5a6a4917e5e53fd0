"""Users as the admin API tells of them. Keycloak: UserRepresentation, brief and full."""

from collections.abc import Mapping
from typing import Any, Final

from gateway.domain.users import User
from gateway.representations.users.user import write_user

_BRIEF: Final = frozenset(
    {
        "id",
        "username",
        "firstName",
        "lastName",
        "email",
        "emailVerified",
        "enabled",
        "createdTimestamp",
        "federationLink",
    }
)


def brief_user(user: User) -> dict[str, Any]:
    """Return what a listing shows where less is asked for."""
    return {name: value for name, value in write_user(user).items() if name in _BRIEF}


def with_metadata(document: Mapping[str, Any], metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the whole user with what forms for it are made of, where Keycloak puts it."""
    answer: dict[str, Any] = {}
    for name, value in document.items():
        answer[name] = value
        if name == "emailVerified":
            answer["userProfileMetadata"] = metadata
    return answer


def full_user(user: User, *, totp: bool) -> dict[str, Any]:
    """Return the whole user; `totp` tells whether it has a one-time password."""
    answer: dict[str, Any] = {}
    for name, value in write_user(user).items():
        if name == "requiredActions":
            answer["disableableCredentialTypes"] = []
        answer[name] = value
        if name == "createdTimestamp":
            answer["totp"] = totp
    return answer
