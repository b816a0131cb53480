"""Sound: devices that play and record it, the sound of films, and its role as a film's clock."""
