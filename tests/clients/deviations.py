"""Where the answers to recorded clients differ from Keycloak's, and why.

A row explains the differences whose request, member and text match its patterns.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from tests.support.replay_differences import Difference


class Reason(StrEnum):
    """Why an answer may differ."""

    LEFT_OUT = "not part of the product"
    STRICTER = "stricter on purpose, and documented"
    KEYCLOAK = "a fault of Keycloak"
    LATER = "comes with a later version"
    OWN = "a text or a list of our own"
    RECORDED = "the recorded server had more in it, or the client waited"


@dataclass(frozen=True, slots=True)
class Deviation:
    """`*` in a pattern stands for any text; `member` is empty for the status.

    `what` is a pattern of the text that says how the answer differs.
    """

    request: str
    member: str
    reason: Reason
    why: str
    what: str = "*"
    recording: str = "*"

    def __str__(self) -> str:
        return f"{self.request} {self.member} {self.what}"

    def explains(self, difference: Difference) -> bool:
        """Return whether this row is about that difference."""
        return (
            _matches(self.request, difference.request)
            and _matches(self.member, difference.member)
            and _matches(self.what, difference.what)
            and _matches(self.recording, difference.recording)
        )


def _matches(pattern: str, text: str) -> bool:
    return re.fullmatch(re.escape(pattern).replace(r"\*", ".*"), text, re.DOTALL) is not None


_REALM: Final = "/admin/realms/{realm}"
_OIDC: Final = "/realms/{realm}/protocol/openid-connect"

DEVIATIONS: Final[tuple[Deviation, ...]] = (
    Deviation(
        f"* {_REALM}/identity-provider/instances*",
        "*",
        Reason.LEFT_OUT,
        "Identity brokering",
    ),
    Deviation(
        f"* {_REALM}/clients/{{id}}/authz/resource-server/*",
        "*",
        Reason.LEFT_OUT,
        "Authorization services (UMA)",
    ),
    Deviation(f"* {_REALM}/*/management/permissions", "", Reason.LEFT_OUT, "Fine-grained rights"),
    Deviation(
        f"PUT {_REALM}/users/{{id}}/execute-actions-email",
        "errorMessage",
        Reason.OWN,
        "Why the realm cannot send mails",
    ),
    Deviation(
        f"POST {_OIDC}/token",
        "",
        Reason.RECORDED,
        "The client waited until the lock-out was over",
        "status 400 instead of 200*Invalid user credentials*",
    ),
    Deviation(
        f"GET {_REALM}/attack-detection/brute-force/users/{{id}}",
        "*",
        Reason.RECORDED,
        "The client waited until the lock-out was over",
    ),
    Deviation(
        f"POST {_OIDC}/token",
        "",
        Reason.RECORDED,
        "The assertion was signed by the client's key, and is not in the recording",
        "status 400 instead of 200*Failed to parse JWT*",
    ),
    Deviation(
        f"POST {_REALM}/partialImport",
        "*",
        Reason.KEYCLOAK,
        "Keycloak names an overwritten role a second time, as added",
    ),
    Deviation("GET /admin/realms", "[]", Reason.OWN, "The realm `master`"),
    Deviation("GET /admin/serverinfo", "systemInfo.*", Reason.OWN, "The machine and the product"),
    Deviation("GET /admin/serverinfo", "themes.*", Reason.OWN, "Themes"),
    Deviation("GET /admin/serverinfo", "componentTypes.*", Reason.OWN, "Providers that there are"),
    Deviation(
        f"GET {_REALM}/client-policies/profiles",
        "globalProfiles[].description",
        Reason.OWN,
        "Descriptions are texts of our own",
    ),
    Deviation(
        f"GET {_REALM}/authentication/authenticator-providers",
        "[].description",
        Reason.OWN,
        "Descriptions are texts of our own",
    ),
    Deviation(
        f"GET {_REALM}/authentication/config-description/*",
        "*helpText",
        Reason.OWN,
        "Descriptions are texts of our own",
    ),
    Deviation(
        f"* {_REALM}*",
        "error",
        Reason.OWN,
        "An unknown field is named by its path, in Keycloak by line and column",
        "*Unrecognized field*",
    ),
    Deviation(
        f"GET {_REALM}/users",
        "[].attributes",
        Reason.RECORDED,
        "The recorded administrator was a temporary one",
        "*is_temporary_admin*",
    ),
    Deviation(
        f"GET {_REALM}/users/{{id}}/role-mappings",
        "realmMappings[].containerId",
        Reason.OWN,
        "The id of the realm `master` is its name",
    ),
    Deviation(
        f"POST {_REALM}/partial-export",
        "clients[].attributes.jwt.credential.private.key",
        Reason.STRICTER,
        "A client's private key is returned once, when it is generated",
    ),
    Deviation(
        f"GET {_REALM}/client-scopes",
        "[]",
        Reason.RECORDED,
        "The recorded requests were sent at the same time, and arrived in another order",
        "added*plant*",
    ),
    *(
        Deviation(
            f"GET {_REALM}/clients/{path}",
            member,
            Reason.RECORDED,
            "The recorded requests were sent at the same time, and arrived in another order",
            what,
            "terraform*",
        )
        for path, member, what in (
            ("{id}", "protocolMappers[]", "added*"),
            ("{id}", "defaultClientScopes[]", 'added: "basic"'),
            ("{id}/protocol-mappers/models", "[]", "*"),
        )
    ),
    *(
        Deviation(
            request,
            f"attributes.{name}",
            Reason.OWN,
            "A setting is not listed a second time as an attribute once it has been set",
            "missing*",
        )
        for request in (f"GET {_REALM}", f"POST {_REALM}/partial-export")
        for name in ("client*Session*", "realmReusableOtpCode", "scimApiEnabled")
    ),
    Deviation(
        f"GET {_REALM}/client-registration-policy/providers",
        "[].helpText",
        Reason.OWN,
        "Descriptions are texts of our own",
    ),
    Deviation(
        f"POST {_REALM}/user-storage/does-not-exist/sync",
        "error",
        Reason.LEFT_OUT,
        "User federation",
    ),
)
