"""Sound: devices that play and hear it, the sound of films, and the clock that it is."""
