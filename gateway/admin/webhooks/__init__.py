"""The queue of events for webhooks: sending them, listing what is in it."""

from gateway.admin.webhooks.delivery import LEASE, WebhookDeliveries
from gateway.admin.webhooks.waiting import WaitingWebhooks
