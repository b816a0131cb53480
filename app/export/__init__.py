"""Writers of result files: pictures with metadata, videos, films and networks."""
