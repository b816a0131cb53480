// The network's layers for Hopper (sm_90a): persistent, warp-specialized blocks in which producer
// warps load and normalize the next pixels while two consumer warpgroups multiply.
//
// The operation is the same as in network_sm80.cu: raw outputs in memory; norm, ReLU and residual
// on load. Here output channels are the rows of a product and pixels its columns: a thread holds
// many pixels of two channels, and statistics need no other thread until the very end. Shared
// memory holds pixels one after another, in swizzled rows of 64 channels or in parts of eight; a
// tap is a shift by whole pixels.
//
// If every tile has its own multiprocessor, all residual layers are one launch.
//
// In FP32, activations are FP32 in memory. Operands are then FP16, which has TF32's 10 bits, or,
// for full precision, the sum of two FP16 numbers.
#include "sm90/conv9x9_strip.cuh"
#include "sm90/mainloop.cuh"
#include "sm90/residual_blocks.cuh"
