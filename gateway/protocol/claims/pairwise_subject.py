"""The pairwise subject: which `sub` all tokens of a client contain, decided outside of claims."""

from typing import Final

from gateway.protocol.claims.mapper import EVERYWHERE, ClaimMapper
from gateway.protocol.claims.subject_identifiers import PAIRWISE, SALT, check_pairwise
from gateway.representations.protocol_mapper_types import SECTOR_URI, MapperType
from gateway.representations.provider_properties import Property

PAIRWISE_SUBJECT: Final = ClaimMapper(
    PAIRWISE,
    EVERYWHERE,
    lambda _: None,
    MapperType(
        "Pairwise subject identifier",
        "An identifier of the user that no other sector gets",
        (
            Property(SECTOR_URI, "Sector Identifier URI", "Must be empty"),
            Property(SALT, "Salt", "Keeps identifiers from being guessed"),
        ),
    ),
    check=check_pairwise,
)
