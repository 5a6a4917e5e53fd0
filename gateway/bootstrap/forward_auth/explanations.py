"""Builds what explains decisions to operators."""

from dataclasses import dataclass
from functools import partial

from gateway.bootstrap.client_certificates import client_certificates, with_renewed_certificates
from gateway.bootstrap.forward_auth.decisions import live_accounts, site_decisions
from gateway.bootstrap.services import Services
from gateway.domain.ports.certificates import CertificateParser
from gateway.forward_auth.decisions import Decisions
from gateway.forward_auth.user_explanation import UserExplanations
from gateway.http.realm_endpoint import realm_url
from gateway.settings import Settings


@dataclass(frozen=True, slots=True)
class Explanations:
    """Decisions about credentials and about users, and what parses certificates."""

    decisions: Decisions
    users: UserExplanations
    certificates: CertificateParser


def explanations(settings: Settings, services: Services) -> Explanations:
    """Return what explains decisions; raises InvalidInput for unusable files."""
    if services.rules_file is not None:
        services.rules_file.load()
    certificates = client_certificates(settings, services)
    services = with_renewed_certificates(services, certificates)
    issuer = partial(realm_url, settings.public_url)
    trust = certificates.trust(services.authorities)
    accounts = live_accounts(services, trust)
    return Explanations(
        site_decisions(services, trust, issuer),
        UserExplanations(services.sites, accounts, services.database),
        certificates.parser,
    )
