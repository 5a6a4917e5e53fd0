"""What the proxy tells us about a request, believed only from the proxy."""
