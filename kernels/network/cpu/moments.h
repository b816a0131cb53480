// The norm that follows a layer. The layer sums mean and variance while it stores its result.
//
// A block sums deviations from its first value in FP32. `finish` merges the blocks in FP64, in
// their order (Chan et al., 1979). The blocks depend only on the layer's size, so the number of
// threads changes no bit.
#pragma once

#include <cmath>

#include "layer.h"

namespace styleforge::network {

class Moments {
 public:
    // A column is a channel of a phase; all channels of one phase precede the next phase.
    Moments(Arena& arena, int64_t blocks, int64_t columns, int64_t phases)
        : blocks_(blocks),
          columns_(columns),
          phases_(phases),
          sums_(arena.take<float>(blocks * 3 * columns)),
          counts_(arena.take<int64_t>(blocks * phases)) {}

    // The sums of a block for one vector of columns. Call `add` for each value, then `keep`.
    struct Sums {
        Vector center, sum, squares;

        STYLEFORGE_INLINE void add(Vector value) {
            const Vector deviation = value - center;
            sum = sum + deviation;
            squares = fma(deviation, deviation, squares);
        }
    };

    void begin(int64_t block) const {
        for (int64_t p = 0; p < phases_; ++p) counts_[block * phases_ + p] = 0;
    }

    // Returns the sums so far. If the phase has none yet, they start at the value `first`.
    STYLEFORGE_INLINE Sums sums(int64_t block, int64_t phase, int64_t column, Vector first) const {
        if (counts_[block * phases_ + phase] == 0) return {first, Vector{}, Vector{}};
        const float* at = sums_ + block * 3 * columns_ + column;
        return {load(at), load(at + columns_), load(at + 2 * columns_)};
    }

    STYLEFORGE_INLINE void keep(int64_t block, int64_t column, const Sums& sums) const {
        float* at = sums_ + block * 3 * columns_ + column;
        store(at, sums.center);
        store(at + columns_, sums.sum);
        store(at + 2 * columns_, sums.squares);
    }

    // Counts `values` more values per column of a phase.
    void count(int64_t block, int64_t phase, int64_t values) const {
        counts_[block * phases_ + phase] += values;
    }

    // Writes the norm as the scale and the shift that the next layer applies.
    void finish(const Layer& layer) const {
        const int64_t channels = columns_ / phases_;
        for (int64_t c = 0; c < channels; ++c) {
            double count = 0, mean = 0, deviations = 0;
            for (int64_t part = 0; part < blocks_ * phases_; ++part) {
                const double n = static_cast<double>(counts_[part]);
                if (n == 0) continue;
                const int64_t block = part / phases_, phase = part % phases_;
                const float* at = sums_ + block * 3 * columns_ + phase * channels + c;
                const double sum = at[columns_], squares = at[2 * columns_];
                const double own = at[0] + sum / n, delta = own - mean;
                const double inside = squares - sum * (sum / n);
                count += n;
                mean += delta * (n / count);
                // Rounding may leave a tiny negative number. NaN must stay NaN.
                deviations += (inside < 0 ? 0 : inside) + delta * delta * ((count - n) * n / count);
            }
            const double scale = layer.gamma[c] / std::sqrt(deviations / count + layer.eps);
            layer.next_scale[c] = static_cast<float>(scale);
            layer.next_shift[c] = static_cast<float>(layer.beta[c] - mean * scale);
        }
    }

 private:
    int64_t blocks_, columns_, phases_;
    float* sums_;      // [blocks, 3, columns]
    int64_t* counts_;  // [blocks, phases]
};

}  // namespace styleforge::network
