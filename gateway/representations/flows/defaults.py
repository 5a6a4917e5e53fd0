"""The flows that a realm is created with: Keycloak's, by name, order and requirement.

They are stored only where something of them has changed. Their ids are made of the realm's, so that
they are the same at every gateway and at every time.
Keycloak: 26.7, a new realm
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final
from uuid import UUID, uuid5

from gateway.domain.flows import AuthenticatorConfig, Execution, Flow, FlowKind, Requirement
from gateway.domain.limits.caches import cached

_NAMESPACE: Final = UUID("5f0f9c0e-6f6b-4a52-9b5c-1b6d7c6e2f10")
_R, _A = Requirement.REQUIRED, Requirement.ALTERNATIVE
_C, _D = Requirement.CONDITIONAL, Requirement.DISABLED


@dataclass(frozen=True, slots=True)
class _Step:
    priority: int
    requirement: Requirement
    authenticator: str | None = None
    part: "_Part | None" = None
    config: tuple[str, str, str] | None = None
    """Alias, name and value of its one setting."""


@dataclass(frozen=True, slots=True)
class _Part:
    alias: str
    description: str
    steps: tuple[_Step, ...]
    kind: FlowKind = FlowKind.BASIC


def _two_factors(prefix: str, configured: str) -> _Part:
    """Return the part in which a page asks for a second factor."""
    return _Part(
        f"{prefix} - Conditional 2FA",
        "Flow to determine if any 2FA is required for the authentication",
        (
            _Step(10, _R, "conditional-user-configured"),
            _Step(
                *(20, _R, "conditional-credential"),
                config=(configured, "credentials", "webauthn-passwordless"),
            ),
            _Step(30, _A, "auth-otp-form"),
            _Step(40, _D, "webauthn-authenticator"),
            _Step(50, _D, "auth-recovery-authn-code-form"),
        ),
    )


def _where_configured(alias: str, description: str, step: _Step) -> _Part:
    return _Part(alias, description, (_Step(10, _R, "conditional-user-configured"), step))


_BROWSER: Final = _Part(
    "browser",
    "Browser based authentication",
    (
        _Step(10, _A, "auth-cookie"),
        _Step(20, _D, "auth-spnego"),
        _Step(25, _A, "identity-provider-redirector"),
        _Step(
            *(26, _A),
            part=_Part(
                "Organization",
                "",
                (
                    _Step(
                        *(10, _C),
                        part=_where_configured(
                            "Browser - Conditional Organization",
                            "Flow to determine if the organization identity-first login is to be"
                            " used",
                            _Step(20, _A, "organization"),
                        ),
                    ),
                ),
            ),
        ),
        _Step(
            *(30, _A),
            part=_Part(
                "forms",
                "Username, password, otp and other auth forms.",
                (
                    _Step(10, _R, "auth-username-password-form"),
                    _Step(
                        *(20, _C), part=_two_factors("Browser", "browser-conditional-credential")
                    ),
                ),
            ),
        ),
    ),
)
_DIRECT_GRANT: Final = _Part(
    "direct grant",
    "OpenID Connect Resource Owner Grant",
    (
        _Step(10, _R, "direct-grant-validate-username"),
        _Step(20, _R, "direct-grant-validate-password"),
        _Step(
            *(30, _C),
            part=_where_configured(
                "Direct Grant - Conditional OTP",
                "Flow to determine if the OTP is required for the authentication",
                _Step(20, _R, "direct-grant-validate-otp"),
            ),
        ),
    ),
)
_REGISTRATION: Final = _Part(
    "registration",
    "Registration flow",
    (
        _Step(
            *(10, _R, "registration-page-form"),
            part=_Part(
                "registration form",
                "Registration form",
                (
                    _Step(20, _R, "registration-user-creation"),
                    _Step(50, _R, "registration-password-action"),
                    _Step(60, _D, "registration-recaptcha-action"),
                    _Step(70, _D, "registration-terms-and-conditions"),
                ),
                FlowKind.FORM,
            ),
        ),
    ),
)
_RESET: Final = _Part(
    "reset credentials",
    "Reset credentials for a user if they forgot their password or something",
    (
        _Step(10, _R, "reset-credentials-choose-user"),
        _Step(20, _R, "reset-credential-email"),
        _Step(30, _R, "reset-password"),
        _Step(
            *(40, _C),
            part=_where_configured(
                "Reset - Conditional OTP",
                "Flow to determine if the OTP should be reset or not. Set to REQUIRED to force.",
                _Step(20, _R, "reset-otp"),
            ),
        ),
    ),
)
_CLIENTS: Final = _Part(
    "clients",
    "Base authentication for clients",
    (
        _Step(10, _A, "client-secret"),
        _Step(20, _A, "client-jwt"),
        _Step(30, _A, "client-secret-jwt"),
        _Step(40, _A, "client-x509"),
        _Step(50, _A, "federated-jwt"),
    ),
    FlowKind.CLIENT,
)
_REAUTHENTICATION: Final = _Part(
    "Verify Existing Account by Re-authentication",
    "Reauthentication of existing account",
    (
        _Step(10, _R, "idp-username-password-form"),
        _Step(
            *(20, _C),
            part=_two_factors("First broker login", "first-broker-login-conditional-credential"),
        ),
    ),
)
_EXISTING: Final = _Part(
    "Handle Existing Account",
    "Handle what to do if there is existing account with same email/username like authenticated"
    " identity provider",
    (
        _Step(10, _R, "idp-confirm-link"),
        _Step(
            *(20, _R),
            part=_Part(
                "Account verification options",
                "Method with which to verify the existing account",
                (
                    _Step(10, _A, "idp-email-verification"),
                    _Step(20, _A, part=_REAUTHENTICATION),
                ),
            ),
        ),
    ),
)
_BROKER: Final = _Part(
    "first broker login",
    "Actions taken after first broker login with identity provider account, which is not yet linked"
    " to any Keycloak account",
    (
        _Step(
            *(10, _R, "idp-review-profile"),
            config=("review profile config", "update.profile.on.first.login", "missing"),
        ),
        _Step(
            *(20, _R),
            part=_Part(
                "User creation or linking",
                "Flow for the existing/non-existing user alternatives",
                (
                    _Step(
                        *(10, _A, "idp-create-user-if-unique"),
                        config=(
                            "create unique user config",
                            "require.password.update.after.registration",
                            "false",
                        ),
                    ),
                    _Step(20, _A, part=_EXISTING),
                ),
            ),
        ),
        _Step(
            *(60, _C),
            part=_where_configured(
                "First Broker Login - Conditional Organization",
                "Flow to determine if the authenticator that adds organization members is to be"
                " used",
                _Step(20, _R, "idp-add-organization-member"),
            ),
        ),
    ),
)
_DOCKER: Final = _Part(
    "docker auth",
    "Used by Docker clients to authenticate against the IDP",
    (_Step(10, _R, "docker-http-basic-authenticator"),),
)
_TOP: Final = (_BROWSER, _DIRECT_GRANT, _REGISTRATION, _RESET, _CLIENTS, _BROKER, _DOCKER)


@cached(4 * 1024 * 1024)
def default_flows(realm_id: str) -> Mapping[str, Flow]:
    """Return the flows of a new realm by id, sub-flows after what they are a part of."""
    return {flow.id: flow for part in _TOP for flow in _flows(realm_id, part, top_level=True)}


@cached(4 * 1024 * 1024)
def default_configs(realm_id: str) -> Mapping[str, AuthenticatorConfig]:
    """Return the configurations of a new realm by id."""
    found = (config for part in _TOP for config in _configs(realm_id, part))
    return {config.id: config for config in found}


def default_id(realm_id: str, kind: str, name: str) -> str:
    """Return the id of what a realm is created with."""
    return str(uuid5(_NAMESPACE, f"{kind}\n{realm_id}\n{name}"))


def _flows(realm_id: str, part: _Part, *, top_level: bool) -> Iterator[Flow]:
    yield Flow(
        id=default_id(realm_id, "flow", part.alias),
        alias=part.alias,
        kind=part.kind,
        description=part.description,
        top_level=top_level,
        built_in=True,
        executions=tuple(_execution(realm_id, part, step) for step in part.steps),
    )
    for step in part.steps:
        if step.part is not None:
            yield from _flows(realm_id, step.part, top_level=False)


def _execution(realm_id: str, part: _Part, step: _Step) -> Execution:
    inner = None if step.part is None else step.part.alias
    return Execution(
        id=default_id(realm_id, "execution", f"{part.alias}\n{inner or step.authenticator}"),
        requirement=step.requirement,
        priority=step.priority,
        authenticator=step.authenticator,
        flow=None if inner is None else default_id(realm_id, "flow", inner),
        config=None if step.config is None else default_id(realm_id, "config", step.config[0]),
    )


def _configs(realm_id: str, part: _Part) -> Iterator[AuthenticatorConfig]:
    for step in part.steps:
        if step.config is not None:
            alias, name, value = step.config
            yield AuthenticatorConfig(
                default_id(realm_id, "config", alias), alias, ((name, value),)
            )
        if step.part is not None:
            yield from _configs(realm_id, step.part)
