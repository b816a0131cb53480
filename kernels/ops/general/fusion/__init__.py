"""Norms and reductions for any model: references and kernel launches."""
