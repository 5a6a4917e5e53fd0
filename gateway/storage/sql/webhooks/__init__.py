"""The queue of events for webhooks on SQL."""

from gateway.storage.sql.webhooks.queue import SqlWebhooks
