"""Where an empty value is not answered as by Keycloak, and why."""

import json
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Final

from tests.support.empty_values import Answer


@dataclass(frozen=True, slots=True)
class Deviation:
    """`field` and `operation` are patterns of the shell; `values` are JSON texts in a row.

    `answer` is the gateway's.
    """

    subject: str
    field: str
    values: str
    status: int
    why: str
    operation: str = "*"

    def explains(self, operation: str, name: str, value: Any) -> bool:
        """Tell whether this is about that field with that value."""
        return (
            fnmatchcase(operation, self.operation)
            and fnmatchcase(name, self.field)
            and json.dumps(value) in self.values.split()
        )

    def permits(self, answer: Answer) -> bool:
        """Tell whether the gateway may answer so."""
        return int(answer[0]) == self.status


def _both(
    subject: str, name: str, values: str, why: str, *, refused: bool = False
) -> tuple[Deviation, ...]:
    """Return the deviation of new and of changed objects."""
    created, changed = (400, 400) if refused else (201, 204)
    return (
        Deviation(subject, name, values, created, why, "create"),
        Deviation(subject, name, values, changed, why, "update"),
    )


_FLAG: Final = "a flag that is neither true nor false is refused: it would protect nothing"
_ID: Final = "an object always gets an id of its own"
_NAMELESS: Final = "an object without a name could not be addressed"
_NEVER_VALID: Final = "a token, code or session of no duration would never be valid"
_STAYS: Final = "what is not sent stays"
_MAIL: Final = "a mail server may be set in parts; no mail is sent yet"
_POLICIES: Final = "policies of another type are refused, or the realm would lose those it has"
_NO_CHOICE: Final = "an unknown choice is refused, since nothing would follow from it"
_AS_SENT: Final = "stored as it was sent; nothing depends on it"
_ONE_TEXT: Final = "one value is a list of one: kcadm sends it so"
_PROTOCOL: Final = "an unknown protocol would have no effect"
_AUTHENTICATOR: Final = "with an unknown authenticator no client could authenticate"
_UNKNOWN_SETTING: Final = "a setting without an effect is refused"
_FLOW: Final = "a flow or an execution of no known kind could not run"

DEVIATIONS: Final[tuple[Deviation, ...]] = (
    Deviation("client", "id", '""', 201, _ID, operation="create"),
    Deviation("client", "secret", '""', 201, "an empty secret is no secret", operation="create"),
    Deviation("client", "secret", '""', 204, "an empty secret is no secret", operation="update"),
    Deviation("client", "clientAuthenticatorType", "0", 400, _AUTHENTICATOR),
    Deviation("client", "attributes.use.refresh.tokens", "0", 400, _FLAG),
    Deviation(
        "client", "attributes.id.token.signed.response.alg", "0", 400, "it would sign nothing"
    ),
    Deviation("client-scope", "id", '""', 201, _ID, operation="create"),
    Deviation("client-scope", "protocol", '"" 0', 400, _PROTOCOL, operation="update"),
    Deviation("protocol-mapper", "id", '""', 201, _ID, operation="create"),
    Deviation("protocol-mapper", "name", 'null ""', 400, _NAMELESS, operation="create"),
    Deviation("protocol-mapper", "protocol", '"" 0', 400, _PROTOCOL, operation="create"),
    Deviation(
        "protocol-mapper",
        "protocol",
        "null",
        201,
        "openid-connect is meant; Keycloak calls it a conflict",
        operation="create",
    ),
    Deviation(
        "user", "federationLink", '""', 201, "users come from the realm alone", operation="create"
    ),
    Deviation(
        "user", "federationLink", '""', 204, "users come from the realm alone", operation="update"
    ),
    Deviation("credential", "value", '""', 400, "an empty password protects nothing", "create"),
    Deviation("group", "attributes.purpose", '"" 0', 201, _ONE_TEXT, operation="create"),
    Deviation("group", "attributes.purpose", '"" 0', 204, _ONE_TEXT, operation="update"),
    Deviation("role", "attributes.purpose", '"" 0', 201, _ONE_TEXT, operation="create"),
    Deviation("role", "attributes.purpose", '"" 0', 204, _ONE_TEXT, operation="update"),
    Deviation("role", "name", '""', 400, _NAMELESS, operation="create"),
    Deviation("component", "name", 'null ""', 201, _NAMELESS, operation="create"),
    Deviation("component", "name", '""', 204, _NAMELESS, operation="update"),
    Deviation("component", "id", '""', 201, _ID, operation="create"),
    Deviation("component", "parentId", '"" 0', 400, "the parent is the realm"),
    Deviation("component", "subType", '"" 0', 201, "no kind has subtypes", operation="create"),
    Deviation("component", "subType", '"" 0', 204, "no kind has subtypes", operation="update"),
    Deviation("required-action", "name", "null", 204, "the name stays, or is the provider's"),
    Deviation("required-action", "alias", "null", 204, "the alias stays", operation="update"),
    Deviation("required-action", "alias", '"" 0', 400, "the alias stays", operation="update"),
    Deviation(
        "required-action", "config.max_auth_age", '""', 204, "empty is not set", operation="update"
    ),
    Deviation("required-action", "config.purpose", '""', 204, "empty is not set", "update"),
    Deviation("required-action", "config.purpose", "0", 400, _UNKNOWN_SETTING, "update"),
    Deviation("flow", "topLevel", 'null ""', 204, "it stays", operation="update"),
    Deviation("flow", "topLevel", "0", 400, "it cannot be changed", operation="update"),
    Deviation("flow", "providerId", "null", 201, "basic-flow is meant", operation="create"),
    Deviation("flow", "providerId", "null", 204, "it stays", operation="update"),
    Deviation("flow", "providerId", '""', 400, _FLOW),
    Deviation("flow", "providerId", "0", 400, _FLOW),
    Deviation("flow", "id", '""', 201, _ID, operation="create"),
    Deviation("flow", "description", "null", 204, "it stays", operation="update"),
    Deviation("execution", "id", '"" 0', 201, _ID),
    Deviation("execution", "flowId", '"" 0', 400, _FLOW),
    Deviation(
        "execution-change", "authenticationFlow", "0", 204, "the execution exists; 404 is wrong"
    ),
    Deviation("authenticator-config", "id", '"" 0', 201, _ID, operation="create"),
    *_both("realm", "smtpServer.*", 'null "" 0', _MAIL),
    *_both("realm", "otpPolicyType", '""', "an empty type is not set"),
    *_both("realm", "otpPolicy*Window", "0", "zero is a setting: no tolerance"),
    *_both("realm", "*Lifespan*", "0", _NEVER_VALID, refused=True),
    *_both("realm", "*Idle*", "0", _NEVER_VALID, refused=True),
    *_both("realm", "oauth2DevicePollingInterval", "0", _NEVER_VALID, refused=True),
    *_both("realm", "client[PC]*", '"" 0 []', _POLICIES, refused=True),
    *_both("realm", "client[PC]*", "{}", _AS_SENT),
    *_both("realm", "defaultSignatureAlgorithm", "0", _NO_CHOICE, refused=True),
    *_both("realm", "bruteForceStrategy", "0", _NO_CHOICE, refused=True),
    *_both("realm", "otpPolicy[TA]*", "0", _NO_CHOICE, refused=True),
    *_both("realm", "attributes.frontendUrl", "0", _UNKNOWN_SETTING, refused=True),
    *_both("realm", "requiredCredentials", "[]", _AS_SENT),
    *_both("realm", "webAuthn*SignatureAlgorithms", "[]", _AS_SENT),
    Deviation("realm", "id", '""', 201, "an id that is not sent is the name", "create"),
    Deviation("realm", "realm", "0", 400, _NAMELESS, "create"),
    Deviation("realm", "defaultRole", "{}", 400, _NAMELESS, "create"),
    Deviation("realm", "*xFrameOptions", "null", 201, "a header is not lost", "create"),
    Deviation("realm", "oauth2Device*", 'null ""', 204, _STAYS, "update"),
    Deviation("realm", "events*", 'null ""', 204, _STAYS, "update"),
    Deviation("realm", "attributes", "null {}", 204, "other attributes are derived", "update"),
    Deviation("realm", "certificate", '"" 0', 204, "no key is set with the realm", "update"),
    Deviation("realm", "otpPolicyInitialCounter", "0", 204, "zero is a setting", "update"),
    Deviation("realm", "otpPolicyCodeReusable", "0", 204, "false is a setting", "update"),
    Deviation("realm", "webAuthn*", '"" 0 []', 204, _AS_SENT, "update"),
    Deviation(
        "execution",
        "priority",
        'null ""',
        201,
        "the last of its flow, which had another execution there",
    ),
)
