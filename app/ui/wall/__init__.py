"""The wall: the newest source painted in nine styles at once, from which one is chosen."""
