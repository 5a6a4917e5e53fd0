"""What the rules need from the outside, as protocols; adapters implement them."""
