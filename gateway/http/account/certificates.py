"""Client certificates: those that the user has signed in with. It is part of "Signing in"."""

from dataclasses import dataclass
from typing import ClassVar

from gateway.accounts.access import AccountRole
from gateway.accounts.certificates import AccountCertificates, SignInCertificate
from gateway.http.account.visitor import PageHandler, Visitor
from gateway.http.pages.account_views import AccountIcon, CertificateRow, CertificatesPage
from gateway.http.pages.page_values import Message
from gateway.protocol.account_console import AccountPage


@dataclass(frozen=True, slots=True)
class Certificates(PageHandler):
    """Lists the certificates."""

    certificates: AccountCertificates
    page: ClassVar = AccountPage.CERTIFICATES
    within: ClassVar = AccountPage.SIGNING_IN
    name: ClassVar = "accountCertificates"
    icon: ClassVar = AccountIcon.CERTIFICATE
    roles: ClassVar = (AccountRole.VIEW_PROFILE, AccountRole.MANAGE_ACCOUNT)

    async def show(self, visitor: Visitor, message: Message | None) -> CertificatesPage:
        found = await self.certificates.list(visitor.caller)
        return CertificatesPage(
            frame=visitor.frame,
            certificates=tuple(map(_row, found)),
            message=message,
        )


def _row(seen: SignInCertificate) -> CertificateRow:
    return CertificateRow(
        subject=seen.subject,
        issuer=seen.issuer,
        serial_number=seen.serial,
        address=seen.last_address,
        first_seen_at=seen.first_seen,
        last_seen_at=seen.last_seen,
    )
