"""Shows a running stack to clients, browsers and thieves, and checks each answer."""
