"""Executors for authorization requests: flow, PKCE, request objects, response types, grants.

Keycloak: client policies (26.7). Spec: RFC 7636 §4.3 (PKCE); RFC 9126 §4, FAPI 2.0 Security Profile
§5.3.2.2 (pushed requests); FAPI 2.0 Message Signing §5.3.1, FAPI 1.0 Advanced §5.2.2 (request
objects); FAPI 1.0 Advanced §5.1.1, §5.2.2 (signed responses)
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, ClassVar, Final

from gateway.client_policies.events import (
    INVALID_METADATA,
    INVALID_REQUEST,
    AuthorizationRequested,
    AuthorizationStart,
    ClientChange,
    ClientRequest,
    EventKind,
    InvalidConfiguration,
    PolicyRefusal,
)
from gateway.client_policies.interfaces import (
    AutoConfigured,
    ClientSettings,
    EnforcedFlow,
    Executor,
    PolicyConfiguration,
    flag_option,
    option,
    seconds_option,
)
from gateway.domain.clients import Client


def _enforced_flow(configuration: PolicyConfiguration) -> EnforcedFlow:
    alias = configuration.text("auth-flow-alias")
    if not alias:
        raise InvalidConfiguration("auth-flow-alias must be the alias of a flow")
    return EnforcedFlow(alias, configuration.number("auth-flow-loa", 0) or None)


@dataclass(frozen=True, slots=True)
class AuthFlowEnforcer(Executor):
    """Sets the flow of authorization requests, and the authentication level that it reaches."""

    provider: ClassVar = "auth-flow-enforcer"
    flow: EnforcedFlow = option(_enforced_flow)

    def enforced_flow(self) -> EnforcedFlow | None:
        return self.flow


_S256: Final = "S256"


@dataclass(frozen=True, slots=True)
class PkceEnforcer(AutoConfigured):
    """Demands S256 of clients and requests. Spec: RFC 7636 §4.3."""

    provider: ClassVar = "pkce-enforcer"
    setting: ClassVar = ClientSettings(attributes={"pkce.code.challenge.method": _S256})
    refusal: ClassVar = (INVALID_METADATA, "Invalid client metadata: code_challenge_method")

    def has_setting(self, client: Client) -> bool:
        return client.authorization.code_challenge_method == _S256

    def check_authorization(self, request: AuthorizationRequested) -> None:
        method = request.parameters.get("code_challenge_method")
        if method is None:
            raise PolicyRefusal(INVALID_REQUEST, "Missing parameter: code_challenge_method")
        if method != _S256:
            raise PolicyRefusal(INVALID_REQUEST, "Invalid parameter: invalid code_challenge_method")

    def check_request(self, request: ClientRequest) -> None:
        if request.kind is not EventKind.TOKEN_REQUEST:
            return
        if request.code_verifier is None:
            raise PolicyRefusal("code_verifier_missing", "PKCE code verifier not specified")
        if request.code_verifier.method != _S256:
            raise PolicyRefusal("invalid_grant", "PKCE code challenge method is not S256")


@dataclass(frozen=True, slots=True)
class RejectImplicitGrant(AutoConfigured):
    """Demands that the implicit flow is off, and refuses it for every client."""

    provider: ClassVar = "reject-implicit-grant"
    setting: ClassVar = ClientSettings({"implicitFlowEnabled": False})
    refusal: ClassVar = (INVALID_METADATA, "Invalid client metadata: implicit flow enabled")

    def has_setting(self, client: Client) -> bool:
        return not client.implicit_flow_enabled

    def check_authorization(self, request: AuthorizationRequested) -> None:
        if not request.response_type.isdisjoint({"token", "id_token"}):
            raise PolicyRefusal(INVALID_REQUEST, "Implicit/Hybrid flow is prohibited.")


@dataclass(frozen=True, slots=True)
class RejectPasswordGrant(AutoConfigured):
    """Demands that the password grant is off, and refuses it for every client."""

    provider: ClassVar = "reject-ropc-grant"
    setting: ClassVar = ClientSettings({"directAccessGrantsEnabled": False})
    refusal: ClassVar = (
        INVALID_METADATA,
        "Invalid client metadata: resource owner password credentials grant enabled",
    )

    def has_setting(self, client: Client) -> bool:
        return not client.direct_access_grants_enabled

    def check_request(self, request: ClientRequest) -> None:
        if request.kind is EventKind.RESOURCE_OWNER_PASSWORD_CREDENTIALS_REQUEST:
            text = "resource owner password credentials grant is prohibited."
            raise PolicyRefusal("invalid_grant", text)


@dataclass(frozen=True, slots=True)
class RejectRequest(Executor):
    """Refuses each event, so that conditions decide what is allowed at all."""

    provider: ClassVar = "reject-request"

    def check_change(self, change: ClientChange) -> None:
        raise _refusal()

    def check_access(self, access: ClientChange) -> None:
        raise _refusal()

    def check_start(self, start: AuthorizationStart) -> None:
        raise _refusal()

    def check_authorization(self, request: AuthorizationRequested) -> None:
        raise _refusal()

    def check_request(self, request: ClientRequest) -> None:
        raise _refusal()


def _refusal() -> PolicyRefusal:
    return PolicyRefusal(INVALID_REQUEST, "Request not allowed")


@dataclass(frozen=True, slots=True)
class SecureParContent(Executor):
    """Refuses parameters that were not pushed. Spec: RFC 9126 §4, FAPI 2.0 §5.3.2.2."""

    provider: ClassVar = "secure-par-content"

    def check_start(self, start: AuthorizationStart) -> None:
        _require_pushed(start.sent, start.pushed)

    def check_authorization(self, request: AuthorizationRequested) -> None:
        """Judge again: some conditions say nothing about a request before it is verified."""
        if not request.is_push:
            _require_pushed(request.sent, request.parameters if request.was_pushed else None)


def _require_pushed(sent: Mapping[str, str], pushed: Mapping[str, str] | None) -> None:
    if "request_uri" not in sent or pushed is None:
        raise PolicyRefusal(INVALID_REQUEST, "PAR request_uri not included.")
    if any(name not in pushed and name != "request_uri" for name in sent):
        raise PolicyRefusal(INVALID_REQUEST, "PAR request did not include necessary parameters")


_OBJECT: Final = "invalid_request_object"
_OBJECT_PARAMETERS: Final = frozenset({"request", "request_uri"})
_COMPARED: Final = frozenset(
    {
        *("client_id", "redirect_uri", "response_type", "response_mode", "scope", "state"),
        *("nonce", "prompt", "max_age", "login_hint", "id_token_hint", "acr_values", "claims"),
        *("claims_locales", "ui_locales", "display", "code_challenge", "code_challenge_method"),
        *("dpop_jkt", "kc_action", "kc_idp_hint"),
    }
)
"""Parameters whose value beside the object must be that in the object."""


@dataclass(frozen=True, slots=True)
class SecureRequestObject(Executor):
    """Demands a signed object with `exp`, `aud` and `nbf`, at most `period` before `exp`.

    `verify_nbf` false makes `nbf` optional. Every request checks validity and issuer.
    A pushed request is judged when it is pushed; its use only requires that it was signed.
    Spec: FAPI 2.0 Message Signing §5.3.1, FAPI 1.0 Advanced §5.2.2
    """

    provider: ClassVar = "secure-request-object"
    verify_nbf: bool = option(
        lambda options: options.flag("verify-nbf", default=True), default=True
    )
    period: timedelta = seconds_option("available-period", 3600)
    skew: timedelta = seconds_option("allowed-clock-skew", 15)
    encryption_required: bool = flag_option("encryption-required")

    def check_authorization(self, request: AuthorizationRequested) -> None:
        if request.was_pushed and request.was_signed:
            return
        verified = request.request_object
        if verified is None:
            if not request.was_pushed and not _OBJECT_PARAMETERS.isdisjoint(request.sent):
                raise PolicyRefusal(_OBJECT, "Request object is not signed")
            text = "Missing parameter: 'request' or 'request_uri'"
            raise PolicyRefusal(INVALID_REQUEST, text)
        claims = verified.claims
        if "scope" not in request.sent and "scope" not in claims:
            text = "Parameter 'scope' missing in the request parameters or in 'request' object"
            raise PolicyRefusal(INVALID_REQUEST, text)
        self._check_times(request, claims)
        if claims.get("aud") is None:
            raise PolicyRefusal(_OBJECT, "Missing parameter in the 'request' object: aud")
        _check_same(request.sent, claims)
        if self.encryption_required and not verified.is_encrypted:
            raise PolicyRefusal(_OBJECT, "Request object not encrypted")

    def _check_times(self, request: AuthorizationRequested, claims: Mapping[str, Any]) -> None:
        now, skew = request.now.timestamp(), self.skew.total_seconds()
        expires = _seconds(claims, "exp")
        if self.verify_nbf:
            begins = _seconds(claims, "nbf")
            if now < begins - skew:
                raise PolicyRefusal(_OBJECT, "Request not yet being processed")
            if expires - begins > self.period.total_seconds():
                raise PolicyRefusal(_OBJECT, "Request's available period is long")
        if "iat" in claims and now < _seconds(claims, "iat") - skew:
            raise PolicyRefusal(_OBJECT, "Request issued in the future")


def _seconds(claims: Mapping[str, Any], name: str) -> float:
    value = claims.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise PolicyRefusal(_OBJECT, f"Missing parameter in the 'request' object: {name}")
    return float(value)


def _check_same(sent: Mapping[str, str], claims: Mapping[str, Any]) -> None:
    for name in _COMPARED.intersection(sent):
        claim = claims.get(name)
        text = str(claim) if isinstance(claim, int) else claim
        if text != sent[name]:
            raise PolicyRefusal(
                INVALID_REQUEST,
                "Invalid parameter. Parameters in 'request' object not matching with request"
                " parameters",
            )


_SIGNED: Final = frozenset({"code", "id_token"})
_WITH_TOKEN: Final = _SIGNED | {"token"}
_CODE: Final = frozenset({"code"})


@dataclass(frozen=True, slots=True)
class SecureResponseType(AutoConfigured):
    """Demands `code id_token`, or `code` with the response mode `jwt`.

    `allow_token` permits `code id_token token` too. The ID token is a detached signature, without
    claims of the user. Spec: FAPI 1.0 Advanced §5.1.1, §5.2.2
    """

    provider: ClassVar = "secure-response-type"
    allow_token: bool = flag_option("allow-token-response-type")

    setting: ClassVar = ClientSettings(attributes={"id.token.as.detached.signature": "true"})
    refusal: ClassVar = (
        INVALID_METADATA,
        "Invalid client metadata: ID Token as detached signature in disabled",
    )

    def has_setting(self, client: Client) -> bool:
        return client.signing.id_token_as_detached_signature

    def check_authorization(self, request: AuthorizationRequested) -> None:
        asked = request.response_type
        if asked == _SIGNED or (asked == _WITH_TOKEN and self.allow_token):
            return
        is_jwt = request.parameters.get("response_mode") == "jwt"
        if asked != _CODE or not is_jwt:
            raise PolicyRefusal(INVALID_REQUEST, "invalid response_type")

    def client_for_tokens(self, client: Client, request: ClientRequest) -> Client:
        return replace(client, signing=replace(client.signing, id_token_as_detached_signature=True))


@dataclass(frozen=True, slots=True)
class SecureSession(Executor):
    """Demands a `nonce`, or a `state` where no ID token comes. Spec: FAPI 1.0 Baseline §5.2.2."""

    provider: ClassVar = "secure-session"

    def check_authorization(self, request: AuthorizationRequested) -> None:
        of_openid = "openid" in request.parameters.get("scope", "").split(" ")
        name = "nonce" if of_openid else "state"
        if not request.parameters.get(name):
            raise PolicyRefusal(INVALID_REQUEST, f"Missing parameter: {name}")
