"""X.500 names as parsed values: read, written, and compared without string tricks.

Spec: RFC 4514, RFC 2253 (the older forms are read too), RFC 5280 §4.1.2.6
"""

from gateway.domain.distinguished_names.attributes import Attribute
from gateway.domain.distinguished_names.canonical import canonical_name_of
from gateway.domain.distinguished_names.name import DistinguishedName
from gateway.domain.distinguished_names.parsing import parse_distinguished_name
from gateway.domain.distinguished_names.subject_matching import subject_matches
