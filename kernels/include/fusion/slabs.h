// What norms of channels, and of groups of them, that read their tensors once are called with.
// kernels/ops/fusions/held.py has its mirror.
#pragma once

// A slab is what is normed together: of a batch the planes of a channel, of a group its planes of one
// sample. A plane is what a channel has of a sample; plane n * channels + c is that of sample n. What
// is given by channel is FP32.
typedef struct {
    const void *grad, *x;  // grad is null forward
    void* result;          // y, or backward the gradient of x
    const float *shift, *weight, *bias;  // by channel; shift is null unless it is added to groups
    // By channel, or of groups by plane: what is subtracted and the reciprocal deviation; written
    // forward.
    float *mean, *inverse;
    float* of_groups;  // of groups [3, all planes]: weight, bias and the mean of the normed plane
    // Backward, written: of a batch the gradients of weight and bias, by channel. Of groups by plane
    // what styleforge_groups_gradients calls means.
    float* sums;
    // Where blocks publish pairs of FP32 for others, see partial.cuh; all bits are ones.
    void* of_blocks;  // [slabs, team], of a part
    void* of_planes;  // of groups [slabs, team + planes], of a plane
    long long type;
    unsigned slabs, planes;    // of a slab
    unsigned row;              // 16-byte loads of a plane
    unsigned channels, group;  // of how many channels a slab is; 0 of a batch
    unsigned team, part;       // blocks that share a slab, and loads of each of them
    unsigned phases;           // of teams, each of which begins when the one before has summed a part
    float eps;
    int follows;  // backward, whether the statistics follow from x
} StyleforgeSlabs;
