"""The pairwise subject: which `sub` all tokens of a client contain, decided outside of claims."""

from typing import Final

from gateway.protocol.claims.mapper import EVERYWHERE, ClaimMapper
from gateway.protocol.claims.subject_identifiers import SALT, check_pairwise
from gateway.representations.protocol_mapper_types import SECTOR_URI, MapperType
from gateway.representations.protocol_mappers import PAIRWISE_MAPPER
from gateway.representations.provider_properties import Property

PAIRWISE_SUBJECT: Final = ClaimMapper(
    PAIRWISE_MAPPER,
    EVERYWHERE,
    lambda _: None,
    MapperType(
        "Pairwise subject identifier",
        "An identifier of the user that no other sector gets",
        (
            Property(
                SECTOR_URI,
                "Sector Identifier URI",
                "https address of a JSON array of the redirect URIs; its host is the sector",
            ),
            Property(SALT, "Salt", "Keeps identifiers from being guessed"),
        ),
    ),
    check=check_pairwise,
)
