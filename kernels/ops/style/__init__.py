"""The operations of the style networks."""
