"""The validators of user profiles: one file each, and the table of them.

Keycloak: the built-in validators that a profile may name
"""

from collections.abc import Mapping
from typing import Final

from gateway.domain.user_profile.findings import Validator
from gateway.domain.user_profile.validators.double import Double
from gateway.domain.user_profile.validators.email import Email
from gateway.domain.user_profile.validators.idn_homograph import IdnHomograph
from gateway.domain.user_profile.validators.integer import Integer
from gateway.domain.user_profile.validators.iso_date import IsoDate
from gateway.domain.user_profile.validators.length import Length
from gateway.domain.user_profile.validators.local_date import LocalDate
from gateway.domain.user_profile.validators.multivalued import Multivalued
from gateway.domain.user_profile.validators.not_blank import NotBlank
from gateway.domain.user_profile.validators.not_empty import NotEmpty
from gateway.domain.user_profile.validators.options import Options
from gateway.domain.user_profile.validators.pattern import Pattern
from gateway.domain.user_profile.validators.person_name_characters import PersonNameCharacters
from gateway.domain.user_profile.validators.uri import Uri
from gateway.domain.user_profile.validators.username_characters import UsernameCharacters

_KINDS: Final[tuple[Validator, ...]] = (
    Length(),
    Integer(),
    Double(),
    Pattern(),
    Email(),
    Uri(),
    Options(),
    LocalDate(),
    IsoDate(),
    Multivalued(),
    NotEmpty(),
    NotBlank(),
    UsernameCharacters(),
    PersonNameCharacters(),
    IdnHomograph(),
)

VALIDATORS: Final[Mapping[str, Validator]] = {kind.name: kind for kind in _KINDS}
"""By the name that stands in `validations`."""
