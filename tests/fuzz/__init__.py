"""Feeds everything that the program reads with damaged and hostile input, and says what broke."""
