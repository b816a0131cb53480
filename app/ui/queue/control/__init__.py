"""What the controller of the queue is made of: adding, entries, what is said and can be done."""
