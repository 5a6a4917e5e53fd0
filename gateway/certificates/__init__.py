"""Trust in client certificates, decided from the evidence that the edge reports.

`CertificateTrust` is the interface, `AnchoredTrust` the rule, `RegisteredAuthoritySelection` says
which authorities count for a realm or client.
"""

from gateway.certificates.authority_selection import RegisteredAuthoritySelection
from gateway.certificates.trust import AnchoredTrust, CertificateTrust
