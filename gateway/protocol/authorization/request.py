"""An authorization request: its parameters, its draft, the verified value and its stored text.

Spec: RFC 6749 §4.1.1, OpenID Connect Core §3.1.2.1, RFC 7636 §4.3, RFC 9101 §5; Keycloak: 12.10
authorization; attacks: C24
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from enum import StrEnum
from typing import Any, Final

from gateway.client_policies import EnforcedFlow, SignInDemands, VerifiedRequestObject
from gateway.domain.clients import LONGEST_REDIRECT_URI
from gateway.domain.errors import RealmgateError
from gateway.domain.events import Detail
from gateway.domain.ports.client_keys import ClientSignatures
from gateway.domain.ports.lookups import ClientEntry, Directory, RealmEntry
from gateway.domain.ports.outgoing import RemoteDocuments
from gateway.domain.ports.sign_in import PushedRequestStore
from gateway.protocol.requests import ProtocolRequest
from gateway.protocol.response_modes import ResponseMode, ResponseTarget
from gateway.protocol.scopes import GrantedScopes, still_granted

_LONGEST_TEXT: Final = 4000
"""Keycloak's limit of a parameter."""
_LONGEST_HINT: Final = 1000
_LONGEST_WORD: Final = 255
_LONGEST_OBJECT: Final = 16 * 1024

DPOP_KEY: Final = "dpop_jkt"
"""Thumbprint of the key that the code has to be redeemed with. Spec: RFC 9449 §10"""

LONGEST_PARAMETERS: Final[Mapping[str, int]] = {
    "client_id": _LONGEST_WORD,
    "redirect_uri": LONGEST_REDIRECT_URI,
    "response_type": _LONGEST_WORD,
    "response_mode": _LONGEST_WORD,
    "scope": _LONGEST_TEXT,
    "state": _LONGEST_TEXT,
    "nonce": _LONGEST_TEXT,
    "prompt": _LONGEST_WORD,
    "max_age": _LONGEST_WORD,
    "login_hint": _LONGEST_HINT,
    "id_token_hint": _LONGEST_OBJECT,
    "acr_values": _LONGEST_HINT,
    "claims": _LONGEST_TEXT,
    "claims_locales": _LONGEST_WORD,
    "ui_locales": _LONGEST_WORD,
    "display": _LONGEST_WORD,
    "code_challenge": _LONGEST_WORD,
    "code_challenge_method": _LONGEST_WORD,
    DPOP_KEY: _LONGEST_WORD,
    "kc_action": _LONGEST_WORD,
    "kc_idp_hint": _LONGEST_WORD,
    "request": _LONGEST_OBJECT,
    "request_uri": _LONGEST_TEXT,
}
"""Parameter -> the most characters of its value; others are not read."""
PARAMETERS: Final = tuple(LONGEST_PARAMETERS)


def text_of(claim: Any) -> str | None:
    """Return a claim as text of a parameter, None for null. Spec: OpenID Connect Core §6.1."""
    if claim is None or isinstance(claim, str):
        return claim
    return json.dumps(claim)


LARGEST_STORED: Final = 24 * 1024
"""Characters of names and values of a stored request: more than all that the checks let pass."""


class ResponseType(StrEnum):
    """The parts of a response. Spec: OAuth 2.0 Multiple Response Type Encoding Practices."""

    CODE = "code"
    ID_TOKEN = "id_token"  # noqa: S105 - a response type
    TOKEN = "token"  # noqa: S105
    NONE = "none"


class Prompt(StrEnum):
    """A client's demands on the sign-in. Spec: OpenID Connect Core §3.1.2.1."""

    NONE = "none"
    LOGIN = "login"
    CONSENT = "consent"
    CREATE = "create"


class StoredRequestUnusable(RealmgateError):
    """A stored request cannot be read: it was written by another version, or was altered."""


@dataclass(frozen=True, slots=True)
class CodeChallenge:
    """A PKCE challenge; `method` is `plain` or `S256`. Spec: RFC 7636 §4.3."""

    challenge: str = field(repr=False)
    method: str


@dataclass(frozen=True, slots=True)
class RequestedLevel:
    """A requested level; an `essential` one must be reached. OpenID Connect Core §5.5.1.1."""

    level: int
    essential: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInRequest(ABC):
    """What a sign-in is begun for. Values of the client are out of its repr."""

    client: ClientEntry = field(repr=False)
    scopes: GrantedScopes = field(repr=False)
    prompt: frozenset[Prompt] = frozenset()
    max_age: timedelta | None = None
    login_hint: str | None = field(default=None, repr=False)
    hinted_user: str | None = field(default=None, repr=False)
    """The `sub` of a verified `id_token_hint`: only this user may sign in."""
    level: RequestedLevel | None = None
    enforced_flow: EnforcedFlow | None = None
    """The flow that client policies choose for this sign-in."""
    claims: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """The object of the parameter `claims`: members `id_token` and `userinfo`."""
    action: str | None = None
    """`kc_action`: a required action to perform before the sign-in ends."""
    action_parameter: str | None = field(default=None, repr=False)
    """What follows the name of the action behind a colon."""

    @property
    def event_details(self) -> Mapping[str, str]:
        """Further details of the event of the sign-in."""
        return {}

    @abstractmethod
    def stored(self) -> Mapping[str, str]:
        """Return the request as text by names, which the sign-in keeps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthorizationRequest(SignInRequest):
    """A request of a client that passed every check."""

    redirect_uri: str
    response_type: frozenset[ResponseType]
    response_mode: ResponseMode
    redirect_uri_sent: bool = True
    """The request named its redirect URI, so the token request has to name it too."""
    pushed_reference: str | None = field(default=None, repr=False)
    """That of a pushed request, which is used up by its response."""
    state: str | None = field(default=None, repr=False)
    nonce: str | None = field(default=None, repr=False)
    acr_values: str | None = None
    """The parameter, by which level and policies are judged again while the sign-in waits."""
    requires_consent: bool = False
    """Client policies demand the consent of the user: `client` is one that requires it."""
    ui_locales: tuple[str, ...] = ()
    display: str | None = None
    code_challenge: CodeChallenge | None = None
    identity_provider: str | None = None
    """`kc_idp_hint`"""
    certificate: str | None = None
    """Thumbprint of the certificate that the code must be redeemed with; None for any."""
    proof_key: str | None = None
    """Thumbprint of the DPoP key that the code must be redeemed with; None for any."""

    @property
    def target(self) -> ResponseTarget:
        """The target of the response."""
        return ResponseTarget(self.client.client, self.redirect_uri, self.response_mode, self.state)

    @property
    def event_details(self) -> Mapping[str, str]:
        """The details of the request for the event of the sign-in."""
        return {
            Detail.AUTH_TYPE: "code",
            Detail.RESPONSE_TYPE: " ".join(sorted(self.response_type)),
            Detail.RESPONSE_MODE: str(self.response_mode),
            Detail.REDIRECT_URI: self.redirect_uri,
        }

    def with_demands(
        self, level: RequestedLevel | None, demands: SignInDemands
    ) -> "AuthorizationRequest":
        """Return the request with what is demanded now as well; nothing that was is left out."""
        levels = [each for each in (self.level, level) if each is not None]
        requires_consent = self.requires_consent or demands.requires_consent
        return replace(
            self,
            client=asking_for_consent(self.client) if requires_consent else self.client,
            requires_consent=requires_consent,
            enforced_flow=demands.flow or self.enforced_flow,
            level=RequestedLevel(
                max(each.level for each in levels),
                essential=any(each.essential for each in levels),
            )
            if levels
            else None,
        )

    def stored(self) -> Mapping[str, str]:
        """Return the request as text by names; `restore_request` reads it."""
        texts: dict[str, str | None] = {
            **{name: getattr(self, attribute) for attribute, name in _STORED_TEXTS.items()},
            "client_id": self.client.client.client_id,
            "redirect_uri_sent": "true" if self.redirect_uri_sent else None,
            "response_type": " ".join(sorted(self.response_type)),
            "response_mode": str(self.response_mode),
            "scope": " ".join(self.scopes.names),
            "prompt": " ".join(sorted(self.prompt)) or None,
            "max_age": None if self.max_age is None else str(self.max_age // _ONE_SECOND),
            "level": None if self.level is None else str(self.level.level),
            "level_essential": "true" if self.level and self.level.essential else None,
            "claims": _compact_json(self.claims) if self.claims else None,
            "ui_locales": " ".join(self.ui_locales) or None,
            "requires_consent": "true" if self.requires_consent else None,
        }
        if self.enforced_flow is not None:
            level = self.enforced_flow.level
            texts["enforced_flow"] = self.enforced_flow.alias
            texts["enforced_flow_level"] = None if level is None else str(level)
        if self.code_challenge is not None:
            texts["code_challenge"] = self.code_challenge.challenge
            texts["code_challenge_method"] = self.code_challenge.method
        return {name: text for name, text in texts.items() if text is not None}


_ONE_SECOND: Final = timedelta(seconds=1)
_SAME_NAMES: Final = (
    *("redirect_uri", "pushed_reference", "state", "nonce", "login_hint", "hinted_user"),
    *("acr_values", "display", "certificate", "proof_key"),
)
_STORED_TEXTS: Final[Mapping[str, str]] = {
    **{name: name for name in _SAME_NAMES},
    "action": "kc_action",
    "action_parameter": "kc_action_parameter",
    "identity_provider": "kc_idp_hint",
}
"""Fields that are texts or None -> their names in a stored request."""


def restore_request(
    stored: Mapping[str, str], realm: RealmEntry, client: ClientEntry
) -> AuthorizationRequest:
    """Return the request of `stored` without lost scopes; raises StoredRequestUnusable."""
    if sum(len(name) + len(text) for name, text in stored.items()) > LARGEST_STORED:
        raise StoredRequestUnusable(f"larger than {LARGEST_STORED} characters")
    if stored.get("client_id") != client.client.client_id:
        raise StoredRequestUnusable("the request of another client")
    try:
        requires_consent = "requires_consent" in stored
        texts: dict[str, Any] = {
            **{attribute: stored.get(name) for attribute, name in _STORED_TEXTS.items()},
            "redirect_uri": stored["redirect_uri"],
        }
        return AuthorizationRequest(
            **texts,
            client=asking_for_consent(client) if requires_consent else client,
            requires_consent=requires_consent,
            redirect_uri_sent="redirect_uri_sent" in stored,
            response_type=frozenset(map(ResponseType, stored["response_type"].split(" "))),
            response_mode=ResponseMode(stored["response_mode"]),
            scopes=still_granted(realm, client.client, stored["scope"].split(" ")),
            prompt=frozenset(map(Prompt, stored.get("prompt", "").split())),
            max_age=timedelta(seconds=int(stored["max_age"])) if "max_age" in stored else None,
            level=_level(stored) if "level" in stored else None,
            enforced_flow=_enforced_flow(stored) if "enforced_flow" in stored else None,
            claims=_claims(stored["claims"]) if "claims" in stored else {},
            ui_locales=tuple(stored.get("ui_locales", "").split()),
            code_challenge=CodeChallenge(stored["code_challenge"], stored["code_challenge_method"])
            if "code_challenge" in stored
            else None,
        )
    except (KeyError, ValueError, OverflowError, RecursionError) as error:
        raise StoredRequestUnusable(f"malformed: {type(error).__name__}") from error


def asking_for_consent(client: ClientEntry) -> ClientEntry:
    """Return the client, which now requires consent."""
    return replace(client, client=replace(client.client, consent_required=True))


def _compact_json(claims: Mapping[str, Any]) -> str:
    return json.dumps(claims, ensure_ascii=False, separators=(",", ":"))


def _level(stored: Mapping[str, str]) -> RequestedLevel:
    return RequestedLevel(int(stored["level"]), essential="level_essential" in stored)


def _enforced_flow(stored: Mapping[str, str]) -> EnforcedFlow:
    level = stored.get("enforced_flow_level")
    return EnforcedFlow(stored["enforced_flow"], None if level is None else int(level))


def _claims(text: str) -> Mapping[str, Any]:
    claims = json.loads(text)
    if not isinstance(claims, dict):
        raise StoredRequestUnusable("its claims are no object")
    return claims


_NO_DEMANDS: Final = SignInDemands()


@dataclass(frozen=True, slots=True)
class CheckServices:
    """The stores and rules that checks use."""

    directory: Directory
    pushed_requests: PushedRequestStore
    signatures: ClientSignatures
    documents: RemoteDocuments


@dataclass(slots=True)
class AuthorizationDraft:
    """A request during its checks; `parameters` are the effective ones."""

    request: ProtocolRequest
    services: CheckServices
    parameters: Mapping[str, str] = field(repr=False)
    is_push: bool = False
    """The request is pushed: the client was authenticated, and no user signs in yet."""
    pushed_reference: str | None = field(default=None, repr=False)
    """That of the pushed request that the parameters come from."""
    certificate: str | None = None
    """Thumbprint of the certificate with which a request was pushed that is bound to it."""
    entry: ClientEntry | None = None
    redirect_uri: str | None = None
    """None until it was verified: before that nothing may be sent there."""
    redirect_uri_sent: bool = False
    state: str | None = field(default=None, repr=False)
    response_type: frozenset[ResponseType] = frozenset()
    response_mode: ResponseMode = ResponseMode.QUERY
    scopes: GrantedScopes | None = None
    prompt: frozenset[Prompt] = frozenset()
    max_age: timedelta | None = None
    claims: Mapping[str, Any] = field(default_factory=dict, repr=False)
    acr_values: frozenset[str] = frozenset()
    """The classes of authentication that are asked for, or those of the client by default."""
    level: RequestedLevel | None = None
    demands: SignInDemands = _NO_DEMANDS
    """The demands of client policies on the sign-in."""
    code_challenge: CodeChallenge | None = None
    hinted_user: str | None = field(default=None, repr=False)
    request_object: VerifiedRequestObject | None = field(default=None, repr=False)
    """The request object, once it was verified; one without a signature is none."""
    was_signed: bool = False
    """The pushed request that the parameters come from was in a verified request object."""

    @property
    def client(self) -> ClientEntry:
        """The client, once it was found; raises LookupError before."""
        if self.entry is None:
            raise LookupError("the client was not looked up")
        return self.entry

    @property
    def base_url(self) -> str:
        """The address of the gateway, which an issuer begins with."""
        return self.request.issuer.rpartition("/realms/")[0]

    @property
    def implicit_or_hybrid(self) -> bool:
        """Whether the response contains a token."""
        return bool(self.response_type & {ResponseType.TOKEN, ResponseType.ID_TOKEN})

    def target(self) -> ResponseTarget | None:
        """Return where an error goes; None until client and redirect URI were verified."""
        if self.entry is None or self.redirect_uri is None:
            return None
        mode = self.response_mode if self.response_type else self._requested_mode()
        return ResponseTarget(self.entry.client, self.redirect_uri, mode, self.state)

    def _requested_mode(self) -> ResponseMode:
        """Return the mode for the refusal of a response type, which no mode was checked with."""
        named = self.parameters.get("response_mode")
        return ResponseMode(named) if named in set(ResponseMode) else ResponseMode.QUERY

    def finished(self) -> AuthorizationRequest:
        """Return the verified request; raises LookupError before the checks have run."""
        if self.redirect_uri is None or self.scopes is None:
            raise LookupError("the checks have not run")
        action, _, parameter = (self.parameters.get("kc_action") or "").partition(":")
        requires_consent = self.demands.requires_consent
        return AuthorizationRequest(
            client=asking_for_consent(self.client) if requires_consent else self.client,
            requires_consent=requires_consent,
            redirect_uri=self.redirect_uri,
            redirect_uri_sent=self.redirect_uri_sent,
            pushed_reference=self.pushed_reference,
            response_type=self.response_type,
            response_mode=self.response_mode,
            scopes=self.scopes,
            state=self.state,
            nonce=self.parameters.get("nonce"),
            prompt=self.prompt,
            max_age=self.max_age,
            login_hint=self.parameters.get("login_hint") or None,
            hinted_user=self.hinted_user,
            level=self.level,
            acr_values=self.parameters.get("acr_values"),
            enforced_flow=self.demands.flow,
            claims=self.claims,
            ui_locales=tuple((self.parameters.get("ui_locales") or "").split()),
            display=self.parameters.get("display") or None,
            code_challenge=self.code_challenge,
            action=action or None,
            action_parameter=parameter or None,
            identity_provider=self.parameters.get("kc_idp_hint") or None,
            certificate=self.certificate,
            proof_key=self.parameters.get(DPOP_KEY),
        )
