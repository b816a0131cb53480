"""The REST server on loopback, which styles pictures for programs and for a page in a browser."""
