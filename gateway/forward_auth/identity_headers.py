"""The headers that tell a protected service who its caller is.

Values are printable ASCII: every other character, `%`, and in lists the comma, is percent-encoded
as UTF-8. The proxy removes all of `IDENTITY_HEADERS` from the caller's own request.
attacks: B6
"""

from collections.abc import Iterable
from typing import Final
from urllib.parse import quote

from gateway.domain.forward_auth import Identity
from gateway.domain.groups import render_names

REMOTE_USER: Final = "Remote-User"
REMOTE_EMAIL: Final = "Remote-Email"
REMOTE_GROUPS: Final = "Remote-Groups"
REMOTE_ROLES: Final = "Remote-Roles"
REALM: Final = "X-Realmgate-Realm"
SUBJECT: Final = "X-Realmgate-Subject"
CLIENT: Final = "X-Realmgate-Client"
CERTIFICATE: Final = "X-Realmgate-Certificate"
CREDENTIAL: Final = "X-Realmgate-Credential"
TOKEN: Final = "X-Realmgate-Token"  # noqa: S105 - the name of a header
AUTHORIZATION: Final = "X-Realmgate-Authorization"
"""`remove`: the proxy removes the caller's Authorization before the service."""
IDENTITY_HEADERS: Final = (
    REMOTE_USER,
    REMOTE_EMAIL,
    REMOTE_GROUPS,
    REMOTE_ROLES,
    REALM,
    SUBJECT,
    CLIENT,
    CERTIFICATE,
    CREDENTIAL,
    TOKEN,
)
LONGEST_VALUE: Final = 4096
"""Characters of one header; a longer list loses its last members, a longer text is left out."""
_TEXT: Final = " !\"#$&'()*+,/:;<=>?@[\\]^`{|}"
_MEMBER: Final = _TEXT.replace(",", "")


def identity_headers(identity: Identity) -> tuple[tuple[str, str], ...]:
    """Return the headers that have a value.

    `Remote-Email` is sent for verified addresses alone. `Remote-Roles` has realm roles by name
    and client roles as `client/role`; a slash in the name of a role or a group is `~/`. A
    certificate without a client has no `Remote-User`: its common name may be a user's.
    """
    email = identity.email if identity.email_verified else None
    realm_roles = (render_names((role,)) for role in sorted(identity.realm_roles))
    values = (
        (REMOTE_USER, _text(identity.username)),
        (REMOTE_EMAIL, _text(email)),
        (REMOTE_GROUPS, _list(identity.groups)),
        (REMOTE_ROLES, _list((*realm_roles, *sorted(identity.client_roles)))),
        (REALM, _text(identity.realm)),
        (SUBJECT, _text(identity.subject)),
        (CLIENT, _text(identity.client_id)),
        (CERTIFICATE, _text(identity.thumbprint)),
        (CREDENTIAL, identity.kind.value),
    )
    return tuple((name, value) for name, value in values if value)


def _text(value: str | None) -> str:
    encoded = _encoded(value or "", _TEXT)
    return encoded if len(encoded) <= LONGEST_VALUE else ""


def _list(members: Iterable[str]) -> str:
    """Return the members that fit, separated by commas."""
    listed, length = [], 0
    for member in members:
        encoded = _encoded(member, _MEMBER)
        length += len(encoded) + 1
        if length > LONGEST_VALUE:
            break
        listed.append(encoded)
    return ",".join(listed)


def _encoded(value: str, safe: str) -> str:
    """Return the value; white space around it is encoded, or a parser would cut it off."""
    encoded = quote(value, safe=safe)
    inner = encoded.strip(" ")
    if inner == encoded:
        return encoded
    before = len(encoded) - len(encoded.lstrip(" "))
    after = len(encoded) - len(inner) - before
    return f"{'%20' * before}{inner}{'%20' * after}"
