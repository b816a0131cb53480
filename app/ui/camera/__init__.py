"""Cameras in the window: size, rate and exposure, and the picture that stays when one is lost."""
