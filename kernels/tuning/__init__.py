"""Chooses the traits of the network's layers for a card: candidates, compiler, clock."""
