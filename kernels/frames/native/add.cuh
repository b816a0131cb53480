// Adds texture to part of a row with one block.
#pragma once

#include "frames.h"

namespace styleforge {

__device__ __forceinline__ unsigned lighter_byte(unsigned value, int levels) {
    return static_cast<unsigned>(clamp(static_cast<int>(value) + levels, 0, 255));
}

// Adds texture to the kAddPixels pixels of a row from `first` on. Every thread of a block of
// kThreads calls it, with `levels` in shared memory. Adjacent threads read adjacent noise values,
// and then adjacent words. Rows that are not whole words are processed by bytes.
__device__ __forceinline__ void add_texture(const TextureParams& p, int row, int first,
                                            int (&levels)[kAddPixels]) {
    const int thread = threadIdx.x, left = p.width - first;
    const int pixels = left < kAddPixels ? left : kAddPixels, bytes = pixels * 3;
#pragma unroll 2
    for (int i = thread; i < pixels; i += kThreads) levels[i] = levels_at(p, row, first + i);
    __syncthreads();
    const long long begin = (1ll * row * p.width + first) * 3;
    const uint8_t* from = p.picture + begin;
    uint8_t* to = p.textured + begin;
    const size_t places = reinterpret_cast<size_t>(from) | reinterpret_cast<size_t>(to);
    const int words = (places | static_cast<size_t>(bytes)) % 4 == 0 ? bytes / 4 : 0;
    for (int i = thread; i < words; i += kThreads) {
        const unsigned word = reinterpret_cast<const unsigned*>(from)[i];
        unsigned made = 0;
#pragma unroll
        for (int k = 0; k < 4; ++k)
            made |= lighter_byte(word >> k * 8 & 255, levels[(i * 4 + k) / 3]) << k * 8;
        reinterpret_cast<unsigned*>(to)[i] = made;
    }
    for (int i = words * 4 + thread; i < bytes; i += kThreads)
        to[i] = static_cast<uint8_t>(lighter_byte(from[i], levels[i / 3]));
}

}  // namespace styleforge
