"""What every other package stands on, and which knows none of them."""
