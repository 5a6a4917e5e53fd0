"""What a sign-in with a browser keeps between two requests."""
