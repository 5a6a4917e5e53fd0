"""Trust in client certificates, decided from the evidence that the edge reports.

`CertificateTrust` is the interface, `GlobalAuthorities` the rule of the settings. A trusted
certificate is a client's by the names of `registered_names`.
"""

from gateway.certificates.registered_names import NotRegistered, require_registered
from gateway.certificates.trust import CertificateTrust, GlobalAuthorities
