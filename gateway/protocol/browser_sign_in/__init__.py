"""Signing in with a browser, from the authorization request to the response for the client."""

from gateway.protocol.browser_sign_in.outcomes import AskConsent, Outcome, Respond
from gateway.protocol.browser_sign_in.purposes import Purposes, followed_link, validate_target
from gateway.protocol.browser_sign_in.sign_in import BrowserSignIn
from gateway.protocol.browser_sign_in.visit import Browser, offered_flows
