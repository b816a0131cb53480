// Planes of numbers whose rows extend beyond both ends, so that windows need no special case at
// edges, and the memory that holds them.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "frames/native/sampling.h"
#include "include/cpu/parallel.h"

namespace styleforge {

constexpr int kMargin = 4;             // values beyond each end of a row
constexpr int kBlock = 128;            // columns computed at once, in buffers on the stack
constexpr int64_t kLeastWork = 2048;   // values of a plane that make a second thread worthwhile

inline int block_of(int columns, int begin) {
    return columns - begin < kBlock ? columns - begin : kBlock;
}

struct Plane {
    float* values;
    int64_t stride;
    int rows, columns;

    float* row(int at) const { return values + at * stride; }

    // Fills the margins of a row: mirrors the picture, or repeats its edge.
    void mirror(int at) const {
        float* values = row(at);
        for (int i = 1; i <= kMargin; ++i) {
            values[-i] = values[reflected_often(-i, columns)];
            values[columns - 1 + i] = values[reflected_often(columns - 1 + i, columns)];
        }
    }
    void extend(int at) const {
        float* values = row(at);
        for (int i = 1; i <= kMargin; ++i)
            values[-i] = values[0], values[columns - 1 + i] = values[columns - 1];
    }
};

// Allocates parts of a block of memory. With a null block, it only computes the required size.
class Memory {
  public:
    explicit Memory(void* memory) : memory_(static_cast<char*>(memory)) {}

    template <typename T>
    T* take(int64_t count) {
        char* part = memory_ == nullptr ? nullptr : memory_ + used_;
        used_ += (count * static_cast<int64_t>(sizeof(T)) + 63) / 64 * 64;
        return reinterpret_cast<T*>(part);
    }

    Plane plane(int rows, int columns) {
        const int64_t stride = (columns + 2 * kMargin + 15) / 16 * 16;
        float* values = take<float>(rows * stride);
        return {values == nullptr ? nullptr : values + kMargin, stride, rows, columns};
    }

    int64_t used() const { return used_; }

  private:
    char* memory_;
    int64_t used_ = 0;
};

// Calls `row(at)` for every row, on several threads if there is enough work.
template <typename F>
void parallel_rows(int rows, int columns, int64_t threads, const F& row) {
    const int64_t useful = 1 + 1ll * rows * columns / kLeastWork;
    parallel_for(rows, threads < useful ? threads : useful, [&](int64_t begin, int64_t end) {
        for (int64_t at = begin; at < end; ++at) row(static_cast<int>(at));
    });
}

}  // namespace styleforge
