"""The transformer operations, a family of their own.

They are attention in three rungs, the feed-forward network, the projection, the convolution that
gives tokens their positions, norms of tokens and channels, and enlarging. On a GPU they have a
library of their own, which the style networks do not load.
"""
