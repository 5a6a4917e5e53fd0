"""secure-request-object: authorization requests come in a short-lived, signed request object.

Spec: FAPI 2.0 Message Signing §5.3.1, FAPI 1.0 Advanced §5.2.2
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar, Final, Self

from gateway.client_policies.configuration import Configuration
from gateway.client_policies.events import AuthorizationRequested
from gateway.client_policies.executors.executor import Executor
from gateway.client_policies.refusal import INVALID_REQUEST, PolicyRefusal

_OBJECT: Final = "invalid_request_object"
_HOUR: Final = timedelta(seconds=3600)
_SKEW: Final = timedelta(seconds=15)
_OBJECT_PARAMETERS: Final = frozenset({"request", "request_uri"})
_COMPARED: Final = frozenset(
    {
        *("client_id", "redirect_uri", "response_type", "response_mode", "scope", "state"),
        *("nonce", "prompt", "max_age", "login_hint", "id_token_hint", "acr_values", "claims"),
        *("claims_locales", "ui_locales", "display", "code_challenge", "code_challenge_method"),
        *("dpop_jkt", "kc_action", "kc_idp_hint"),
    }
)
"""Parameters that must stand in the object as they stand beside it."""


@dataclass(frozen=True, slots=True)
class SecureRequestObject(Executor):
    """Demands a signed object with `exp`, `aud` and `nbf`, this one at most `period` before `exp`.

    Without `verify_nbf` an object needs no `nbf`. That the object is valid now and for this issuer,
    where it says so, is a rule of every request.
    A pushed request is judged when it is pushed; its use only requires that it was signed.
    """

    provider: ClassVar = "secure-request-object"
    verify_nbf: bool = True
    period: timedelta = _HOUR
    skew: timedelta = _SKEW
    encryption_required: bool = False

    @classmethod
    def read(cls, configuration: Configuration) -> Self:
        seconds = timedelta(seconds=1)
        period = configuration.number("available-period", _HOUR // seconds)
        skew = configuration.number("allowed-clock-skew", _SKEW // seconds)
        return cls(
            configuration.flag("verify-nbf", default=True),
            timedelta(seconds=period),
            timedelta(seconds=skew),
            configuration.flag("encryption-required"),
        )

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
