"""The validators of user profiles: a function each, and the table of them.

A validator returns the check that its configuration asks for; what cannot be used is noted in the
errors of the configuration. Keycloak: the built-in validators that a profile may name
"""

from collections.abc import Callable, Mapping
from typing import Final

from gateway.domain.user_profile.configuration import Configuration
from gateway.domain.user_profile.findings import Check
from gateway.domain.user_profile.validators.characters import (
    idn_homograph,
    person_name_characters,
    username_characters,
)
from gateway.domain.user_profile.validators.counts import multivalued, not_blank, not_empty
from gateway.domain.user_profile.validators.dates import iso_date, local_date
from gateway.domain.user_profile.validators.email import email
from gateway.domain.user_profile.validators.numbers import double, integer, length
from gateway.domain.user_profile.validators.options import options
from gateway.domain.user_profile.validators.pattern import pattern
from gateway.domain.user_profile.validators.uri import uri

MULTIVALUED: Final = "multivalued"
VALIDATORS: Final[Mapping[str, Callable[[Configuration], Check]]] = {
    "length": length,
    "integer": integer,
    "double": double,
    "pattern": pattern,
    "email": email,
    "uri": uri,
    "options": options,
    "local-date": local_date,
    "iso-date": iso_date,
    MULTIVALUED: multivalued,
    "not-empty": not_empty,
    "not-blank": not_blank,
    "username-prohibited-characters": username_characters,
    "person-name-prohibited-characters": person_name_characters,
    "up-username-not-idn-homograph": idn_homograph,
}
"""By the name that stands in `validations`."""
