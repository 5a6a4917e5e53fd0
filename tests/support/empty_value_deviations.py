"""Where an empty value is not answered as by Keycloak, and why."""

import json
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Any, Final

from tests.support.empty_values import Answer


class Reason(StrEnum):
    """Why an answer may differ."""

    WEAKENS = "it would weaken security"
    FAULT = "a fault of Keycloak"
    IDLE = "a setting that could not act"


@dataclass(frozen=True, slots=True)
class Deviation:
    """`field` is a pattern of the shell, `value` a JSON text; `status` is the gateway's.

    Empty, `operation` stands for all.
    """

    subject: str
    operation: str
    field: str
    value: str
    status: int
    reason: Reason
    why: str

    def explains(self, operation: str, name: str, value: Any) -> bool:
        """Tell whether this is about that field with that value."""
        return (
            self.operation in {"", operation}
            and fnmatchcase(name, self.field)
            and json.dumps(value) == self.value
        )

    def permits(self, answer: Answer) -> bool:
        """Tell whether the gateway may answer so."""
        return int(answer[0]) == self.status


def _refused(  # noqa: PLR0917 - a row of the table
    subject: str, operations: str, name: str, values: str, reason: Reason, why: str
) -> tuple[Deviation, ...]:
    """Return what is answered with 400, a deviation for each operation and value."""
    return tuple(
        Deviation(subject, operation, name, value, 400, reason, why)
        for operation in operations.split()
        for value in values.split()
    )


def _taken(  # noqa: PLR0917 - a row of the table
    subject: str, operation: str, name: str, values: str, reason: Reason, why: str
) -> tuple[Deviation, ...]:
    """Return what succeeds, and is shown with another value than by Keycloak."""
    status = 201 if operation == "create" else 204
    return tuple(
        Deviation(subject, operation, name, value, status, reason, why) for value in values.split()
    )


_ADDRESS: Final = "an object with an empty id has no address; it gets an id of its own"
_ALGORITHM: Final = "nothing is signed with an unknown algorithm"
_OTP: Final = "Keycloak passes over a policy without its type; codes would be easier to guess"
_KIND: Final = "a flow of no known kind cannot run"
_PARENT: Final = "a component of another parent than its realm is not used"
_SUBTYPE: Final = "no key has a subtype; the empty text is none"
_RESET: Final = "an update without the field resets it; a shorter time would be lost unnoticed"
_NULL_FLAG: Final = "null stops the recording here, while it means 'unchanged' for other fields"
_PROTOCOL: Final = "no client has such a protocol; Keycloak refuses it too for a new scope"

DEVIATIONS: Final[tuple[Deviation, ...]] = (
    *_refused("realm", "create update", "defaultSignatureAlgorithm", "0", Reason.IDLE, _ALGORITHM),
    *_refused(
        *("realm", "create update", "otpPolicy[TA]*", "0", Reason.IDLE),
        "no code is made by an unknown type or algorithm",
    ),
    *_refused(
        *("realm", "create update", "attributes.frontendUrl", "0", Reason.IDLE),
        "the issuer of tokens does not follow it",
    ),
    *_taken("realm", "create", "otpPolicyLookAheadWindow", "0", Reason.WEAKENS, _OTP),
    *_taken("realm", "update", "otpPolicy[!TA]*", "0", Reason.WEAKENS, _OTP),
    *_taken(
        *("realm", "create", "defaultRole", "{}", Reason.FAULT),
        "the role that every user has would be without a name",
    ),
    *_taken("realm", "update", "oauth2Device*", 'null ""', Reason.FAULT, _RESET),
    *_taken("realm", "update", "attributes", "null {}", Reason.FAULT, _RESET),
    *_taken("realm", "update", "eventsE[nx]*", 'null ""', Reason.FAULT, _NULL_FLAG),
    *_taken("client", "create", "id", '""', Reason.FAULT, _ADDRESS),
    *_refused(
        *("client", "create update", "secret", '""', Reason.WEAKENS),
        "whoever knows the client id would be the client",
    ),
    *_refused(
        *("client", "create update", "clientAuthenticatorType", "0", Reason.IDLE),
        "no client can authenticate by an unknown method",
    ),
    *_refused(
        *("client", "create update", "attributes.use.refresh.tokens", "0", Reason.IDLE),
        "a flag that is neither true nor false may promise a protection that is not given",
    ),
    *_refused(
        *("client", "create update", "attributes.id.token.signed.response.alg", "0"),
        *(Reason.IDLE, _ALGORITHM),
    ),
    *_taken("client-scope", "create", "id", '""', Reason.FAULT, _ADDRESS),
    *_refused("client-scope", "update", "protocol", '"" 0', Reason.IDLE, _PROTOCOL),
    *_taken("protocol-mapper", "create", "id", '""', Reason.FAULT, _ADDRESS),
    *_taken(
        *("user", "create", "federationLink", '""', Reason.FAULT),
        "a link to no provider; with any other text the user cannot be read any more",
    ),
    *_taken(
        *("user", "update", "federationLink", '""', Reason.FAULT),
        "a link to no provider; with any other text the user cannot be read any more",
    ),
    *_refused(
        *("credential", "create", "value", '""', Reason.WEAKENS),
        "an empty password protects nothing",
    ),
    *_refused(
        *("role", "create", "name", '""', Reason.FAULT),
        "the address of a role is its name: this one has none",
    ),
    *_taken("component", "create", "id", '""', Reason.FAULT, _ADDRESS),
    *_refused("component", "create update", "parentId", '"" 0', Reason.IDLE, _PARENT),
    *_refused("component", "create update", "subType", "0", Reason.IDLE, _SUBTYPE),
    *_taken("component", "create", "subType", '""', Reason.IDLE, _SUBTYPE),
    *_taken("component", "update", "subType", '""', Reason.IDLE, _SUBTYPE),
    *_taken(
        *("required-action", "update", "alias", 'null ""', Reason.FAULT),
        "the address of a required action is its alias: it stays",
    ),
    *_taken("flow", "create", "id", '""', Reason.FAULT, _ADDRESS),
    *_refused("flow", "create update", "providerId", '"" 0', Reason.IDLE, _KIND),
    *_taken("execution", "create", "id", '""', Reason.FAULT, _ADDRESS),
    *_taken(
        *("execution", "create", "priority", 'null ""', Reason.FAULT),
        "the execution with an empty id cannot be removed, and counts",
    ),
    *_taken(
        *("execution", "create", "flowId", '""', Reason.FAULT),
        "an execution that is no flow keeps a reference to none",
    ),
    *_refused(
        *("execution", "create", "flowId", "0", Reason.IDLE),
        "an execution that is no flow does not use it; of one that is, Keycloak answers 500 later",
    ),
    *_taken("authenticator-config", "create", "id", '""', Reason.FAULT, _ADDRESS),
)
"""A deviation for each operation and value that is answered otherwise."""
