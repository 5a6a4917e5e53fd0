"""What the proxy reports about a request, as evidence; headers count from the proxy alone."""
