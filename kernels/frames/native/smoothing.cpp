// Smooths a stream of frames on the CPU, by rows, bit for bit like smooth.cu (arithmetic in
// smooth.h), moves paintings with the scene (smoothing/moving.h), enlarges results to displayed
// pictures like frame.cu (smoothing/finishing.h), and cuts people out of them (smoothing/matting.h,
// smoothing/guiding.h, smoothing/mixing.h).
// The memory of each is one block, which Python owns.
#include <cstring>

#include "include/common/exact.h"
#include "smoothing/cells.h"
#include "smoothing/finishing.h"
#include "smoothing/guiding.h"
#include "smoothing/matting.h"
#include "smoothing/mixing.h"
#include "smoothing/moving.h"
#include "smoothing/result.h"

namespace styleforge {
namespace {

// The state carried between frames, besides pictures.
struct Left {
    int side;    // which of two accumulated results is newest
    int missed;  // whether the last frame showed another scene
};

struct Stream {
    Left* left;
    CubicTable* table;
    ColumnTaps taps;
    short* results[2];
    Cells cells;
    Pyramid pyramid;
    int64_t bytes;

    Stream(void* memory, int height, int width) {
        Memory parts(memory);
        const int rows = cells_along(height), columns = cells_along(width);
        left = parts.take<Left>(1), table = parts.take<CubicTable>(1);
        taps = ColumnTaps::in(parts, width);
        for (short*& each : results) each = parts.take<short>(3ll * height * width + kSpare);
        cells = Cells::in(parts, rows, columns);
        pyramid = Pyramid::in(parts, rows, columns);
        bytes = parts.used();
    }
};

void begin(const Stream& s, const uint8_t* result, int height, int width) {
    short* kept = s.results[s.left->side];
    for (int64_t i = 0; i < 3ll * height * width; ++i)
        kept[i] = static_cast<short>(result[i] * kResultOne);
    const Plane& known = s.cells.known[0];
    for (int k = 0; k < 3; ++k)
        for (int row = 0; row < known.rows; ++row)
            std::memcpy(s.cells.known[k].row(row), s.cells.newest[k].row(row),
                        known.columns * sizeof(float));
    s.left->missed = 0;
}

void prepare(const Stream& s, int width) {
    s.left->side = 0;
    s.table->fill();
    s.taps.fill(width, s.pyramid.levels[0].now.columns);
    s.pyramid.fill_taps();
}

// Measures motion and shares, and returns the frame's role in the stream.
Role measure(const Stream& s, float amount, int64_t threads) {
    const Level& level = s.pyramid.levels[0];
    const int rows = level.now.rows, columns = level.now.columns;
    const auto every = [&](auto each) { parallel_rows(rows, columns, threads, each); };
    every([&](int row) {
        gray_row(s.cells.newest, level.now, row), gray_row(s.cells.known, level.known, row);
    });
    find_motion(s.pyramid.levels, s.pyramid.count, threads);
    every([&](int row) { difference_row(s.cells, level, row); });
    every([&](int row) { change_row(s.cells, level, row); });
    std::memset(static_cast<void*>(s.cells.counts), 0, kBins * sizeof(*s.cells.counts));
    const int64_t useful = 1 + 1ll * rows * columns / kBins;
    parallel_for(rows, threads < useful ? threads : useful, [&](int64_t first, int64_t end) {
        around_rows(s.cells, level, static_cast<int>(first), static_cast<int>(end));
    });
    const unsigned count = static_cast<unsigned>(rows * columns);
    const float median = median_change(s.cells, count);
    every([&](int row) { differ_row(s.cells, median, row); });
    std::atomic<int64_t> same{0};
    every([&](int row) {
        same.fetch_add(share_row(s.cells, level, amount, row), std::memory_order_relaxed);
    });
    if (shows_the_same(static_cast<float>(same.load()), count)) return kContinues;
    if (correlation_of(level) >= kSameScene) return kContinues;
    return s.left->missed ? kBegins : kFlash;
}

}  // namespace
}  // namespace styleforge

using namespace styleforge;

// Returns the memory, in bytes, that a stream of pictures of [height, width] needs.
STYLEFORGE_EXPORT int64_t styleforge_smoothing_bytes(int64_t height, int64_t width) {
    return Stream(nullptr, static_cast<int>(height), static_cast<int>(width)).bytes;
}

// Filters the next frame of a stream. `memory` holds its state, which the first frame initializes.
// Pictures are [height, width, 3]; amounts range from 0 for no smoothing to 1 for the most.
STYLEFORGE_EXPORT int styleforge_smooth(int64_t threads, void* memory, const uint8_t* source,
                                        const uint8_t* result, uint8_t* smoothed, int64_t height,
                                        int64_t width, int first, double amount) {
    const int tall = static_cast<int>(height), wide = static_cast<int>(width);
    const Stream s(memory, tall, wide);
    const Level& level = s.pyramid.levels[0];
    const auto every = [&](auto each) {
        parallel_rows(level.now.rows, level.now.columns, threads, each);
    };
    every([&](int row) { newest_row({source, tall, wide}, s.cells.newest, row); });
    if (first) prepare(s, wide);
    const Role role = first ? kBegins : measure(s, static_cast<float>(amount), threads);
    if (role != kContinues) {
        if (role == kBegins)
            begin(s, result, tall, wide);
        else
            s.left->missed = 1;
        std::memcpy(smoothed, result, 3 * height * width);
        return 0;
    }
    s.left->missed = 0;
    every([&](int row) { accumulate_row(s.cells, row); });
    const int side = s.left->side;
    const Accumulated p = {s.results[side], s.results[1 - side], result, smoothed, tall, wide,
                           level.x[1], level.y[1], s.cells.weight, s.taps, s.table};
    parallel_for(tall, threads, [&](int64_t begin, int64_t end) {
        smooth_rows(p, static_cast<int>(begin), static_cast<int>(end));
    });
    s.left->side = 1 - side;
    return 0;
}

// Copies the motion of the newest frame, which must not be the first: [rows, columns, 2], in cells
// to the right and down.
STYLEFORGE_EXPORT int styleforge_smoothing_motion(int64_t, void* memory, float* flow, int64_t height,
                                                  int64_t width) {
    const Stream s(memory, static_cast<int>(height), static_cast<int>(width));
    const Level& level = s.pyramid.levels[0];
    for (int row = 0; row < level.now.rows; ++row)
        for (int column = 0; column < level.now.columns; ++column, flow += 2)
            flow[0] = level.x[1].row(row)[column], flow[1] = level.y[1].row(row)[column];
    return 0;
}

// Returns the memory, in bytes, that moving paintings of [height, width] needs.
STYLEFORGE_EXPORT int64_t styleforge_moving_bytes(int64_t height, int64_t width) {
    return Mover(nullptr, static_cast<int>(height), static_cast<int>(width)).bytes;
}

// Takes a new painting of `source`, both [height, width, 3]. The first one initializes `memory`.
STYLEFORGE_EXPORT int styleforge_moving_painted(int64_t threads, void* memory,
                                                const uint8_t* source, const uint8_t* painting,
                                                int64_t height, int64_t width, int first) {
    const int tall = static_cast<int>(height), wide = static_cast<int>(width);
    const Mover mover(memory, tall, wide);
    if (first) mover.begin(wide);
    Mover::Left& left = *mover.left;
    left = {1 - left.newest, left.paintings < 2 ? left.paintings + 1 : 2, 0};
    const MovablePainting& newest = mover.paintings[left.newest];
    for (int64_t i = 0; i < 3 * height * width; ++i)
        newest.pixels[i] = static_cast<short>(painting[i] * kResultOne);
    mover.gray_cells({source, tall, wide}, newest.known, threads);
    return 0;
}

// Shows the last painting where the scene has moved to in the frame `source`, [height, width, 3].
STYLEFORGE_EXPORT int styleforge_moving_shown(int64_t threads, void* memory, const uint8_t* source,
                                              uint8_t* shown, int64_t height, int64_t width) {
    const int tall = static_cast<int>(height), wide = static_cast<int>(width);
    const Mover mover(memory, tall, wide);
    Mover::Left& left = *mover.left;
    if (++left.shown >= kFadeFrames) left.paintings = 1;
    mover.gray_cells({source, tall, wide}, mover.pyramid.levels[0].now, threads);
    const MovablePainting& newest = mover.paintings[left.newest];
    const MovablePainting* before =
        left.paintings < 2 ? nullptr : &mover.paintings[1 - left.newest];
    mover.follow(newest, threads);
    if (before != nullptr) mover.follow(*before, threads);
    const float share = 1 - static_cast<float>(left.shown) / kFadeFrames;
    const MovedPicture p = {&newest, before, share, shown, tall, wide, mover.taps, mover.table};
    parallel_for(tall, threads, [&](int64_t begin, int64_t end) {
        shown_rows(p, static_cast<int>(begin), static_cast<int>(end));
    });
    return 0;
}

// Returns the memory, in bytes, that enlarging results of [height, width] needs.
STYLEFORGE_EXPORT int64_t styleforge_finishing_bytes(int64_t height, int64_t width) {
    Memory parts(nullptr);
    SmallPlanes::in(parts, static_cast<int>(height), static_cast<int>(width));
    return parts.used();
}

// Makes a displayed picture, [height, width, 3], from a result of a frame. `source` is the result's
// source, from which the frame's detail is found; null adds none.
STYLEFORGE_EXPORT int styleforge_finish(int64_t threads, void* memory, const uint8_t* result,
                                        const uint8_t* source, int64_t small_height,
                                        int64_t small_width, const uint8_t* frame, uint8_t* picture,
                                        int64_t height, int64_t width, int keep_colors,
                                        double strength) {
    const FinishParams p = {frame, result, nullptr, picture,
                            static_cast<int>(height), static_cast<int>(width),
                            static_cast<int>(small_height), static_cast<int>(small_width),
                            static_cast<float>(strength), keep_colors};
    Memory parts(memory);
    const SmallPlanes small = SmallPlanes::in(parts, p.small_height, p.small_width);
    const auto every = [&](auto each) {
        parallel_rows(p.small_height, p.small_width, threads, each);
    };
    every([&](int row) { split_row(result, source, small, row); });
    if (source != nullptr) {
        every([&](int row) { moments_row(small, row); });
        every([&](int row) { slopes_row(small, row); });
    }
    parallel_for(p.height, threads, [&](int64_t begin, int64_t end) {
        finish_rows(p, small, source != nullptr, static_cast<int>(begin), static_cast<int>(end));
    });
    return 0;
}

// Returns the memory, in bytes, that the mattes of a stream of [height, width] need.
STYLEFORGE_EXPORT int64_t styleforge_matting_bytes(int64_t height, int64_t width) {
    return Matting(nullptr, static_cast<int>(height), static_cast<int>(width)).bytes;
}

// Takes an empty scene: colors, [height, width, 3], and noise, [height, width].
STYLEFORGE_EXPORT int styleforge_matting_scene(int64_t threads, void* memory, const float* colors,
                                               const float* noise, int64_t height,
                                               int64_t width) {
    const Matting m(memory, static_cast<int>(height), static_cast<int>(width));
    m.tile_rows(threads, [&](int at) { take_scene_tiles(m, colors, noise, at); });
    return 0;
}

// Reads the next frame of a stream, [height, width, 3], and copies its rough matte, [height, width],
// to `rough`. With `lights`, of three channels, the matte is the difference to the scene in this
// light; else `rough` holds it already.
STYLEFORGE_EXPORT int styleforge_matting_rough(int64_t threads, void* memory, const uint8_t* frame,
                                               const float* lights, float* rough, int64_t height,
                                               int64_t width, int first) {
    const Matting m(memory, static_cast<int>(height), static_cast<int>(width));
    m.taps.fill(m.width, m.plain.columns);
    const bool compares = lights != nullptr;
    float inverse[3] = {};
    if (compares)
        for (int k = 0; k < 3; ++k) inverse[k] = 1 / lights[k];
    m.tile_rows(threads, [&](int at) {
        if (compares)
            see_tiles<true>(m, frame, inverse, at);
        else
            see_tiles<false>(m, frame, inverse, at);
    });
    if (compares)
        parallel_rows(m.plain.rows, m.plain.columns, threads, [&](int at) {
            around_tiles(m, at);
        });
    m.parts(threads, [&](int begin, int end) {
        rough_rows(m, compares, !first, rough, begin, end);
    });
    return 0;
}

// Refines a rough matte of the newest frame to a linear function of its luma; all are
// [height, width].
STYLEFORGE_EXPORT int styleforge_matting_guide(int64_t threads, void* memory, const float* rough,
                                               float* slope, float* base, int64_t height,
                                               int64_t width) {
    const Matting m(memory, static_cast<int>(height), static_cast<int>(width));
    m.parts(threads, [&](int first, int end) {
        guide_rows(m, rough, slope, base, first, end);
    });
    return 0;
}

// Mixes a painting with its frame, both [height, width, 3]: the painting where the matte is 1, or
// where it is 0 if `swapped`. The matte's slope and base are [small_height, small_width].
STYLEFORGE_EXPORT int styleforge_matting_mix(int64_t threads, const uint8_t* painted,
                                             const uint8_t* frame, const float* slope,
                                             const float* base, int64_t small_height,
                                             int64_t small_width, uint8_t* mixed, int64_t height,
                                             int64_t width, int swapped) {
    const auto plane = [&](const float* values) {
        return Plane{const_cast<float*>(values), small_width, static_cast<int>(small_height),
                     static_cast<int>(small_width)};
    };
    const MattedPicture p = {painted, frame, plane(slope), plane(base), mixed,
                             static_cast<int>(height), static_cast<int>(width), swapped};
    parallel_for(p.height, threads, [&](int64_t begin, int64_t end) {
        mix_rows(p, static_cast<int>(begin), static_cast<int>(end));
    });
    return 0;
}
