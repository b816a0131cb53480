// Per-sequence parameters of a launch over token sequences; embedding.py
// mirrors them.
#pragma once

constexpr int kMostSequences = 256;

// Every supported driver accepts kernel arguments of 4 KB.
typedef struct {
    const long long* tokens[kMostSequences];
    int sizes[kMostSequences];  // tokens to embed
} StyleforgeSequences;
