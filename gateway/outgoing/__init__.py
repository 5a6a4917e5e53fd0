"""Connections to addresses that others name: documents, notices to clients, mail servers.

One guarded client serves them all, so that no caller reaches networks through the gateway.
"""

from gateway.outgoing.deliveries import (
    CachedDocuments,
    ClientCredentialsTokens,
    HttpNoticeSender,
    HttpWebhookSender,
)
from gateway.outgoing.http_client import (
    AddressPolicy,
    ClientLimits,
    GuardedHttpClient,
    GuardedSockets,
    Response,
    ServerVerification,
)
