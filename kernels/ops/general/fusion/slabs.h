// Launch parameters of the channel and group norms that read tensors once.
// held.py mirrors them.
#pragma once

// A slab is a normalization group: for a batch norm, the planes of a channel; for a group norm, a
// group's planes of one sample. A plane is one channel of one sample; plane n * channels + c
// belongs to sample n. Arrays by channel are FP32.
typedef struct {
    const void *grad, *x;  // grad is null in forward
    void* result;          // y, or in backward the gradient of x
    const float *shift, *weight, *bias;  // by channel; shift is for groups, or null
    // By channel, or for groups by plane: the subtracted mean and the reciprocal deviation; written
    // by forward.
    float *mean, *inverse;
    float* of_groups;  // groups: [3, all planes] weight, bias and the mean of the normed plane
    // Written by backward. Batch: the gradients of weight and bias, by channel. Groups: by plane,
    // the `means` of styleforge_groups_gradients.
    float* sums;
    // Pairs of FP32 that blocks publish for others (see partial.cuh); all bits start as ones.
    void* of_blocks;  // [slabs, team], per part
    void* of_planes;  // groups: [slabs, team + planes], per plane
    long long type;
    unsigned slabs, planes;    // planes per slab
    unsigned row;              // 16-byte loads per plane
    unsigned channels, group;  // `group`: channels per slab, or 0 for a batch
    unsigned team, part;       // blocks that share a slab, and loads per block
    unsigned phases;           // teams per chain; each begins once the one before summed a part
    float eps;
    int follows;  // backward: whether the statistics depend on x
} StyleforgeSlabs;
