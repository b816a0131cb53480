"""A picture and what became of it, together: as one picture, as a film, as an animation."""
