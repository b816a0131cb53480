"""Runs shared by the machines of a Ray cluster. Ray Data distributes the work to actors."""
