"""The user that a certificate names: what it must be, what of it is looked up, who has that."""

from gateway.authentication.certificate_users.event_details import certificate_details
from gateway.authentication.certificate_users.identity import identity_in
from gateway.authentication.certificate_users.users import (
    CERTIFICATE_CREDENTIAL,
    CertificateUsers,
    prove_certificate,
)
