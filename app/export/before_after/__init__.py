"""A picture and its painting together: in one picture, a film or an animation."""
