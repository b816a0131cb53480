"""The sizes, rates and exposures that a camera offers."""
