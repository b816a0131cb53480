// What a launch over sequences of tokens is told of each; kernels/ops/model_inputs/embedding.py has
// the mirror.
#pragma once

constexpr int kMostSequences = 256;

// A kernel takes 4 KB of arguments from every driver that images are for.
typedef struct {
    const long long* tokens[kMostSequences];
    int sizes[kMostSequences];  // how many of them are embedded
} StyleforgeSequences;
