// The terms that are summed over elements, one functor each, and their derivatives.
#pragma once

#include <math.h>

#include "ops/general/elementwise/functors.h"

namespace styleforge {
namespace fusion {

struct Square {
    static STYLEFORGE_ELEMENT float value(float x) { return x * x; }
    static STYLEFORGE_ELEMENT float slope(float x) { return 2.f * x; }
};

struct Magnitude {
    static STYLEFORGE_ELEMENT float value(float x) { return fabsf(x); }
    static STYLEFORGE_ELEMENT float slope(float x) {
        return x > 0.f ? 1.f : x < 0.f ? -1.f : x;  // 0 at 0; NaN passes through
    }
};

// Calls `use` with the functor numbered as in api.py.
template <typename Use>
STYLEFORGE_ELEMENT void with_term(long long number, const Use& use) {
    if (number == 1)
        use(Magnitude{});
    else
        use(Square{});
}

}  // namespace fusion
}  // namespace styleforge
