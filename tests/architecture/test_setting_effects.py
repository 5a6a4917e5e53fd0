"""The table of effects has every setting that Keycloak 26.7 reads, and the page shows the table."""

import re
from collections import Counter
from pathlib import Path

import pytest

from gateway.representations.client_scopes import MAPPER_DESCRIPTIONS
from gateway.representations.clients.client import CLIENT_FIELDS
from gateway.representations.realms.fields import REALM_FIELDS
from scripts import setting_effects_page
from scripts.setting_rows import SETTING_ROWS, Effect, Place, SettingRow

ROOT = Path(__file__).parents[2]
JUDGED_WITH_POLICIES = {"clientPolicies", "intent-client-bind-checker"}
CLIENT_ATTRIBUTES = """
access.token.header.type.rfc9068 access.token.lifespan access.token.signed.response.alg acr.loa.map
acr.uri.map allow.oidc.params.in.redirect.uris allow.token.introspection.without.audience.check
allow.userinfo.with.lightweight.access.token attester_trust_idps
authorization.encrypted.response.alg authorization.encrypted.response.enc
authorization.signed.response.alg backchannel.logout.revoke.offline.tokens
backchannel.logout.session.required backchannel.logout.url
ciba.backchannel.auth.request.signing.alg ciba.backchannel.client.notification.endpoint
ciba.backchannel.token.delivery.mode cimd.cache.expiry.time.in.sec
client.introspection.response.allow.jwt.claim.enabled client.offline.session.idle.timeout
client.offline.session.max.lifespan client.secret.authentication.allowed.method
client.secret.creation.time client.secret.expiration.time client.secret.remaining.expiration.time
client.secret.rotated client.secret.rotated.creation.time client.secret.rotated.expiration.time
client.secret.rotation.enabled client.session.idle.timeout client.session.max.lifespan
client.use.lightweight.access.token.enabled client_credentials.use_refresh_token
default.acr.values dpop.bound.access.tokens exclude.issuer.from.auth.response
exclude.session.state.from.auth.response external.token.enabled external.token.idp
frontchannel.logout.session.required frontchannel.logout.url id.token.as.detached.signature
id.token.encrypted.response.alg id.token.encrypted.response.enc id.token.signed.response.alg
jwks.string jwks.url jwt.credential.certificate jwt.credential.issuer jwt.credential.sub
login_theme logoUri logout.confirmation.enabled minimum.acr.value
oauth2.device.authorization.grant.enabled oauth2.device.code.lifespan
oauth2.device.polling.interval oauth2.jwt.authorization.grant.audience
oauth2.jwt.authorization.grant.enabled oauth2.jwt.authorization.grant.idp
oid4vci.attester_trust_idps oid4vci.enabled oidc.ciba.grant.enabled pkce.code.challenge.method
policyUri post.logout.redirect.uris realm_client request.object.encryption.alg
request.object.encryption.enc request.object.required request.object.signature.alg request.uris
require.pushed.authorization.requests resource_url saml.allow.ecp.flow saml.artifact.binding
saml.artifact.binding.identifier saml.assertion.lifespan saml.assertion.signature
saml.authnstatement saml.client.signature saml.descriptor.cache.seconds saml.encrypt
saml.encryption.algorithm saml.encryption.certificate saml.encryption.digestMethod
saml.encryption.keyAlgorithm saml.encryption.maskGenerationFunction saml.encryption.private.key
saml.force.post.binding saml.metadataDescriptorUrl saml.onetimeuse.condition
saml.persistent.name.id.for saml.server.signature saml.server.signature.keyinfo.ext
saml.signature.algorithm saml.signing.certificate saml.signing.private.key
saml.useMetadataDescriptorUrl saml_artifact_binding_url saml_assertion_consumer_url_post
saml_force_name_id_format saml_idp_initiated_sso_url_name saml_name_id_format
saml_signature_canonicalization_method saml_single_logout_service_url_soap sectorIdentifierUri
security.admin.console ssf.enabled ssf.requiredRole ssf.stream.delivery.authorizationHeader
standard.token.exchange.enableRefreshRequestedTokenType standard.token.exchange.enabled
tls.client.certificate.bound.access.tokens token.endpoint.auth.signing.alg
token.endpoint.auth.signing.max.exp token.response.type.bearer.lower-case tosUri use.jwks.string
use.jwks.url use.refresh.tokens user.info.encrypted.response.alg user.info.encrypted.response.enc
user.info.response.signature.alg x509.allow.regex.pattern.comparison x509.casubjectdn
x509.subjectdn
"""
REALM_ATTRIBUTES = """
_browser_header.contentSecurityPolicy acr.loa.map acr.uri.map actionTokenGeneratedByAdminLifespan
actionTokenGeneratedByUserLifespan actionTokenGeneratedByUserLifespan.verify-email
adminEventsExpiration adminPermissionsEnabled bruteForceProtected bruteForceStrategy
cibaAuthRequestedUserHint cibaBackchannelTokenDeliveryMode cibaExpiresIn cibaInterval
client-policies.policies client-policies.profiles client-types clientOfflineSessionIdleTimeout
clientOfflineSessionMaxLifespan clientSessionIdleTimeout clientSessionMaxLifespan
credentialOfferLifespanS darkMode defaultSignatureAlgorithm displayName displayNameHtml
failureFactor firstBrokerLoginFlowId frontendUrl maxDeltaTimeSeconds maxFailureWaitSeconds
maxSecondaryAuthFailures maxTemporaryLockouts minimumQuickLoginWaitSeconds
oauth2DeviceCodeLifespan oauth2DevicePollingInterval offlineSessionMaxLifespan
offlineSessionMaxLifespanEnabled oid4vci.request.encryption.required oid4vci.signed_metadata.alg
organizationsEnabled parRequestUriLifespan permanentLockout quickLoginCheckMilliSeconds
realmReusableOtpCode saml.signature.algorithm scimApiEnabled shortVerificationUri
ssf.transmitterEnabled userProfileEnabled vc.c-nonce-lifetime-seconds verifiableCredentialsEnabled
waitIncrementSeconds webAuthnPolicyRpId webAuthnPolicyUserVerificationRequirementPasswordless
welcomeTheme
"""
SCOPE_ATTRIBUTES = """
always.display.consent consent.screen.text display.on.consent.screen gui.order
include.in.openid.provider.metadata include.in.token.scope is.parameterized.scope
parameterized.scope.allow.user.data parameterized.scope.regexp parameterized.scope.repeatable
parameterized.scope.type vc.credential_signing_alg vc.format
"""
EXECUTORS = """
auth-flow-enforcer client-id-metadata-document confidential-client consent-required
dpop-bind-enforcer downscope-assertion-grant-enforcer full-scope-disabled holder-of-key-enforcer
intent-client-bind-checker jwt-claim-enforcer pkce-enforcer
registration-access-token-rotation-disabled reject-implicit-grant reject-request reject-ropc-grant
saml-avoid-redirect saml-secure-client-uris saml-signature-enforcer secret-rotation
secure-ciba-req-sig-algorithm secure-ciba-session secure-ciba-signed-authn-req
secure-client-authentication-assertion secure-client-authenticator secure-client-uris
secure-client-uris-pattern secure-logout secure-par-content secure-redirect-uris-enforcer
secure-request-object secure-response-type secure-session secure-signature-algorithm
secure-signature-algorithm-signed-jwt suppress-refresh-token-rotation
tls-client-auth-ca-subject-dn use-lightweight-access-token
"""
KEYCLOAK = {
    Place.CLIENT_ATTRIBUTE: CLIENT_ATTRIBUTES.split(),
    Place.REALM_ATTRIBUTE: REALM_ATTRIBUTES.split(),
    Place.SCOPE_ATTRIBUTE: SCOPE_ATTRIBUTES.split(),
    Place.EXECUTOR: EXECUTORS.split(),
}
"""The names that the classes of the distribution of Keycloak 26.7.3 hold."""


def rows(place: Place) -> list[SettingRow]:
    return [row for row in SETTING_ROWS if row.place is place]


@pytest.mark.parametrize("place", KEYCLOAK, ids=str)
def test_every_setting_of_keycloak_has_a_row(place: Place) -> None:
    missing = [name for name in KEYCLOAK[place] if not any(row.covers(name) for row in rows(place))]
    assert missing == []


@pytest.mark.parametrize(
    ("place", "fields"),
    [
        (Place.CLIENT_FIELD, {*CLIENT_FIELDS.shapes, "secret"}),
        (Place.REALM_FIELD, {field.name for field in REALM_FIELDS}),
    ],
    ids=["client", "realm"],
)
def test_every_field_has_one_row(place: Place, fields: set[str]) -> None:
    assert Counter(row.name for row in rows(place)) == Counter(fields)


def test_no_setting_has_two_rows() -> None:
    names = Counter((row.place, row.name) for row in SETTING_ROWS)
    assert [name for name, count in names.items() if count > 1] == []


def test_a_setting_that_works_names_the_test_of_its_effect() -> None:
    named = {row.test for row in SETTING_ROWS if row.effect is Effect.WORKS}
    missing = {name for name in named if not _exists(*name.partition("::")[::2])}
    assert missing == set()


def _exists(file: str, function: str) -> bool:
    """Tell whether there is the file, and in it the test where one is named."""
    path = ROOT / file
    return path.is_file() and (not function or f"\ndef {function}(" in path.read_text())


def test_refused_settings_refuse_their_sample_and_no_empty_text() -> None:
    for row in SETTING_ROWS:
        judged = row.effect is Effect.REFUSED and row.name not in JUDGED_WITH_POLICIES
        assert (row.refuses is not None) == judged, row
        if row.effect is Effect.REFUSED:
            assert row.note, row
            assert row.allowed, row
        if row.refuses is not None:
            assert row.refuses(row.sample), row
            assert not row.refuses(""), row


def test_only_rows_that_are_not_refused_may_lack_a_note() -> None:
    assert [row for row in SETTING_ROWS if row.effect is Effect.STORED and not row.note] == []


def test_every_option_of_the_claims_of_a_mapper_has_a_row() -> None:
    known = {row.name for row in rows(Place.MAPPER_CONFIG)}
    common = {"claim.name", "jsonType.label", "multivalued"}
    used = {each.name for kind in MAPPER_DESCRIPTIONS.values() for each in kind.properties}
    assert used & common <= known


def test_the_page_shows_the_table() -> None:
    made = setting_effects_page.page()
    assert setting_effects_page.PAGE.read_text() == made, (
        "generate it again: python -m scripts.setting_effects_page"
    )
    named = set(re.findall(r"`([^`]+)`", made))
    assert {row.name for row in SETTING_ROWS} <= named
