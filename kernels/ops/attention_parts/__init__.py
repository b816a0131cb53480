"""What surrounds the products of attention: softmax of scores, rotary embeddings, sparse blocks."""
