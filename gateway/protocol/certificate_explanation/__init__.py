"""Why the gateway accepts or refuses a certificate."""

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
