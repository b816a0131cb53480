"""Shows stored reports as Markdown, and fills them into pages, see `pages`."""
