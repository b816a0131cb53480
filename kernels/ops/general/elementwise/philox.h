// The random numbers of elementwise dropout: Philox4x32-10 (Salmon et al., 2011). The four words of
// counter i / 8 are eight 16-bit numbers, of which element i uses number i % 8; the lower half of a
// word comes first. kernels/table/philox.py computes the same.
#pragma once

#include "functors.h"

namespace styleforge {
namespace elementwise {

using Word = unsigned int;
using Words = unsigned long long;

constexpr int kDrawn = 8;  // elements per counter

// Computes the words of several counters, whose rounds share their keys.
template <int kNumbers>
STYLEFORGE_ELEMENT void philox(const Words (&numbers)[kNumbers], const long long* state,
                               Word (&words)[kNumbers][4]) {
    for (int i = 0; i < kNumbers; ++i) {
        words[i][0] = static_cast<Word>(numbers[i]);
        words[i][1] = static_cast<Word>(numbers[i] >> 32);
        words[i][2] = 0, words[i][3] = static_cast<Word>(state[1]);
    }
    Word first = static_cast<Word>(state[0]), second = static_cast<Word>(state[0] >> 32);
#ifdef __CUDACC__
#pragma unroll
#endif
    for (int round = 0; round < 10; ++round) {
#ifdef __CUDACC__
#pragma unroll
#endif
        for (int i = 0; i < kNumbers; ++i) {
            Word(&w)[4] = words[i];
            const Words low = static_cast<Words>(w[0]) * 0xD2511F53u;
            const Words high = static_cast<Words>(w[2]) * 0xCD9E8D57u;
            w[0] = static_cast<Word>(high >> 32) ^ w[1] ^ first;
            w[1] = static_cast<Word>(high);
            w[2] = static_cast<Word>(low >> 32) ^ w[3] ^ second;
            w[3] = static_cast<Word>(low);
        }
        first += 0x9E3779B9u, second += 0xBB67AE85u;
    }
}

}  // namespace elementwise
}  // namespace styleforge
