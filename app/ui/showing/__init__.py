"""What is made to be shown: saved files, before and after, a projector, a slideshow."""
