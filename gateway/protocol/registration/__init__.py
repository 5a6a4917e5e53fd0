"""Requests of clients that register themselves. Spec: RFC 7591, RFC 7592."""

from gateway.protocol.registration.registration_requests import RegistrationRequests
