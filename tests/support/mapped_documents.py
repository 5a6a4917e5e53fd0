"""What mappers add, rendered alone: a document in which the protocol itself decides nothing."""

from collections.abc import Sequence
from typing import Any

from gateway.protocol.claims import ClaimPlan, map_claims
from gateway.protocol.claims.mapper import ClaimsFor, MappedClaims
from gateway.protocol.claims.protocol_claims import audience_claim
from gateway.protocol.claims.subject import TokenSubject


def rendered(mapped: MappedClaims, subject: TokenSubject) -> dict[str, Any]:
    """Return the claims that mappers added or included."""
    members: dict[str, Any] = {}
    if "sub" in mapped.decided:
        members["sub"] = subject.user.id
    if mapped.audiences:
        members["aud"] = audience_claim(mapped.audiences)
    mapped.included(subject).add_to(members)
    return mapped.document(members)


def mapped_document(
    plans: Sequence[ClaimPlan], subject: TokenSubject, purpose: ClaimsFor
) -> dict[str, Any]:
    """Run the mappers for a purpose; return the claims that they add or include."""
    return rendered(map_claims(plans, subject, purpose), subject)
