// Stores of rows past the caches. A store to memory that is in no cache reads its line first, which
// is in vain where a whole line is written and evicted before anybody reads it.
#pragma once

#include <cstdint>
#include <cstring>

#include "inline.h"

#if defined(__x86_64__) || defined(_M_X64)
#include <immintrin.h>
#define STYLEFORGE_STREAMS 1
#else
#define STYLEFORGE_STREAMS 0
#endif

namespace styleforge {

#if STYLEFORGE_STREAMS
constexpr bool kStreams = true;
#else
constexpr bool kStreams = false;
#endif

constexpr int64_t kCached = 20 << 20;  // bytes: a last cache of 32 MiB holds more than these
constexpr int64_t kLine = 16;   // elements of FP32 of a line of memory
constexpr int64_t kPiece = 64;  // elements that are stored at once

template <typename T>
constexpr int64_t kPieceOf = kPiece * static_cast<int64_t>(sizeof(float) / sizeof(T));

// A piece of a row, which begins at a line, becomes `made`: past the caches where there are such
// stores. Other threads see it after `streamed`.
inline void stream(void* place, const void* made) {
    [[maybe_unused]] float* const to = static_cast<float*>(place);
    [[maybe_unused]] const float* const from = static_cast<const float*>(made);
#if defined(__AVX512F__)
    for (int64_t i = 0; i < kPiece; i += 16) _mm512_stream_ps(to + i, _mm512_loadu_ps(from + i));
#elif defined(__AVX__)
    for (int64_t i = 0; i < kPiece; i += 8) _mm256_stream_ps(to + i, _mm256_loadu_ps(from + i));
#elif STYLEFORGE_STREAMS
    for (int64_t i = 0; i < kPiece; i += 4) _mm_stream_ps(to + i, _mm_loadu_ps(from + i));
#else
    std::memcpy(place, made, static_cast<size_t>(kPiece) * sizeof(float));
#endif
}

// Begins to load as many bytes as a piece has, which may lie behind the end of a row.
STYLEFORGE_INLINE void prefetch(const void* from) {
#if STYLEFORGE_STREAMS
    constexpr int64_t kBytes = sizeof(float);
    for (int64_t i = 0; i < kPiece * kBytes; i += kLine * kBytes)
        _mm_prefetch(static_cast<const char*>(from) + i, _MM_HINT_T0);
#else
    (void)from;
#endif
}

// Whether rows of `width` at `to` are whole pieces, each of which begins at a line.
template <typename T = float>
inline bool can_stream(const void* to, int64_t width) {
    return kStreams && width % kPieceOf<T> == 0 &&
           reinterpret_cast<uintptr_t>(to) % (kLine * sizeof(float)) == 0;
}

// To be called by each thread after its last `stream`.
inline void streamed() {
#if STYLEFORGE_STREAMS
    _mm_sfence();
#endif
}

}  // namespace styleforge
