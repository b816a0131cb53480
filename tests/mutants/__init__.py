"""One-line faults in the program, each with the tests that must notice it."""
