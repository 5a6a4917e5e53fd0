"""What is known of an authorization request while its checks run."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

from gateway.client_policies import SignInDemands, VerifiedRequestObject
from gateway.domain.ports.client_signatures import ClientSignatures
from gateway.domain.ports.directory import ClientEntry, Directory
from gateway.domain.ports.outgoing.remote_documents import RemoteDocuments
from gateway.domain.ports.sign_in.pushed_requests import PushedRequestStore
from gateway.protocol.authorization.parameters import DPOP_KEY
from gateway.protocol.authorization.request import (
    AuthorizationRequest,
    CodeChallenge,
    Prompt,
    RequestedLevel,
    ResponseType,
    asking_for_consent,
)
from gateway.protocol.requests import ProtocolRequest
from gateway.protocol.response_modes import ResponseMode, ResponseTarget
from gateway.protocol.scopes import GrantedScopes

_NO_DEMANDS: Final = SignInDemands()


@dataclass(frozen=True, slots=True)
class CheckServices:
    """What checks look things up in."""

    directory: Directory
    pushed_requests: PushedRequestStore
    signatures: ClientSignatures
    documents: RemoteDocuments


@dataclass(slots=True)
class AuthorizationDraft:
    """A request in the course of its checks: each check fills in what it has verified.

    `parameters` are those that count: of the request, of its request object, or the pushed ones.
    """

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
    """What client policies demand of the sign-in."""
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

    def get(self, name: str) -> str | None:
        """Return a parameter as sent, empty included; None where it is absent."""
        return self.parameters.get(name)

    def target(self) -> ResponseTarget | None:
        """Return where an error goes; None until client and redirect URI were verified."""
        if self.entry is None or self.redirect_uri is None:
            return None
        mode = self.response_mode if self.response_type else self._requested_mode()
        return ResponseTarget(self.entry.client, self.redirect_uri, mode, self.state)

    def _requested_mode(self) -> ResponseMode:
        """Return the mode for the refusal of a response type, which no mode was checked with."""
        named = self.get("response_mode")
        return ResponseMode(named) if named in set(ResponseMode) else ResponseMode.QUERY

    def finished(self) -> AuthorizationRequest:
        """Return the verified request; raises LookupError before the checks have run."""
        if self.redirect_uri is None or self.scopes is None:
            raise LookupError("the checks have not run")
        action, _, parameter = (self.get("kc_action") or "").partition(":")
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
            nonce=self.get("nonce"),
            prompt=self.prompt,
            max_age=self.max_age,
            login_hint=self.get("login_hint") or None,
            hinted_user=self.hinted_user,
            level=self.level,
            enforced_flow=self.demands.flow,
            claims=self.claims,
            ui_locales=tuple((self.get("ui_locales") or "").split()),
            display=self.get("display") or None,
            code_challenge=self.code_challenge,
            action=action or None,
            action_parameter=parameter or None,
            identity_provider=self.get("kc_idp_hint") or None,
            certificate=self.certificate,
            proof_key=self.get(DPOP_KEY),
        )
