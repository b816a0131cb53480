"""The REST server on loopback: styles pictures for programs and for a page in a browser."""
