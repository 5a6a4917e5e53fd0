"""Revocation lists of any size: parsed off the event loop, held in little memory."""
