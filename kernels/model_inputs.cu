// What turns data into the input of a model: embeddings of tokens with positions, pictures as
// normalized tensors, and windows over series with their gradient.
#include <math.h>

#include "include/common/dtypes.cuh"

namespace styleforge {

// `use` is called with an element of the type of this number.
template <typename Use>
__device__ __forceinline__ void by_type(long long type, const Use& use) {
    if (type == kHalf)
        use(__half{});
    else if (type == kBFloat16)
        use(__nv_bfloat16{});
    else
        use(0.f);
}

template <int kCount>
struct Count {
    static constexpr int value = kCount;
};

// kCount elements of a row of a table, times `scale`, plus those of a position. `token` is negative
// for a row of zeros; of one that is not in the table, the result is NaN.
template <int kCount, typename T>
__device__ __forceinline__ void embed(const T* table, const T* position, T* out, long long token,
                                      long long tokens, float scale) {
    float values[kCount] = {}, added[kCount] = {};
    if (token >= 0 && token < tokens) load<kCount>(values, table);
    if (position != nullptr) load<kCount>(added, position);
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
        values[k] = values[k] * scale + added[k];
        if (token >= tokens) values[k] = nanf("");
    }
    store<kCount>(out, values);
}

// The pixels of a row or a column that an output pixel is a weighted mean of, as PyTorch's
// interpolate(antialias=True) has them, or without that. Places are exact, in units of half an
// output pixel; sizes are below 2^15.
struct Taps {
    int first, count;
    float offset, inverse;

    __device__ __forceinline__ Taps(int at, int in, int out, int antialias) {
        const unsigned unit = 2 * out, middle = (2 * at + 1) * in;
        const unsigned reach = antialias && in > out ? 2 * in : unit;
        first = middle + out > reach ? (middle + out - reach) / unit : 0;
        count = min(static_cast<int>((middle + out + reach) / unit), in) - first;
        offset = static_cast<float>(static_cast<int>(unit * first + out - middle)) / unit;
        inverse = static_cast<float>(unit) / reach;
    }
    __device__ __forceinline__ float weight(int tap) const {
        return fmaxf(1 - fabsf((tap + offset) * inverse), 0.f);
    }
};

struct Sum {
    float value = 0;
    __device__ __forceinline__ void take(float x) { value += x; }
};
struct Largest {
    float value = -INFINITY;
    __device__ __forceinline__ void take(float x) { value = x > value || x != x ? x : value; }
};
struct Smallest {
    float value = INFINITY;
    __device__ __forceinline__ void take(float x) { value = x < value || x != x ? x : value; }
};

enum Reduction { kSum = 0, kMean = 1, kMax = 2, kMin = 3 };

template <typename R, typename T>
__device__ __forceinline__ float reduced(const T* x, long long size) {
    R result;
    for (long long k = 0; k < size; ++k) result.take(to_float(x[k]));
    return result.value;
}

}  // namespace styleforge

// out: [rows of `length`, width]. Row r has token r; with `offsets`, where sequences begin and the
// last one ends, row r is position r % length of sequence r / length, or `padding` behind its end.
extern "C" __global__ void __launch_bounds__(256)
    styleforge_embed(const long long* tokens, const long long* offsets, const void* table,
                     const void* position, void* out, long long type, long long rows,
                     long long length, long long width, long long entries, long long padding,
                     double scale, int vector) {
    using namespace styleforge;
    by_type(type, [&](auto element) {
        using T = decltype(element);
        const auto run = [&](auto count) {
            constexpr int kCount = decltype(count)::value;
            const unsigned of_row = static_cast<unsigned>(width) / kCount;
            const unsigned index = blockIdx.x * blockDim.x + threadIdx.x;
            const long long row = index / of_row, at = index % of_row * kCount;
            if (row >= rows) return;
            const unsigned sequence = static_cast<unsigned>(row) / static_cast<unsigned>(length);
            const long long place = row - sequence * length;
            const bool given =
                offsets == nullptr || place < offsets[sequence + 1] - offsets[sequence];
            long long token = padding;
            if (given) token = tokens[offsets == nullptr ? row : offsets[sequence] + place];
            if (given && token < 0) token = entries;
            const T* const of_table = static_cast<const T*>(table) + token * width + at;
            const T* const added = static_cast<const T*>(position);
            embed<kCount>(of_table, added == nullptr ? added : added + place * width + at,
                          static_cast<T*>(out) + row * width + at, token, entries,
                          static_cast<float>(scale));
        };
        if (vector)
            run(Count<kVectorSize<T>>{});
        else
            run(Count<1>{});
    });
}

// images: bytes [N, H, W, 3]; `boxes`: of each the first row, the first column, the height, the
// width and whether it is mirrored; `colors`: of each a matrix [3, 4] that is applied to red,
// green, blue and 1, of values from 0 to 1; `normal`: by channel what is subtracted, and factors.
extern "C" __global__ void __launch_bounds__(256)
    styleforge_image_to_tensor(const unsigned char* images, const int* boxes, const float* colors,
                               const float* normal, void* out, long long type, long long count,
                               long long in_height, long long in_width, long long height,
                               long long width, int antialias, int channels_last) {
    using namespace styleforge;
    const long long pixels = height * width, index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index >= count * pixels) return;
    const long long image = static_cast<unsigned>(index) / static_cast<unsigned>(pixels);
    const int pixel = static_cast<int>(index - image * pixels);
    const int* const box = boxes + image * 5;
    const int row = pixel / static_cast<int>(width);
    int column = pixel - row * static_cast<int>(width);
    if (box[4]) column = static_cast<int>(width) - 1 - column;
    const Taps down(row, box[2], static_cast<int>(height), antialias);
    const Taps across(column, box[3], static_cast<int>(width), antialias);
    float sum[3] = {}, of_rows = 0, of_columns = 0;
    for (int i = 0; i < down.count; ++i) {
        float line[3] = {};
        of_columns = 0;
        const unsigned char* from =
            images +
            ((image * in_height + box[0] + down.first + i) * in_width + box[1] + across.first) * 3;
        for (int j = 0; j < across.count; ++j, from += 3) {
            const float weight = across.weight(j);
            of_columns += weight;
#pragma unroll
            for (int c = 0; c < 3; ++c) line[c] += weight * from[c];
        }
        const float weight = down.weight(i);
        of_rows += weight;
#pragma unroll
        for (int c = 0; c < 3; ++c) sum[c] += weight * line[c];
    }
    const float unit = 1 / (255 * of_rows * of_columns);
    const float* const color = colors + image * 12;
    float made[3];
#pragma unroll
    for (int c = 0; c < 3; ++c) {
        float value = color[4 * c + 3];
#pragma unroll
        for (int k = 0; k < 3; ++k) value += color[4 * c + k] * (sum[k] * unit);
        made[c] = (fminf(fmaxf(value, 0.f), 1.f) - normal[c]) * normal[3 + c];
    }
    by_type(type, [&](auto element) {
        using T = decltype(element);
        T* const to = static_cast<T*>(out) +
                      (channels_last ? index * 3 : image * 3 * pixels + pixel);
#pragma unroll
        for (int c = 0; c < 3; ++c) to[channels_last ? c : c * pixels] = from_float<T>(made[c]);
    });
}

// y: [rows, windows] of x: [rows, length].
extern "C" __global__ void __launch_bounds__(256)
    styleforge_windows(const void* x, void* y, long long type, long long rows, long long length,
                       long long windows, long long size, long long step, long long reduction) {
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

// out: [rows, length], the gradient of x; every element gathers from the windows that it is in. Of
// a largest or smallest value the elements that have it share the gradient.
extern "C" __global__ void __launch_bounds__(256)
    styleforge_windows_gradient(const void* grad, const void* x, const void* y, void* out,
                                long long type, long long rows, long long length,
                                long long windows, long long size, long long step,
                                long long reduction) {
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
            if (reduction == kSum || reduction == kMean) {
                sum += to_float(given[window]);
                continue;
            }
            const float chosen = to_float(made[window]);
            if (to_float(of_row[at]) != chosen) continue;
            int equal = 0;
            for (long long k = 0; k < size; ++k)
                equal += to_float(of_row[window * step + k]) == chosen;
            sum += to_float(given[window]) / equal;
        }
        if (reduction == kMean) sum /= size;
        static_cast<T*>(out)[index] = from_float<T>(sum);
    });
}
