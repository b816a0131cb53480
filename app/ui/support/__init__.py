"""Support: reports, questions and answers."""
