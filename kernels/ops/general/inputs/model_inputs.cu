// Conversion of data into the input of a model: embeddings of tokens with positions, pictures as
// normalized tensors, and windows over series with their gradient.
#include "include/common/dtypes.cuh"
#include "include/common/with_type.cuh"
#include "embed.cuh"
#include "pictures.h"
#include "resize.cuh"
#include "sequences.h"
#include "sorting.cuh"
#include "windows.cuh"

namespace styleforge {

constexpr int kMostRun = 64;   // rows of a gradient that a block sums
constexpr int kRowsAhead = 4;  // rows whose loads a thread has in flight
constexpr int kPixels = 1024;  // pixels of rows of a picture that a block holds
constexpr int kBytes = 8;      // bytes of a row that a thread loads at once
constexpr int kRowsInTurn = 4, kMostGroups = 8;  // rows of a group of threads, one after another

}  // namespace styleforge

// out: [rows, width]. Row r uses token r; position r % length is added.
extern "C" __global__ void __launch_bounds__(256)
    styleforge_embed(const long long* tokens, const void* table, const void* position, void* out,
                     long long type, long long rows, long long length, long long width,
                     long long entries, double scale, int vector, long long lanes) {
    using namespace styleforge;
    with_type(type, vector, [&](auto element, auto count) {
        using T = decltype(element);
        constexpr int kCount = decltype(count)::value;
        embed<kCount, T>(table, position, out, rows, length, width, entries,
                         static_cast<float>(scale), static_cast<unsigned>(lanes),
                         [&](unsigned row, bool) {
                             return tokens[row] < 0 ? entries : tokens[row];
                         });
    });
}

// out: [sequences, length, width]: the first tokens of each sequence, followed by `padding`, which
// is negative for zeros. mask: [sequences, length], whether a token exists. `numbers`, of the same
// shape: the row of the table used there.
extern "C" __global__ void __launch_bounds__(256)
    styleforge_embed_sequences(const StyleforgeSequences sequences, const void* table, void* out,
                               unsigned char* mask, long long* numbers, long long type,
                               long long rows, long long length, long long width,
                               long long entries, long long padding, int vector,
                               long long lanes) {
    using namespace styleforge;
    with_type(type, vector, [&](auto element, auto count) {
        using T = decltype(element);
        constexpr int kCount = decltype(count)::value;
        const auto token_of = [&](unsigned row, bool is_first) {
            const unsigned sequence = row / static_cast<unsigned>(length);
            const int place = static_cast<int>(row - sequence * static_cast<unsigned>(length));
            const bool given = place < sequences.sizes[sequence];
            const long long number = given ? sequences.tokens[sequence][place] : padding;
            if (is_first) {
                mask[row] = given;
                numbers[row] = number;
            }
            return given && number < 0 ? entries : number;
        };
        embed<kCount, T>(table, nullptr, out, rows, length, width, entries, 1.f,
                         static_cast<unsigned>(lanes), token_of);
    });
}

// tiles: [2, whole tiles], the sorted keys of each tile of tokens, and the original position of
// each token. Blocks after the tiles' blocks zero `bytes` of `out`.
extern "C" __global__ void __launch_bounds__(256)
    styleforge_sort_tiles(const long long* tokens, unsigned* tiles, void* out, long long count,
                          long long entries, long long bytes) {
    using namespace styleforge;
    alignas(16) __shared__ unsigned keys[kTile];
    const unsigned whole = static_cast<unsigned>((count + kTile - 1) / kTile);
    if (blockIdx.x >= whole) {
        set_to_zero(out, bytes, blockIdx.x - whole);
        return;
    }
    const unsigned first = blockIdx.x * kTile, at = first + threadIdx.x;
    const unsigned key = at < count ? key_of(tokens[at], entries) : kNone;
    keys[threadIdx.x] = key;
    __syncthreads();
    const unsigned place = at < count ? first + place_in_tile(keys, key) : at;
    tiles[place] = key;
    tiles[whole * kTile + place] = at;
}

// sorted: [2, count], the tokens in a stable order and their original positions, from sorted tiles.
// A block processes 32 tokens.
extern "C" __global__ void __launch_bounds__(256, 4)
    styleforge_merge_tiles(const unsigned* tiles, int* sorted, long long count) {
    using namespace styleforge;
    __shared__ unsigned before[kSearchers][32];
    const unsigned whole = static_cast<unsigned>((count + kTile - 1) / kTile);
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const unsigned at = blockIdx.x * 32 + lane, own = at / kTile * kTile, key = tiles[at];
    before[warp][lane] = count_before(tiles, whole, warp, own, key);
    __syncthreads();
    if (warp > 0 || at >= count) return;
    unsigned place = at - own;
#pragma unroll
    for (unsigned i = 0; i < kSearchers; ++i) place += before[i][lane];
    sorted[place] = static_cast<int>(key - 1);
    sorted[count + place] = static_cast<int>(tiles[whole * kTile + at]);
}

// out: [entries, width]; each row is the sum of the rows of `grad` with its number. `sorted`: [2,
// count], these numbers in order, and their original positions. A block processes `run` of them.
// Sums shared with other blocks go to `parts`, [blocks along x, 2, width]: first the one continued
// from the previous block, then the one that begins here. `left_out` and numbers outside the table
// are skipped.
extern "C" __global__ void __launch_bounds__(256)
    styleforge_table_gradient(const void* grad, const int* sorted, void* out, float* parts,
                              long long type, long long count, long long width, long long entries,
                              long long left_out, long long run, int vector) {
    using namespace styleforge;
    const int *const keys = sorted, *const order = sorted + count;
    __shared__ int own_keys[kMostRun];
    __shared__ int own_rows[kMostRun];
    const int first = static_cast<int>(blockIdx.x * run);
    const int held = static_cast<int>(min(run, count - first));
    for (int i = static_cast<int>(threadIdx.x); i < held; i += static_cast<int>(blockDim.x)) {
        const int key = keys[first + i];
        const bool has_row = key >= 0 && key < entries && key != left_out;
        own_keys[i] = has_row ? key : -1;
        own_rows[i] = order[first + i];
    }
    const int before = first > 0 ? keys[first - 1] : -1;
    const int behind = first + held < count ? keys[first + held] : -1;
    __syncthreads();
    with_type(type, vector, [&](auto element, auto columns) {
        using T = decltype(element);
        constexpr int kCount = decltype(columns)::value;
        const long long at = (1ll * blockIdx.y * blockDim.x + threadIdx.x) * kCount;
        if (at >= width) return;
        const T* const from = static_cast<const T*>(grad) + at;
        float sums[kCount] = {};
        int begin = 0;  // of the current sum
        for (int i = 0; i < held; i += kRowsAhead) {
            float rows[kRowsAhead][kCount] = {};
#pragma unroll
            for (int k = 0; k < kRowsAhead; ++k)
                if (i + k < held && own_keys[i + k] >= 0)
                    load<kCount>(rows[k], from + own_rows[i + k] * width);
#pragma unroll
            for (int k = 0; k < kRowsAhead; ++k) {
                if (i + k >= held) break;
                const int key = own_keys[i + k];
                const bool is_last = i + k + 1 == held;
#pragma unroll
                for (int c = 0; c < kCount; ++c) sums[c] += rows[k][c];
                if (!is_last && own_keys[i + k + 1] == key) continue;
                if (key >= 0) {
                    const bool goes_on = begin == 0 && before == key;
                    if (goes_on || (is_last && behind == key))
                        store<kCount>(parts + (2ll * blockIdx.x + !goes_on) * width + at, sums);
                    else
                        store<kCount>(static_cast<T*>(out) + key * width + at, sums);
                }
                begin = i + k + 1;
#pragma unroll
                for (int c = 0; c < kCount; ++c) sums[c] = 0;
            }
        }
    });
}

// Adds up the sums that begin in one block of `styleforge_table_gradient` and continue in others.
extern "C" __global__ void __launch_bounds__(256)
    styleforge_table_gradient_joined(const int* keys, void* out, const float* parts, long long type,
                                     long long count, long long width, long long entries,
                                     long long left_out, long long run, int vector) {
    using namespace styleforge;
    const long long first = blockIdx.x * run;
    if (first + run >= count) return;
    const int key = keys[first + run - 1];
    if (keys[first + run] != key || (first > 0 && keys[first - 1] == key)) return;
    if (key < 0 || key >= entries || key == left_out) return;
    with_type(type, vector, [&](auto element, auto columns) {
        using T = decltype(element);
        constexpr int kCount = decltype(columns)::value;
        const long long at = (1ll * blockIdx.y * blockDim.x + threadIdx.x) * kCount;
        if (at >= width) return;
        float sums[kCount];
        load<kCount>(sums, parts + (2ll * blockIdx.x + 1) * width + at);
        long long block = blockIdx.x + 1;
#pragma unroll 4
        for (; block * run < count && keys[block * run] == key; ++block) {
            float more[kCount];
            load<kCount>(more, parts + 2 * block * width + at);
#pragma unroll
            for (int c = 0; c < kCount; ++c) sums[c] += more[c];
        }
        store<kCount>(static_cast<T*>(out) + key * width + at, sums);
    });
}

// images: bytes [N, H, W, 3]; `mean`, `std` and `out` share a type. `lanes` threads, a power of 2,
// process a row's columns. `vector`: every eighth pixel of a row is aligned for kBytes.
extern "C" __global__ void __launch_bounds__(256, 4)
    styleforge_image_to_tensor(const unsigned char* images, const void* mean, const void* std,
                               void* out, long long type, long long in_height, long long in_width,
                               long long height, long long width, int antialias, int channels_last,
                               long long lanes, int vector, const StyleforgePictures given) {
    using namespace styleforge;
    alignas(16) __shared__ float sums[3 * kPixels];
    __shared__ Taps rows[kRowsInTurn * kMostGroups];
    __shared__ float totals[kMostGroups], normal[6];
    __shared__ int ends[2];
    const int of_row = static_cast<int>(lanes), lane = static_cast<int>(threadIdx.x) % of_row;
    const int group = static_cast<int>(threadIdx.x) / of_row;
    const int groups = static_cast<int>(blockDim.x) / of_row, room = kPixels / groups;
    const int all_rows = static_cast<int>(height), all_columns = static_cast<int>(width);
    const int tiles = (all_columns + of_row - 1) / of_row, tile = blockIdx.x % tiles;
    const int first_row = blockIdx.x / tiles * groups * kRowsInTurn;
    const int box = given.each ? 5 * blockIdx.y : 0, color = given.each ? 12 * blockIdx.y : 0;
    const int top = given.boxes[box], left = given.boxes[box + 1];
    const int column = tile * of_row + lane;
    const Taps across(min(column, all_columns - 1), given.boxes[box + 3], all_columns, antialias);
    if (threadIdx.x < groups * kRowsInTurn)
        rows[threadIdx.x] = Taps(min(first_row + static_cast<int>(threadIdx.x), all_rows - 1),
                                 given.boxes[box + 2], all_rows, antialias);
    if (threadIdx.x < 3) {
        const int channel = static_cast<int>(threadIdx.x), kind = static_cast<int>(type);
        normal[channel] = load_parameter(mean, kind, channel, 0.f);
        normal[3 + channel] = 1 / load_parameter(std, kind, channel, 1.f);
    }
    if (threadIdx.x == 0) ends[0] = left + across.first;
    if (threadIdx.x == of_row - 1) ends[1] = left + across.first + across.count;
    __syncthreads();
    const int begin = ends[0] / 8 * 8, end = ends[1];
    const int of_in = static_cast<int>(in_width) * 3;
    const long long pixels = height * width;
    for (int turn = 0; turn < kRowsInTurn; ++turn) {
        const int number = turn * groups + group, row = first_row + number;
        const Taps down = rows[number];
        const unsigned char* const of_picture =
            images + (blockIdx.y * in_height + top + down.first) * of_in;
        float sum[3] = {}, of_columns = 0;
        for (int from = begin; from < end; from += room) {
            const int held = min(room, end - from);
            float* const own = sums + group * 3 * room;
            if (row < all_rows) {
                const float total =
                    vector ? rows_joined<kBytes>(own, of_picture + from * 3, of_in, down,
                                                 lane * kBytes, 3 * held, of_row * kBytes)
                           : rows_joined<1>(own, of_picture + from * 3, of_in, down, lane, 3 * held,
                                            of_row);
                if (lane == 0) totals[group] = total;
            }
            __syncthreads();
            // of the first tap, among the held pixels
            const int place = left + across.first - from;
            const int last = min(across.count, held - place);
            for (int tap = max(0, -place); tap < last; ++tap) {
                const float weight = across.weight(tap);
                of_columns += weight;
#pragma unroll
                for (int c = 0; c < 3; ++c) sum[c] += weight * own[3 * (place + tap) + c];
            }
            if (from + room >= end) of_columns *= totals[group];
            __syncthreads();
        }
        if (row >= all_rows || column >= all_columns) continue;
        const float unit = 1 / (255 * of_columns);
        float made[3];
#pragma unroll
        for (int c = 0; c < 3; ++c) {
            float value = given.colors[color + 4 * c + 3];
#pragma unroll
            for (int k = 0; k < 3; ++k) value += given.colors[color + 4 * c + k] * (sum[k] * unit);
            made[c] = (fminf(fmaxf(value, 0.f), 1.f) - normal[c]) * normal[3 + c];
        }
        const int to_column = given.boxes[box + 4] ? all_columns - 1 - column : column;
        const long long pixel = row * width + to_column;
        by_type(type, [&](auto element) {
            using T = decltype(element);
            T* const to = static_cast<T*>(out) + blockIdx.y * 3 * pixels +
                          (channels_last ? pixel * 3 : pixel);
#pragma unroll
            for (int c = 0; c < 3; ++c) to[channels_last ? c : c * pixels] = from_float<T>(made[c]);
        });
    }
}

// y: [rows, windows] from x: [rows, length]. A window has `size` groups of `group` elements and
// starts `step` groups after the previous one. A block processes `tile` windows of each of
// `tile_rows` rows and reduces their groups first. `at_once`: elements of a group per load, as in
// with_count.
extern "C" __global__ void __launch_bounds__(256, 4)
    styleforge_windows(const void* x, void* y, long long type, long long rows, long long length,
                       long long windows, long long size, long long step, long long reduction,
                       long long group, long long tile_rows, long long tile, long long at_once) {
    using namespace styleforge;
    __shared__ float held[kGroups];
    const unsigned tiles = static_cast<unsigned>((windows + tile - 1) / tile);
    const unsigned first = blockIdx.x % tiles * static_cast<unsigned>(tile);
    const unsigned row = blockIdx.x / tiles * static_cast<unsigned>(tile_rows);
    const unsigned own = static_cast<unsigned>(min(tile, windows - first));
    const unsigned own_rows = static_cast<unsigned>(min(tile_rows, rows - row));
    const unsigned apart = static_cast<unsigned>(step), of_window = static_cast<unsigned>(size);
    const unsigned of_row = (own - 1) * apart + of_window, elements = static_cast<unsigned>(group);
    const auto run = [&](auto element, auto width, auto result) {
        using T = decltype(element);
        using R = decltype(result);
        constexpr int kCount = decltype(width)::value;
        const auto* const from = static_cast<const AlignedVector<T, kCount>*>(x);
        // A power of 2 of threads processes kSide times as many groups or windows of a row.
        const Spread of_groups((of_row + kSide - 1) / kSide), of_windows((own + kSide - 1) / kSide);
        const unsigned vectors = elements / kCount, apart_by = static_cast<unsigned>(length) / kCount;
        const unsigned begin = row * apart_by + first * apart * vectors;
        for (unsigned r = of_groups.row; r < own_rows; r += of_groups.rows) {
            float* const to = held + r * of_row;
            const unsigned at = begin + r * apart_by;
            if (vectors == 1)
                reduce_groups<R, true>(from, at, to, of_row, vectors, of_groups);
            else
                reduce_groups<R, false>(from, at, to, of_row, vectors, of_groups);
        }
        __syncthreads();
        const float unit = reduction == kMean ? 1.f / static_cast<float>(of_window * elements) : 1.f;
        for (unsigned r = of_windows.row; r < own_rows; r += of_windows.rows)
            reduce_windows<R>(held + r * of_row, static_cast<T*>(y),
                              (row + r) * static_cast<unsigned>(windows) + first, own, of_window,
                              apart, unit, of_windows);
    };
    with_count(type, at_once, [&](auto element, auto width) {
        if (reduction == kMax)
            run(element, width, Largest{});
        else if (reduction == kMin)
            run(element, width, Smallest{});
        else
            run(element, width, Sum{});
    });
}

// The same with one thread per window, for windows that no block can hold.
extern "C" __global__ void __launch_bounds__(256)
    styleforge_large_windows(const void* x, void* y, long long type, long long rows,
                             long long length, long long windows, long long size, long long step,
                             long long reduction) {
    using namespace styleforge;
    const unsigned index = blockIdx.x * blockDim.x + threadIdx.x;
    const long long row = index / static_cast<unsigned>(windows);
    if (row >= rows) return;
    by_type(type, [&](auto element) {
        using T = decltype(element);
        const T* const from =
            static_cast<const T*>(x) + row * length + (index - row * windows) * step;
        float value = reduction == kMax   ? reduced<Largest>(from, size)
                      : reduction == kMin ? reduced<Smallest>(from, size)
                                          : reduced<Sum>(from, size);
        if (reduction == kMean) value /= size;
        static_cast<T*>(y)[index] = from_float<T>(value);
    });
}

// out: [rows, length], the gradient of x for sums of windows times `scale`, with windows as in
// `styleforge_windows`. All elements of a group are in the same windows. `vector`: 16 bytes of a
// row are aligned. A thread processes a vector of each of kSide rows.
extern "C" __global__ void __launch_bounds__(256, 4)
    styleforge_window_sums_gradient(const void* grad, void* out, long long type, long long rows,
                                    long long length, long long windows, long long size,
                                    long long step, double scale, long long group, int vector,
                                    long long at_once) {
    using namespace styleforge;
    const auto run = [&](auto element, auto same, auto width) {
        using T = decltype(element);
        constexpr int kCount = decltype(width)::value, kSame = decltype(same)::value;
        const unsigned of_row = static_cast<unsigned>(length) / kCount;
        const unsigned index = blockIdx.x * blockDim.x + threadIdx.x;
        const unsigned row = index / of_row * kSide, count = static_cast<unsigned>(rows);
        if (row >= count) return;
        const unsigned at = index % of_row * kCount, elements = static_cast<unsigned>(group);
        const unsigned of_window = static_cast<unsigned>(size), apart = static_cast<unsigned>(step);
        const unsigned all = static_cast<unsigned>(windows);
        // The first and the last window that contain a group, and the number of groups until each
        // advances. A division takes as many instructions as all other work of a group.
        unsigned number = at / elements, left = (number + 1) * elements - at;
        unsigned last = number / apart, to_last = apart - number % apart;
        const unsigned over = number < of_window ? 0 : number - of_window;
        unsigned first = number < of_window ? 0 : over / apart + 1;
        unsigned to_first = number < of_window ? of_window - number : apart - over % apart;
        const T* given[kSide];
#pragma unroll
        for (int u = 0; u < kSide; ++u)
            given[u] = static_cast<const T*>(grad) + min(row + u, count - 1) * all;
        T made[kSide];
        const auto add = [&] {
            float sums[kSide] = {};
            const T* from[kSide];
#pragma unroll
            for (int u = 0; u < kSide; ++u) from[u] = given[u] + first;
            const unsigned end = min(last + 1, all), own = end > first ? end - first : 0;
#pragma unroll 4
            for (unsigned i = 0; i < own; ++i)
#pragma unroll
                for (int u = 0; u < kSide; ++u) sums[u] += to_float(from[u][i]);
#pragma unroll
            for (int u = 0; u < kSide; ++u)
                made[u] = from_float<T>(sums[u] * static_cast<float>(scale));
        };
        add();
        AlignedVector<T, kCount> vectors[kSide];
#pragma unroll
        for (int k = 0; k < kCount; k += kSame) {
            if (k > 0 && left == 0) {
                left = elements;
                if (--to_last == 0) ++last, to_last = apart;
                if (--to_first == 0) ++first, to_first = apart;
                add();
            }
            left -= kSame;
#pragma unroll
            for (int u = 0; u < kSide; ++u)
#pragma unroll
                for (int c = 0; c < kSame; ++c) vectors[u].element[k + c] = made[u];
        }
        auto* const to = static_cast<AlignedVector<T, kCount>*>(out) + (row * of_row + index % of_row);
#pragma unroll
        for (int u = 0; u < kSide; ++u)
            if (row + u < count) to[u * of_row] = vectors[u];
    };
    with_count(type, at_once, [&](auto element, auto same) {
        if (vector)
            run(element, same, std::integral_constant<int, kVectorSize<decltype(element)>>{});
        else
            run(element, same, same);
    });
}

// out: [rows, length], the gradient of x for largest or smallest values of windows. The elements
// with that value share its gradient; every element gathers from the windows that contain it.
extern "C" __global__ void __launch_bounds__(256)
    styleforge_windows_gradient(const void* grad, const void* x, const void* y, void* out,
                                long long type, long long rows, long long length,
                                long long windows, long long size, long long step) {
    using namespace styleforge;
    const unsigned index = blockIdx.x * blockDim.x + threadIdx.x;
    const long long row = index / static_cast<unsigned>(length);
    if (row >= rows) return;
    const unsigned at = static_cast<unsigned>(index - row * length);
    const unsigned whole = static_cast<unsigned>(size), apart = static_cast<unsigned>(step);
    const long long first = at < whole ? 0 : (at - whole) / apart + 1;
    const long long last = min(static_cast<long long>(at / apart), windows - 1);
    by_type(type, [&](auto element) {
        using T = decltype(element);
        const T* const given = static_cast<const T*>(grad) + row * windows;
        const T* const of_row = static_cast<const T*>(x) + row * length;
        const T* const made = static_cast<const T*>(y) + row * windows;
        float sum = 0;
        for (long long window = first; window <= last; ++window) {
            const float chosen = to_float(made[window]);
            if (to_float(of_row[at]) != chosen) continue;
            int equal = 0;
            for (long long k = 0; k < size; ++k)
                equal += to_float(of_row[window * step + k]) == chosen;
            sum += to_float(given[window]) / equal;
        }
        static_cast<T*>(out)[index] = from_float<T>(sum);
    });
}
