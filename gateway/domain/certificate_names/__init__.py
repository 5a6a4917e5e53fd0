"""Names of certificates: one name, or a template that the names of many devices fit."""

from gateway.domain.certificate_names.name import WILDCARD, CertificateName, canonical_email
from gateway.domain.certificate_names.template import (
    CLAIM_NAME,
    DEVICE_CLAIM,
    LONGEST_DEVICE_NAME,
    RESERVED_CLAIMS,
    CertificateTemplate,
    Device,
    shape_of_name,
    shapes_of,
)
