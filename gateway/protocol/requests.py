"""A protocol request as a value, and what its rules learn for its event.

Keycloak: EventBuilder
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from gateway.authentication.engine import AccountChange
from gateway.domain.certificates import ClientCertificate
from gateway.domain.dpop_proofs import NO_PROOF, SentProof
from gateway.domain.events import EventType
from gateway.domain.ports.directory import RealmEntry
from gateway.protocol.errors import EventFailure
from gateway.protocol.parameters import Parameters
from gateway.protocol.web_origins import NO_PAGE, Page


@dataclass(slots=True)
class EventDraft:
    """Collects what is known of one request's event; without a `kind` there is none.

    Rules note what they learn as they learn it, so that the event of a failure says how far the
    request came. `EventRecording` makes the event of it, in one place.
    """

    kind: EventType | None = None
    client_id: str | None = None
    user_id: str | None = None
    session_id: str | None = None
    error: str | None = None
    """What was wrong with a request that is answered nevertheless."""
    details: dict[str, str] = field(default_factory=dict)
    changes: tuple[AccountChange, ...] = ()
    """What the user has changed in the account before; each is an event of its own."""
    other_sessions: tuple[str, ...] = ()
    """Sessions to which the same happened: one event for each."""
    further: list[tuple[EventType, Mapping[str, str]]] = field(default_factory=list)
    """Further events of the same user from the same address."""

    def begin(self, kind: EventType) -> None:
        self.kind = kind

    def fail(self, error: str) -> None:
        self.error = error

    def refuse(self, failure: EventFailure) -> None:
        """Note the error of a refusal, and the reason where it gives one."""
        if failure.reason is not None:
            self.details[failure.detail] = failure.reason
        self.error = failure.error

    def withdraw(self) -> None:
        """Record no event: nothing has happened."""
        self.kind = None


@dataclass(frozen=True, slots=True)
class ProtocolRequest:
    """One request to an endpoint of one realm.

    `authorization` is the header's value as sent. `remote_address` and `secure` (TLS up to the
    proxy) are what the proxy reports; `certificate` says what it may be used for in the realm.
    `issuer` comes from the configured public URL. `event` collects what is recorded of it, `page`
    whether the page of a browser may read the response.
    """

    realm: RealmEntry
    issuer: str
    parameters: Parameters
    authorization: str | None = field(repr=False)
    certificate: ClientCertificate | None
    remote_address: str
    secure: bool
    now: datetime
    user_agent: str = field(default="", repr=False)
    """The header of that name, empty without one."""
    proof: SentProof = NO_PROOF
    proof_key: str | None = None
    """Thumbprint of the key that `proof` was verified to prove; None before, and without one."""
    event: EventDraft = field(default_factory=EventDraft, repr=False, compare=False)
    page: Page = field(default=NO_PAGE, repr=False, compare=False)
