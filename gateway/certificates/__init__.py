"""Which client certificates a realm trusts, decided from the evidence that the edge reports.

`CertificateTrust` is the interface, `GlobalAuthorities` the rule: the authorities and revocation
lists of the settings, the same for every realm.
"""

from gateway.certificates.global_authorities import GlobalAuthorities
from gateway.certificates.trust import CertificateTrust
