// Maps indices beyond the border of an image back inside.
#pragma once

namespace styleforge {

// Repeats the border.
__device__ __forceinline__ int clamp_index(int i, int size) { return max(0, min(size - 1, i)); }

// Reflects at the border without repeating it. Tiles may reach beyond the reflection; such indices
// are clamped, and the loaded values are not used.
__device__ __forceinline__ int reflect_index(int i, int size) {
    i = abs(i);
    return clamp_index(size - 1 - abs(size - 1 - i), size);
}

}  // namespace styleforge
