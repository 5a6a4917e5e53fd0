"""Connections to addresses that others name: documents, notices to clients, mail servers.

One guarded client serves them all, so that no caller reaches networks through the gateway.
"""

from gateway.outgoing.address_policy import AddressPolicy
from gateway.outgoing.documents import CachedDocuments
from gateway.outgoing.http_client import ClientLimits, GuardedHttpClient, Response
from gateway.outgoing.logout_notices import HttpNoticeSender
from gateway.outgoing.mail_tokens import ClientCredentialsTokens
from gateway.outgoing.server_verification import ServerVerification
from gateway.outgoing.sockets import GuardedSockets
from gateway.outgoing.webhooks import HttpWebhookSender
