"""Parts of the queue controller: adding, entries, messages and enabled actions."""
