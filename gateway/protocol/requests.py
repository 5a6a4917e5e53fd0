"""What every protocol endpoint gets to know about one request, parsed once at the edge."""

from dataclasses import dataclass, field
from datetime import datetime

from gateway.domain.certificates import ClientCertificate
from gateway.domain.ports.directory import RealmEntry
from gateway.protocol.event_draft import EventDraft
from gateway.protocol.parameters import Parameters


@dataclass(frozen=True, slots=True)
class ProtocolRequest:
    """One request to an endpoint of one realm.

    `authorization` is the header's value as sent. `remote_address` and `secure` (TLS up to the
    proxy) are what the proxy reports; `certificate` says what it may be used for in the realm.
    `issuer` comes from the configured public URL.
    `event` gathers what is to be recorded of it.
    """

    realm: RealmEntry
    issuer: str
    parameters: Parameters
    authorization: str | None = field(repr=False)
    certificate: ClientCertificate | None
    remote_address: str
    secure: bool
    now: datetime
    event: EventDraft = field(default_factory=EventDraft, repr=False, compare=False)
