"""Forward authentication: requests that a proxy asks about, protected sites, decisions."""

from gateway.domain.certificate_names import CertificateName
from gateway.domain.forward_auth.decision import (
    Allowed,
    Decision,
    Forbidden,
    Identity,
    ProofChallenge,
    Reason,
    Unauthenticated,
)
from gateway.domain.forward_auth.site import (
    EVERY_CREDENTIAL,
    BearerAudience,
    Credential,
    PathPattern,
    Requirements,
    Rule,
    Site,
    UnreadableSite,
)
from gateway.domain.forward_auth.site_client import unusable_setting
from gateway.domain.forward_auth.site_session import SiteSession
from gateway.domain.forward_auth.target import (
    LONGEST_URI,
    AmbiguousTarget,
    OriginalRequest,
    Target,
    canonical_host,
    check_path,
    target_of,
    without_port,
)

__all__ = [
    "EVERY_CREDENTIAL",
    "LONGEST_URI",
    "Allowed",
    "AmbiguousTarget",
    "BearerAudience",
    "CertificateName",
    "Credential",
    "Decision",
    "Forbidden",
    "Identity",
    "OriginalRequest",
    "PathPattern",
    "Reason",
    "Requirements",
    "Rule",
    "Site",
    "SiteSession",
    "Target",
    "Unauthenticated",
    "UnreadableSite",
    "canonical_host",
    "check_path",
    "target_of",
    "unusable_setting",
    "without_port",
]
