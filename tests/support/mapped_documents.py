"""What mappers add, rendered alone: a document in which the protocol itself decides nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from gateway.protocol.claims.mapped_claims import MappedClaims
from gateway.protocol.claims.mapper import ClaimsFor
from gateway.protocol.claims.plans import ClaimPlan, map_claims
from gateway.protocol.claims.protocol_claims import CLIENT_ID, RESERVED_CLAIMS, audience_claim
from gateway.protocol.claims.subject import TokenSubject


@dataclass(frozen=True, slots=True)
class _MappedOnly:
    mapped: MappedClaims
    subject: TokenSubject
    reserved: ClassVar[frozenset[str]] = RESERVED_CLAIMS | {CLIENT_ID}
    last: ClassVar[tuple[str, ...]] = ()

    def members(self) -> dict[str, Any]:
        members: dict[str, Any] = {}
        if self.mapped.includes_subject:
            members["sub"] = self.subject.user.id
        if self.mapped.audiences:
            members["aud"] = audience_claim(self.mapped.audiences)
        self.mapped.included(self.subject).add_to(members)
        return members


def rendered(mapped: MappedClaims, subject: TokenSubject) -> dict[str, Any]:
    """Return the claims that mappers added or included."""
    return mapped.document(_MappedOnly(mapped, subject))


def mapped_document(
    plans: Sequence[ClaimPlan], subject: TokenSubject, purpose: ClaimsFor
) -> dict[str, Any]:
    """Run the mappers for a purpose; return the claims that they add or include."""
    return rendered(map_claims(plans, subject, purpose), subject)
