"""What expires in a realm or in all of them: certificates, revocation lists and keys."""

from gateway.admin.expiry.listing import STANDARD_WINDOW, ExpiryListing, of_certificate
from gateway.admin.expiry.mails import ExpiryMails
