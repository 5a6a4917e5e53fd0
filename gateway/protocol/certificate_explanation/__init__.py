"""What the gateway thinks of a certificate: the answer to "why is it refused?"."""

from gateway.protocol.certificate_explanation.explainer import (
    LONGEST_INPUT,
    CertificateExplainer,
    RevocationSources,
)
from gateway.protocol.certificate_explanation.explanation import (
    CertificateExplanation,
    Step,
)
from gateway.protocol.certificate_explanation.refusal import (
    MISSING_CERTIFICATE,
    CertificateRefusal,
    RefusalExplainer,
)
