// Transforms the 3x3 filters of convolutions in FP64 and rounds them once. A style that is loaded,
// or a mix of styles, is transformed in about the time that it takes to write the result.
#pragma once

#include "include/cpu/parallel.h"
#include "vectors.h"

// launchers.py mirrors this struct.
struct StyleforgeNetworkFilters {
    int64_t outputs, inputs;  // channels; outputs are a multiple of kChannels
    int64_t phases;           // of the result in each dimension: 2 for an enlargement, otherwise 1
    int64_t side;             // of a transformed filter
    int64_t threads;          // maximum
    const float* filters;     // [outputs, inputs, 3, 3]
    const double* rows;       // [phases, side, 3], the transform of three taps
    float* result;            // [side^2] positions, each [phases^2 * outputs] columns by panels
};

namespace styleforge::network {

class Weights {
    static constexpr int kTaps = 3, kMost = 7;  // taps; the largest transformed side
    static constexpr int kDoubles = kLanes / 2;
    static constexpr int64_t kFilters = 128;  // of a job, so that they stay in the L1 cache
    static constexpr int64_t kDeep = kFilters / kPanel;
    typedef double Doubles __attribute__((vector_size(kDoubles * sizeof(double))));

 public:
    explicit Weights(const StyleforgeNetworkFilters& filters)
        : filters_(filters),
          columns_(filters.phases * filters.phases * filters.outputs),
          panels_((columns_ + kPanel - 1) / kPanel),
          parts_((filters.inputs + kDeep - 1) / kDeep) {}

    void run() const {
        const auto work = [this](int64_t begin, int64_t end) {
            for (int64_t job = begin; job < end; ++job)
                run_job(job / parts_ * kPanel, job % parts_ * kDeep);
        };
        parallel_for(panels_ * parts_, filters_.threads, work, 8);
    }

 private:
    // Transforms some inputs of a panel of columns. The results of a position are consecutive, so
    // that memory is written in long runs.
    void run_job(int64_t column, int64_t input) const {
        const int64_t wide = least(kPanel, columns_ - column);
        const int64_t deep = least(kDeep, filters_.inputs - input);
        const int64_t side = filters_.side, positions = side * side, inputs = filters_.inputs;
        double taps[kTaps * kTaps][kFilters];
        float results[kMost * kMost][kFilters];
        for (int64_t k = 0; k < wide; ++k) {
            const int64_t output = (column + k) % filters_.outputs;
            const float* from = filters_.filters + (output * inputs + input) * kTaps * kTaps;
            for (int64_t c = 0; c < deep; ++c)
                for (int tap = 0; tap < kTaps * kTaps; ++tap)
                    taps[tap][c * wide + k] = from[c * kTaps * kTaps + tap];
        }
        for (int64_t k = 0; k < wide; k += kDoubles) {
            const int64_t phase = (column + k) / filters_.outputs;
            const double* down = filters_.rows + phase / filters_.phases * side * kTaps;
            const double* across = filters_.rows + phase % filters_.phases * side * kTaps;
            for (int64_t c = 0; c < deep; ++c)
                transform(down, across, &taps[0][c * wide + k], &results[0][c * wide + k]);
        }
        for (int64_t p = 0; p < positions; ++p)
            std::memcpy(filters_.result + (p * columns_ + column) * inputs + input * wide,
                        results[p], static_cast<size_t>(deep * wide) * sizeof(float));
    }

    // Transforms a vector of filters, of which taps and results have the stride kFilters.
    STYLEFORGE_INLINE void transform(const double* down, const double* across, const double* taps,
                                     float* to) const {
        const int64_t side = filters_.side;
        Doubles tap[kTaps][kTaps], half[kMost][kTaps];
        for (int i = 0; i < kTaps; ++i)
            for (int j = 0; j < kTaps; ++j)
                std::memcpy(&tap[i][j], taps + (i * kTaps + j) * kFilters, sizeof(Doubles));
        for (int64_t i = 0; i < side; ++i)
            for (int j = 0; j < kTaps; ++j)
                half[i][j] = sum(down + i * kTaps, tap[0][j], tap[1][j], tap[2][j]);
        for (int64_t i = 0; i < side; ++i)
            for (int64_t j = 0; j < side; ++j) {
                const Doubles exact = sum(across + j * kTaps, half[i][0], half[i][1], half[i][2]);
                store(to + (i * side + j) * kFilters,
                      __builtin_convertvector(exact, Floats<kDoubles>));
            }
    }

    static STYLEFORGE_INLINE Doubles sum(const double* row, Doubles a, Doubles b, Doubles c) {
        return row[0] * a + row[1] * b + row[2] * c;
    }

    static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

    const StyleforgeNetworkFilters& filters_;
    int64_t columns_, panels_;
    int64_t parts_;  // of the inputs
};

}  // namespace styleforge::network
