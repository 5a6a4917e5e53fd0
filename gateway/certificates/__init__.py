"""Trust in client certificates, decided from the evidence that the edge reports.

`CertificateTrust` is the interface, `AnchoredTrust` the rule, `RegisteredAuthoritySelection` says
which authorities count for a realm or client. Revocation lists, deny lists and OCSP are combined by
`CombinedRevocations`. A trusted certificate is a client's by the names of `registered_names`.
"""

from typing import TYPE_CHECKING

from gateway.domain.exports import load_exports

if TYPE_CHECKING:
    from gateway.certificates.registered_names import (
        NotRegistered,
        has_registered_name,
        is_registered_for,
        owns,
        require_registered,
    )
    from gateway.certificates.seen_certificates import ObservedTrust, SeenCertificates
    from gateway.certificates.trust import (
        AnchoredTrust,
        CertificateTrust,
        CombinedRevocations,
        DenyList,
        RegisteredAuthoritySelection,
        evaluate_for_client,
    )
else:
    __getattr__ = load_exports(__name__, __file__)
