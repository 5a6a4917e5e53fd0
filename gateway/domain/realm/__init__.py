"""A realm and its settings: one frozen dataclass per concern, composed in `Realm`."""

from gateway.domain.realm.address_lockouts import (
    FAILURES_PER_ADDRESS,
    brute_force_rules,
    is_failure_limit,
)
from gateway.domain.realm.appearance import (
    ACCENT_COLOR,
    DARK_LOGO,
    LOGO,
    Appearance,
    appearance_of,
    is_color,
    is_image,
)
from gateway.domain.realm.authorization import (
    authentication_levels,
    parse_levels,
    pushed_request_lifespan,
)
from gateway.domain.realm.certificate_renewal import (
    LONGEST_OVERLAP,
    OVERLAP_FORM,
    RENEWAL_OVERLAP,
    is_overlap,
    parse_overlap,
    renewal_overlap_of,
)
from gateway.domain.realm.certificate_revocation import (
    DISTRIBUTION_POINTS,
    MOST_LIST_URLS,
    OCSP,
    OCSP_NONCE,
    OCSP_SCOPE,
    OCSP_URL,
    REVOCATION_LIST_URLS,
    REVOCATION_POLICY,
    CertificateRevocationSettings,
    OcspNonce,
    OcspPolicy,
    are_revocation_list_urls,
    certificate_revocation_of,
    configures_revocation,
    is_ocsp_nonce,
    is_ocsp_policy,
    is_ocsp_scope,
    is_points_choice,
    is_revocation_policy,
    is_server_url,
)
from gateway.domain.realm.certificate_trust import (
    CERTIFICATE_POLICIES,
    GATEWAY_AUTHORITIES,
    CertificateTrustSettings,
    are_policies,
    certificate_trust_of,
    is_gateway_authorities,
)
from gateway.domain.realm.dpop import DPOP_NONCE, is_nonce_choice, requires_proof_nonce
from gateway.domain.realm.lifetimes import RefreshTokenPolicy, SessionLimits, TokenLifespans
from gateway.domain.realm.password_policy import PasswordPolicy, PasswordRule
from gateway.domain.realm.realm import MASTER, EventsConfig, Localization, Realm, SslRequired
from gateway.domain.realm.security_headers import SecurityHeaders
from gateway.domain.realm.sign_in import (
    BruteForce,
    BruteForceStrategy,
    FlowBindings,
    LoginSettings,
    OtpAlgorithm,
    OtpPolicy,
    OtpType,
)
from gateway.domain.realm.smtp import Smtp
from gateway.domain.realm.web_authn import NOT_SPECIFIED, PasskeyPolicy, WebAuthnPolicy, option
from gateway.domain.realm.webhook import (
    LONGEST_WEBHOOK_SECRET,
    SHORTEST_WEBHOOK_SECRET,
    WEBHOOK_EVENTS,
    WEBHOOK_SECRET,
    WEBHOOK_URL,
    Webhook,
    are_event_names,
    is_webhook_url,
    webhook_of,
)
