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
from gateway.domain.forward_auth.hosts import (
    RULES_FILE,
    WILDCARD,
    AmbiguousTarget,
    HostOwners,
    ProxyServer,
    canonical_host,
    canonical_site_host,
    is_below,
    is_host_of,
    proxy_server,
    wildcards_of,
    with_port,
    without_port,
)
from gateway.domain.forward_auth.reserved_names import (
    GATEWAY,
    ReservedNames,
    contested_domains,
    share_cookies,
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
    OriginalRequest,
    Target,
    check_path,
    target_of,
)

__all__ = [
    "EVERY_CREDENTIAL",
    "GATEWAY",
    "LONGEST_URI",
    "RULES_FILE",
    "WILDCARD",
    "Allowed",
    "AmbiguousTarget",
    "BearerAudience",
    "CertificateName",
    "Credential",
    "Decision",
    "Forbidden",
    "HostOwners",
    "Identity",
    "OriginalRequest",
    "PathPattern",
    "ProxyServer",
    "Reason",
    "Requirements",
    "ReservedNames",
    "Rule",
    "Site",
    "SiteSession",
    "Target",
    "Unauthenticated",
    "UnreadableSite",
    "canonical_host",
    "canonical_site_host",
    "check_path",
    "contested_domains",
    "is_below",
    "is_host_of",
    "proxy_server",
    "share_cookies",
    "target_of",
    "unusable_setting",
    "wildcards_of",
    "with_port",
    "without_port",
]
