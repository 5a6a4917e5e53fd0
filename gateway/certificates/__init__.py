"""Trust in client certificates, decided from the evidence that the edge reports.

`CertificateTrust` is the interface, `GlobalAuthorities` the rule of the settings.
"""

from gateway.certificates.trust import CertificateTrust, GlobalAuthorities
