"""Trust in client certificates, decided from the evidence that the edge reports.

`CertificateTrust` is the interface, `GlobalAuthorities` the rule of the settings. Revocation lists,
deny lists and OCSP are combined by `CombinedRevocations`.
"""

from gateway.certificates.combined_revocations import CombinedRevocations
from gateway.certificates.deny_list import DenyList
from gateway.certificates.trust import CertificateTrust, GlobalAuthorities
