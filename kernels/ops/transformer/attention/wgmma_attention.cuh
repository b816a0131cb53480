// wgmma (sm_90a) for attention: acc[64 x N] += a[64 x 16] b[16 x N], accumulated in FP32. Scores
// take both operands from shared memory: rows of queries and rows of keys. The sum over values
// takes weights from registers, and values in their memory layout, rows of keys, so the columns of
// b are contiguous. With `accumulate` zero, acc is overwritten.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>

#include "include/sm90/accumulators.cuh"

namespace styleforge::attention {

template <typename T, int kColumns>
struct WgmmaSmem;

template <typename T, int kColumns>
struct WgmmaRegisters;

// `columns` is N and `count` the number of accumulators; the other numbers are the places of the
// operands after them.
#define STYLEFORGE_WGMMA_SMEM(Type, name, columns, count, b_at, flag)                             \
    template <>                                                                                   \
    struct WgmmaSmem<Type, columns> {                                                             \
        static __device__ __forceinline__ void mma(float (&acc)[count], uint64_t a, uint64_t b,   \
                                                   int accumulate) {                              \
            STYLEFORGE_SM90A(                                                                     \
                "{.reg .pred accumulate;\n"                                                       \
                "setp.ne.b32 accumulate, %" #flag ", 0;\n"                                        \
                "wgmma.mma_async.sync.aligned.m64n" #columns "k16.f32." name "." name             \
                " {" STYLEFORGE_WGMMA_PLACES_##count "}, %" #count ", %" #b_at                    \
                ", accumulate, 1, 1, 0, 0;}"                                                      \
                : STYLEFORGE_WGMMA_ACC_##count                                                    \
                : "l"(a), "l"(b), "r"(accumulate));                                               \
        }                                                                                         \
    };
#define STYLEFORGE_WGMMA_REGISTERS(Type, name, columns, count, second, third, fourth, b_at, flag) \
    template <>                                                                                   \
    struct WgmmaRegisters<Type, columns> {                                                        \
        static __device__ __forceinline__ void mma(float (&acc)[count], const uint32_t (&a)[4],   \
                                                   uint64_t b, int accumulate) {                  \
            STYLEFORGE_SM90A(                                                                     \
                "{.reg .pred accumulate;\n"                                                       \
                "setp.ne.b32 accumulate, %" #flag ", 0;\n"                                        \
                "wgmma.mma_async.sync.aligned.m64n" #columns "k16.f32." name "." name             \
                " {" STYLEFORGE_WGMMA_PLACES_##count "}, {%" #count ", %" #second ", %" #third    \
                ", %" #fourth "}, %" #b_at ", accumulate, 1, 1, 1;}"                              \
                : STYLEFORGE_WGMMA_ACC_##count                                                    \
                : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate));           \
        }                                                                                         \
    };

STYLEFORGE_WGMMA_SMEM(__half, "f16", 128, 64, 65, 66)
STYLEFORGE_WGMMA_SMEM(__nv_bfloat16, "bf16", 128, 64, 65, 66)
STYLEFORGE_WGMMA_REGISTERS(__half, "f16", 32, 16, 17, 18, 19, 20, 21)
STYLEFORGE_WGMMA_REGISTERS(__nv_bfloat16, "bf16", 32, 16, 17, 18, 19, 20, 21)
STYLEFORGE_WGMMA_REGISTERS(__half, "f16", 64, 32, 33, 34, 35, 36, 37)
STYLEFORGE_WGMMA_REGISTERS(__nv_bfloat16, "bf16", 64, 32, 33, 34, 35, 36, 37)
STYLEFORGE_WGMMA_REGISTERS(__half, "f16", 128, 64, 65, 66, 67, 68, 69)
STYLEFORGE_WGMMA_REGISTERS(__nv_bfloat16, "bf16", 128, 64, 65, 66, 67, 68, 69)

}  // namespace styleforge::attention
