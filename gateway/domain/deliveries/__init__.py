"""What is sent in the background, as often as it takes: mails, webhooks, notices of logouts."""

from gateway.domain.deliveries.delivery import (
    Claimed,
    Deliveries,
    FailedDelivery,
    Queued,
    RetrySchedule,
)
