// Rows of the random numbers of elementwise/philox.h, for several counters at once in vectors. A
// 64-bit lane holds one 32-bit word, since products of words take 64 bits.
#pragma once

#include <cstdint>

#include "philox.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace styleforge {
namespace elementwise {

#if defined(__AVX512BW__)
struct Lanes {
    static constexpr int64_t kCount = 8;
    using Vector = __m512i;
    static inline Vector all(uint64_t v) { return _mm512_set1_epi64(static_cast<int64_t>(v)); }
    static inline Vector from(uint64_t first) {
        return _mm512_add_epi64(all(first), _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0));
    }
    // Lower halves of lanes.
    static inline Vector product(Vector x, Vector y) { return _mm512_mul_epu32(x, y); }
    static inline Vector high(Vector x) { return _mm512_srli_epi64(x, 32); }
    static inline Vector either(Vector x, Vector y, Vector z) {
        return _mm512_ternarylogic_epi64(x, y, z, 0x96);
    }
    // Per lane, stores the factors of the words a, b, c and d: `kept` if not dropped, else 0.
    static inline void put(Vector a, Vector b, Vector c, Vector d, Word dropped, float kept,
                           float* to) {
        const Vector ab = _mm512_mask_blend_epi32(0xAAAA, a, _mm512_slli_epi64(b, 32));
        const Vector cd = _mm512_mask_blend_epi32(0xAAAA, c, _mm512_slli_epi64(d, 32));
        const Vector near = _mm512_set_epi64(11, 3, 10, 2, 9, 1, 8, 0);
        const Vector far = _mm512_set_epi64(15, 7, 14, 6, 13, 5, 12, 4);
        put_words(_mm512_permutex2var_epi64(ab, near, cd), dropped, kept, to);
        put_words(_mm512_permutex2var_epi64(ab, far, cd), dropped, kept, to + 32);
    }

 private:
    static inline void put_words(Vector words, Word dropped, float kept, float* to) {
        const Vector least = _mm512_set1_epi16(static_cast<int16_t>(dropped));
        const __mmask32 stays = _mm512_cmpge_epu16_mask(words, least);
        const __m512 factor = _mm512_set1_ps(kept);
        _mm512_storeu_ps(to, _mm512_maskz_mov_ps(static_cast<__mmask16>(stays), factor));
        _mm512_storeu_ps(to + 16, _mm512_maskz_mov_ps(static_cast<__mmask16>(stays >> 16), factor));
    }
};
#elif defined(__AVX2__)
struct Lanes {
    static constexpr int64_t kCount = 4;
    using Vector = __m256i;
    static inline Vector all(uint64_t v) { return _mm256_set1_epi64x(static_cast<int64_t>(v)); }
    static inline Vector from(uint64_t first) {
        return _mm256_add_epi64(all(first), _mm256_set_epi64x(3, 2, 1, 0));
    }
    // Lower halves of lanes.
    static inline Vector product(Vector x, Vector y) { return _mm256_mul_epu32(x, y); }
    static inline Vector high(Vector x) { return _mm256_srli_epi64(x, 32); }
    static inline Vector either(Vector x, Vector y, Vector z) {
        return _mm256_xor_si256(_mm256_xor_si256(x, y), z);
    }
    // Per lane, stores the factors of the words a, b, c and d: `kept` if not dropped, else 0.
    static inline void put(Vector a, Vector b, Vector c, Vector d, Word dropped, float kept,
                           float* to) {
        const Vector ab = _mm256_blend_epi32(a, _mm256_slli_epi64(b, 32), 0xAA);
        const Vector cd = _mm256_blend_epi32(c, _mm256_slli_epi64(d, 32), 0xAA);
        const Vector even = _mm256_unpacklo_epi64(ab, cd), odd = _mm256_unpackhi_epi64(ab, cd);
        put_words(_mm256_permute2x128_si256(even, odd, 0x20), dropped, kept, to);
        put_words(_mm256_permute2x128_si256(even, odd, 0x31), dropped, kept, to + 16);
    }

 private:
    static inline void put_words(Vector words, Word dropped, float kept, float* to) {
        const Vector least = _mm256_set1_epi16(static_cast<int16_t>(dropped));
        const Vector stays = _mm256_cmpeq_epi16(_mm256_max_epu16(words, least), words);
        put_eight(_mm256_castsi256_si128(stays), kept, to);
        put_eight(_mm256_extracti128_si256(stays, 1), kept, to + 8);
    }
    static inline void put_eight(__m128i stays, float kept, float* to) {
        const __m256 masks = _mm256_castsi256_ps(_mm256_cvtepi16_epi32(stays));
        _mm256_storeu_ps(to, _mm256_and_ps(masks, _mm256_set1_ps(kept)));
    }
};
#endif

// factors: [kDrawn counters], starting at counter `first`: 0 if the number is below `dropped`, else
// `kept`. If `dropped` exceeds every number, `kept` is 0.
inline void dropout_row(uint64_t first, int64_t counters, const long long* state, Word dropped,
                        float kept, float* factors) {
    int64_t i = 0;
#if defined(__AVX2__)
    using L = Lanes;
    const auto one = L::all(0xD2511F53u), other = L::all(0xCD9E8D57u);
    const auto offset = L::all(static_cast<Word>(state[1]));
    L::Vector keys[10], seconds[10];
    for (int round = 0; round < 10; ++round) {
        const auto number = static_cast<Word>(round);
        keys[round] = L::all(static_cast<Word>(state[0]) + number * 0x9E3779B9u);
        seconds[round] = L::all(static_cast<Word>(static_cast<uint64_t>(state[0]) >> 32) +
                                number * 0xBB67AE85u);
    }
    // Several vectors interleaved, since each instruction of one waits for the previous one.
    constexpr int kWays = 4;
    for (; i + kWays * L::kCount <= counters; i += kWays * L::kCount) {
        L::Vector a[kWays], b[kWays], c[kWays], d[kWays];
        for (int way = 0; way < kWays; ++way) {
            a[way] = L::from(first + static_cast<uint64_t>(i + way * L::kCount));
            b[way] = L::high(a[way]), c[way] = L::all(0), d[way] = offset;
        }
        for (int round = 0; round < 10; ++round)
            for (int way = 0; way < kWays; ++way) {
                const auto low = L::product(a[way], one), high = L::product(c[way], other);
                a[way] = L::either(L::high(high), b[way], keys[round]);
                c[way] = L::either(L::high(low), d[way], seconds[round]);
                b[way] = high, d[way] = low;
            }
        for (int way = 0; way < kWays; ++way)
            L::put(a[way], b[way], c[way], d[way], dropped, kept,
                   factors + kDrawn * (i + way * L::kCount));
    }
#endif
    for (; i < counters; ++i) {
        const Words numbers[1] = {first + static_cast<uint64_t>(i)};
        Word words[1][4];
        philox(numbers, state, words);
        for (int k = 0; k < kDrawn; ++k) {
            const Word drawn = (words[0][k / 2] >> (k % 2 * 16)) & 0xFFFFu;
            factors[kDrawn * i + k] = drawn >= dropped ? kept : 0.f;
        }
    }
}

}  // namespace elementwise
}  // namespace styleforge
