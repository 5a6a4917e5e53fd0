"""Requests to servers that others name: documents of clients, mail servers, webhooks."""
