"""The parts of attention around its products: softmax, rotary embeddings, sparse blocks."""
