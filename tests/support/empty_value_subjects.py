"""The representations of the admin API whose fields are sent empty, and how each is handled."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final

import httpx2

from gateway.representations.client_scopes import CLIENT_SCOPE_TABLE, MAPPER_TABLE
from gateway.representations.clients import CLIENT_FIELDS
from gateway.representations.components import COMPONENT_FIELDS
from gateway.representations.flows import (
    ACTION_FIELDS,
    CONFIG_FIELDS,
    EXECUTION_CHANGE_FIELDS,
    EXECUTION_FIELDS,
    FLOW_FIELDS,
)
from gateway.representations.groups import GROUP_FIELDS
from gateway.representations.realms import REALM_TABLE
from gateway.representations.roles import ROLE_FIELDS
from gateway.representations.users import CREDENTIAL_FIELDS, USER_TABLE

Ask = Callable[[str, str, object], httpx2.Response]
_ACTION: Final = "UPDATE_EMAIL"
_REDIRECTOR: Final = "identity-provider-redirector"


@dataclass(slots=True)
class World:
    """A server, a realm on it, and the objects in it that others refer to."""

    ask: Ask
    realm: str
    ids: dict[str, str] = field(default_factory=dict)
    _numbers: Iterator[int] = field(default_factory=count)

    @classmethod
    def prepared(cls, ask: Ask, realm: str, **fields: Any) -> "World":
        """Make the realm with a client, a user, a flow and an execution."""
        world = cls(ask, realm)
        world.sent("POST", "", {"realm": realm, "enabled": True, **fields})
        profile = world.get(f"{realm}/users/profile")
        world.sent(
            "PUT", f"{realm}/users/profile", {**profile, "unmanagedAttributePolicy": "ENABLED"}
        )
        ids = world.ids
        ids["client"] = _last(world.sent("POST", f"{realm}/clients", {"clientId": "holder"}))
        ids["user"] = _last(world.sent("POST", f"{realm}/users", {"username": "holder"}))
        flow = {"alias": "holder", "providerId": "basic-flow", "topLevel": True, "builtIn": False}
        ids["parent"] = str(world.get(realm)["id"])
        ids["flow"] = _last(world.sent("POST", f"{realm}/authentication/flows", flow))
        step = {
            "authenticator": _REDIRECTOR,
            "parentFlow": ids["flow"],
            "requirement": "ALTERNATIVE",
            "priority": 1,
        }
        made = world.sent("POST", f"{realm}/authentication/executions", step)
        ids["execution"] = _last(made)
        world.ask("DELETE", f"{realm}/authentication/required-actions/{_ACTION}", None)
        return world

    def numbered(self, document: Mapping[str, Any]) -> dict[str, Any]:
        """Return a document with a new number for `{n}`, and ids for their names in braces."""
        found = _replaced(document, {**self.ids, "n": f"probe{next(self._numbers)}"})
        assert isinstance(found, dict)
        return found

    def sent(self, method: str, path: str, document: object) -> httpx2.Response:
        """Send what must succeed."""
        response = self.ask(method, path, document)
        assert response.is_success, f"{method} {path}: {response.status_code} {response.text}"
        return response

    def get(self, path: str) -> Any:
        """Return a document, None where there is none."""
        response = self.ask("GET", path, None)
        return response.json() if response.is_success else None


@dataclass(frozen=True, slots=True)
class Subject:
    """A representation: where its objects are, and what is sent to make one.

    `minimal` is the least that makes an object, `more` gives an object to be changed a value in
    many fields. With `resends`, an update sends the whole object, for others fields are lost.
    """

    name: str
    fields: tuple[str, ...]
    place: str
    minimal: Mapping[str, Any]
    more: Mapping[str, Any] = field(default_factory=dict)
    resends: bool = False
    creates: bool = True
    updates: bool = True

    def create(self, world: World, document: Mapping[str, Any]) -> httpx2.Response:
        return world.ask("POST", self._at(world), document)

    def path(self, world: World, made: httpx2.Response, document: Mapping[str, Any]) -> str:  # noqa: ARG002 - for others
        """Return the path of a new object."""
        return f"{self._at(world)}/{_last(made)}"

    def read(self, world: World, path: str) -> Any:
        """Return the object, None if it no longer exists."""
        return world.get(path)

    def whole(self, world: World, before: Any) -> dict[str, Any]:  # noqa: ARG002 - for others
        """Return the document that makes the object what it was."""
        return dict(before)

    def update(self, world: World, path: str, document: Mapping[str, Any]) -> httpx2.Response:
        return world.ask("PUT", path, document)

    def remove(self, world: World, path: str) -> None:
        world.ask("DELETE", path, None)

    def _at(self, world: World) -> str:
        found = _replaced(self.place, {**world.ids, "realm": world.realm})
        return str(found)


class _OfRealm(Subject):
    """A realm stands at the top."""

    def path(self, world: World, made: httpx2.Response, document: Mapping[str, Any]) -> str:  # noqa: ARG002
        return _last(made)


class _OfCredential(Subject):
    """A credential is sent with its user, or as a new password; a list shows it."""

    def create(self, world: World, document: Mapping[str, Any]) -> httpx2.Response:
        user = world.numbered({"username": "{n}", "credentials": [document]})
        return world.ask("POST", f"{world.realm}/users", user)

    def path(self, world: World, made: httpx2.Response, document: Mapping[str, Any]) -> str:  # noqa: ARG002
        return f"{world.realm}/users/{_last(made)}"

    def read(self, world: World, path: str) -> Any:
        found = world.get(f"{path}/credentials")
        return found[0] if found else None

    def whole(self, world: World, before: Any) -> dict[str, Any]:  # noqa: ARG002
        return dict(world.numbered(self.minimal))

    def update(self, world: World, path: str, document: Mapping[str, Any]) -> httpx2.Response:
        return world.ask("PUT", f"{path}/reset-password", document)


class _OfRole(Subject):
    """A role is made by name and changed by id, since its name may change."""

    def path(self, world: World, made: httpx2.Response, document: Mapping[str, Any]) -> str:  # noqa: ARG002
        role = world.get(f"{world.realm}/roles/{_last(made)}")
        found = role.get("id") if isinstance(role, dict) else None
        return f"{world.realm}/roles-by-id/{found}"


class _OfAction(Subject):
    """A required action is registered once."""

    def create(self, world: World, document: Mapping[str, Any]) -> httpx2.Response:
        world.ask("DELETE", f"{self._at(world)}/{_ACTION}", None)
        path = f"{world.realm}/authentication/register-required-action"
        return world.ask("POST", path, document)

    def path(self, world: World, made: httpx2.Response, document: Mapping[str, Any]) -> str:  # noqa: ARG002
        return f"{self._at(world)}/{_ACTION}"


class _OfExecutionChange(Subject):
    """An execution of a flow is changed with a part of what a list shows of it."""

    def path(self, world: World, made: httpx2.Response, document: Mapping[str, Any]) -> str:  # noqa: ARG002
        return _last(made)

    def read(self, world: World, path: str) -> Any:
        shown = world.get(f"{world.realm}/authentication/flows/holder/executions")
        return next((each for each in shown if each["id"] == path), None)

    def update(self, world: World, path: str, document: Mapping[str, Any]) -> httpx2.Response:  # noqa: ARG002
        return world.ask("PUT", f"{world.realm}/authentication/flows/holder/executions", document)

    def remove(self, world: World, path: str) -> None:
        world.ask("DELETE", f"{world.realm}/authentication/executions/{path}", None)


class _OfConfig(Subject):
    """A configuration is made below its execution, and stands elsewhere."""

    def create(self, world: World, document: Mapping[str, Any]) -> httpx2.Response:
        path = f"{world.realm}/authentication/executions/{world.ids['execution']}/config"
        return world.ask("POST", path, document)


def _last(made: httpx2.Response) -> str:
    return str(made.headers.get("location", "")).rpartition("/")[2]


def _replaced(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        for name, text in names.items():
            value = value.replace(f"{{{name}}}", text)
        return value
    if isinstance(value, Mapping):
        return {name: _replaced(item, names) for name, item in value.items()}
    return [_replaced(item, names) for item in value] if isinstance(value, list) else value


_REALM_SECONDS: Final = (
    *("accessTokenLifespan", "accessTokenLifespanForImplicitFlow", "ssoSessionIdleTimeout"),
    *("ssoSessionMaxLifespan", "ssoSessionIdleTimeoutRememberMe"),
    *("ssoSessionMaxLifespanRememberMe", "offlineSessionIdleTimeout"),
    *(
        "offlineSessionMaxLifespan",
        "accessCodeLifespan",
        "accessCodeLifespanUserAction",
        "accessCodeLifespanLogin",
    ),
    *("actionTokenGeneratedByAdminLifespan", "actionTokenGeneratedByUserLifespan"),
    *("oauth2DeviceCodeLifespan", "oauth2DevicePollingInterval", "maxTemporaryLockouts"),
    *("maxFailureWaitSeconds", "minimumQuickLoginWaitSeconds", "waitIncrementSeconds"),
    *("quickLoginCheckMilliSeconds", "maxDeltaTimeSeconds", "failureFactor"),
    *("maxSecondaryAuthFailures", "otpPolicyInitialCounter", "otpPolicyLookAheadWindow"),
    *("otpPolicyPeriod", "eventsExpiration", "webAuthnPolicyCreateTimeout", "notBefore"),
    *("webAuthnPolicyPasswordlessCreateTimeout", "refreshTokenMaxReuse"),
)
_CLIENT_SECONDS: Final = (
    *("clientSessionIdleTimeout", "clientSessionMaxLifespan"),
    *("clientOfflineSessionIdleTimeout", "clientOfflineSessionMaxLifespan"),
)
_REALM_FLAGS: Final = (
    *("revokeRefreshToken", "offlineSessionMaxLifespanEnabled", "registrationAllowed"),
    *("rememberMe", "verifyEmail", "loginWithEmailAllowed", "resetPasswordAllowed"),
    *("editUsernameAllowed", "bruteForceProtected", "permanentLockout", "otpPolicyCodeReusable"),
    *("eventsEnabled", "adminEventsEnabled", "adminEventsDetailsEnabled"),
    *("internationalizationEnabled", "userManagedAccessAllowed"),
)
_MAPPER: Final = {
    "protocol": "openid-connect",
    "protocolMapper": "oidc-hardcoded-claim-mapper",
    "config": {"claim.name": "purpose", "claim.value": "probe", "access.token.claim": "true"},
}


def _of_table(*names: str, inside: str = "") -> tuple[str, ...]:
    return (*names, *inside.split())


_OWN: Final = frozenset({"certificateAuthorities", "guardSites"})
"""Members of a realm that Keycloak does not have."""

SUBJECTS: Final[tuple[Subject, ...]] = (
    _OfRealm(
        "realm",
        _of_table(
            *REALM_TABLE.shapes,
            *(name for name in REALM_TABLE.beside if name not in _OWN),
            inside="attributes.purpose attributes.acr.loa.map attributes.frontendUrl"
            " smtpServer.host smtpServer.port smtpServer.password smtpServer.from"
            " smtpServer.ssl smtpServer.auth browserSecurityHeaders.xFrameOptions"
            " browserSecurityHeaders.purpose",
        ),
        "",
        {"realm": "{n}"},
        {
            **{name: 60 + place for place, name in enumerate(_REALM_SECONDS)},
            **dict.fromkeys(_CLIENT_SECONDS, 30),
            **dict.fromkeys(_REALM_FLAGS, True),
            "enabled": True,
            "displayName": "Probe",
            "displayNameHtml": "<b>Probe</b>",
            "defaultSignatureAlgorithm": "ES256",
            "sslRequired": "all",
            "bruteForceStrategy": "LINEAR",
            "passwordPolicy": "length(3)",
            "otpPolicyType": "hotp",
            "otpPolicyAlgorithm": "HmacSHA256",
            "otpPolicyDigits": 8,
            "otpSupportedApplications": ["totpAppGoogleName"],
            "smtpServer": {"host": "mail.test", "from": "probe@mail.test", "port": "2525"},
            "loginTheme": "keycloak",
            "accountTheme": "keycloak.v3",
            "adminTheme": "keycloak.v2",
            "emailTheme": "keycloak",
            "enabledEventTypes": ["LOGIN"],
            "supportedLocales": ["de", "en"],
            "defaultLocale": "de",
            "attributes": {"purpose": "probe"},
            "webAuthnPolicyRpEntityName": "probe",
            "webAuthnPolicySignatureAlgorithms": ["ES512"],
            "webAuthnPolicyRpId": "probe.test",
            "webAuthnPolicyAttestationConveyancePreference": "direct",
            "webAuthnPolicyAuthenticatorAttachment": "platform",
            "webAuthnPolicyRequireResidentKey": "Yes",
            "webAuthnPolicyUserVerificationRequirement": "preferred",
            "webAuthnPolicyExtraOrigins": ["https://probe.test"],
            "webAuthnPolicyPasswordlessRpEntityName": "probe",
            "webAuthnPolicyPasswordlessExtraOrigins": ["https://probe.test"],
        },
    ),
    Subject(
        "client",
        _of_table(
            *CLIENT_FIELDS.shapes,
            *CLIENT_FIELDS.beside,
            inside="attributes.purpose attributes.access.token.lifespan"
            " attributes.use.refresh.tokens attributes.id.token.signed.response.alg"
            " attributes.x509.subjectdn attributes.post.logout.redirect.uris"
            " authenticationFlowBindingOverrides.browser registeredNodes.node",
        ),
        "{realm}/clients",
        {"clientId": "{n}"},
        {
            "name": "Probe",
            "description": "A probe",
            "type": "probe",
            "rootUrl": "https://probe.test",
            "adminUrl": "https://admin.probe.test",
            "baseUrl": "/base",
            "alwaysDisplayInConsole": True,
            "redirectUris": ["https://probe.test/*"],
            "webOrigins": ["https://origin.test"],
            "notBefore": 60,
            "consentRequired": True,
            "implicitFlowEnabled": True,
            "directAccessGrantsEnabled": True,
            "serviceAccountsEnabled": True,
            "frontchannelLogout": True,
            "attributes": {"purpose": "probe", "access.token.lifespan": "60"},
            "nodeReRegistrationTimeout": 60,
            "protocolMappers": [{"name": "probe", **_MAPPER}],
            "protocol": "openid-connect",
            "publicClient": False,
        },
    ),
    Subject(
        "client-scope",
        _of_table(*CLIENT_SCOPE_TABLE.shapes, inside="attributes.purpose"),
        "{realm}/client-scopes",
        {"name": "{n}", "protocol": "openid-connect"},
        {
            "description": "A probe",
            "attributes": {"purpose": "probe"},
            "protocolMappers": [{"name": "probe", **_MAPPER}],
        },
        resends=True,
    ),
    Subject(
        "protocol-mapper",
        _of_table(
            *MAPPER_TABLE.shapes,
            *MAPPER_TABLE.beside,
            inside="config.purpose config.claim.name config.claim.value config.id.token.claim",
        ),
        "{realm}/clients/{client}/protocol-mappers/models",
        {"name": "{n}", **_MAPPER},
        {},
        resends=True,
    ),
    Subject(
        "user",
        _of_table(*USER_TABLE.shapes, *USER_TABLE.beside, inside="attributes.purpose"),
        "{realm}/users",
        {"username": "{n}"},
        {
            "firstName": "Proba",
            "lastName": "Tor",
            "email": "{n}@mail.test",
            "emailVerified": True,
            "enabled": True,
            "attributes": {"purpose": ["probe"]},
            "requiredActions": ["UPDATE_PASSWORD"],
        },
    ),
    _OfCredential(
        "credential",
        CREDENTIAL_FIELDS,
        "{realm}/users",
        {"type": "password", "value": "a-word-{n}"},
        {},
        resends=True,
    ),
    Subject(
        "group",
        _of_table(*sorted(GROUP_FIELDS), inside="attributes.purpose"),
        "{realm}/groups",
        {"name": "{n}"},
        {"description": "A probe", "attributes": {"purpose": ["probe"]}},
        resends=True,
    ),
    _OfRole(
        "role",
        _of_table(*sorted(ROLE_FIELDS), inside="attributes.purpose"),
        "{realm}/roles",
        {"name": "{n}"},
        {"description": "A probe", "attributes": {"purpose": ["probe"]}},
        resends=True,
    ),
    Subject(
        "component",
        _of_table(*COMPONENT_FIELDS, inside="config.priority config.enabled config.purpose"),
        "{realm}/components",
        {
            "name": "{n}",
            "providerId": "ecdsa-generated",
            "providerType": "org.keycloak.keys.KeyProvider",
            "parentId": "{parent}",
            "config": {"ecdsaEllipticCurveKey": ["P-256"], "priority": ["-1"]},
        },
        {},
        resends=True,
    ),
    _OfAction(
        "required-action",
        _of_table(*ACTION_FIELDS, inside="config.max_auth_age config.purpose"),
        "{realm}/authentication/required-actions",
        {"providerId": _ACTION, "name": "Probe"},
        {},
        resends=True,
    ),
    Subject(
        "flow",
        tuple(FLOW_FIELDS),
        "{realm}/authentication/flows",
        {"alias": "{n}", "providerId": "basic-flow", "topLevel": True, "builtIn": False},
        {"description": "A probe"},
        resends=True,
    ),
    Subject(
        "execution",
        tuple(EXECUTION_FIELDS),
        "{realm}/authentication/executions",
        {
            "authenticator": "auth-cookie",
            "requirement": "REQUIRED",
            "priority": 7,
            "parentFlow": "{flow}",
        },
        updates=False,
    ),
    _OfExecutionChange(
        "execution-change",
        tuple(EXECUTION_CHANGE_FIELDS),
        "{realm}/authentication/executions",
        {
            "authenticator": "auth-cookie",
            "requirement": "REQUIRED",
            "priority": 7,
            "parentFlow": "{flow}",
        },
        {},
        resends=True,
        creates=False,
    ),
    _OfConfig(
        "authenticator-config",
        _of_table(*CONFIG_FIELDS, inside="config.defaultProvider"),
        "{realm}/authentication/config",
        {"alias": "{n}", "config": {"defaultProvider": "probe"}},
        {},
        resends=True,
    ),
)
