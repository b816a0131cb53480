// What the kernels of frame.cu do, by the same functions, compiled for the host by a test.
#include "include/frame/finish.h"
#include "include/frame/smooth.h"

#include <algorithm>
#include <vector>

using namespace styleforge;

namespace {

template <typename Use>
void every(int rows, int columns, Use use) {
    for (int row = 0; row < rows; ++row)
        for (int column = 0; column < columns; ++column) use(row, column);
}

void store(uint8_t* pixels, int at, Color c) {
    pixels[at * 3] = static_cast<uint8_t>(c.r);
    pixels[at * 3 + 1] = static_cast<uint8_t>(c.g);
    pixels[at * 3 + 2] = static_cast<uint8_t>(c.b);
}

}  // namespace

extern "C" {

struct ResizeParams {
    const uint8_t* frame;
    uint8_t* small;
    int height, width, small_height, small_width;
};

struct SlopesParams {
    const uint8_t* result;
    const uint8_t* small;
    void* slopes;
    int height, width;
};

void frame_resize(const ResizeParams* p) {
    every(p->small_height, p->small_width, [&](int row, int column) {
        store(p->small, row * p->small_width + column,
              resized({p->frame, p->height, p->width}, row, column, p->small_height,
                      p->small_width));
    });
}

void frame_slopes(const SlopesParams* p) {
    every(p->height, p->width, [&](int row, int column) {
        static_cast<Slope*>(p->slopes)[row * p->width + column] = slope(
            {p->result, p->height, p->width}, {p->small, p->height, p->width}, row, column);
    });
}

void frame_finish(const FinishParams* p) {
    every(p->height, p->width, [&](int row, int column) {
        store(p->picture, row * p->width + column, finished(*p, row, column));
    });
}

void frame_cells(const SmoothParams* p) {
    every(p->rows, p->columns, [&](int row, int column) { measure_cell(*p, row, column); });
}

void frame_still(const SmoothParams* p) {
    const int count = p->rows * p->columns;
    const auto set = [&](float* values, auto value) {
        every(p->rows, p->columns, [&](int row, int column) {
            values[row * p->columns + column] = value(row, column);
        });
    };
    set(p->other, [&](int row, int column) {
        return window_mean(p->change, row, column, p->rows, p->columns);
    });
    std::vector<float> sorted(p->other, p->other + count);
    std::sort(sorted.begin(), sorted.end());
    const float median = (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
    set(p->change, [&](int row, int column) {
        return moved(p->other[row * p->columns + column], median);
    });
    set(p->other, [&](int row, int column) {
        return window_most(p->change, row, column, p->rows, p->columns);
    });
    float sum = 0;
    set(p->change, [&](int row, int column) {
        const float still = 1 - window_mean(p->other, row, column, p->rows, p->columns);
        sum += still;
        return still;
    });
    *p->begins = p->first || sum / count < 1 - kSceneCutFraction;
    for (int cell = 0; cell < count; ++cell) follow(*p, cell, p->change[cell], *p->begins);
}

void frame_smooth(const SmoothParams* p) {
    every(p->height, p->width, [&](int row, int column) { smooth_pixel(*p, row, column); });
}

}  // extern "C"
