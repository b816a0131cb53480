// The random numbers of elementwise dropout: Philox4x32-10 (Salmon et al., 2011). Element i has
// word i % 4 of the counter i / 4; kernels/ops/transformer_reference/philox.py computes the same.
#pragma once

#include "functors.h"

namespace styleforge {
namespace elementwise {

using Word = unsigned int;
using Words = unsigned long long;

STYLEFORGE_ELEMENT void philox(Words number, const long long* state, Word (&words)[4]) {
    Word a = static_cast<Word>(number), b = static_cast<Word>(number >> 32), c = 0;
    Word d = static_cast<Word>(state[1]);
    Word first = static_cast<Word>(state[0]), second = static_cast<Word>(state[0] >> 32);
#ifdef __CUDACC__
#pragma unroll
#endif
    for (int round = 0; round < 10; ++round) {
        const Words low = static_cast<Words>(a) * 0xD2511F53u;
        const Words high = static_cast<Words>(c) * 0xCD9E8D57u;
        a = static_cast<Word>(high >> 32) ^ b ^ first;
        b = static_cast<Word>(high);
        c = static_cast<Word>(low >> 32) ^ d ^ second;
        d = static_cast<Word>(low);
        first += 0x9E3779B9u, second += 0xBB67AE85u;
    }
    words[0] = a, words[1] = b, words[2] = c, words[3] = d;
}

}  // namespace elementwise
}  // namespace styleforge
