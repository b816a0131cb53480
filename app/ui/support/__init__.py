"""Help beyond the keys: reports for others, questions and answers."""
