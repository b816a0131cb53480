// Describes the kernels of single operations to Python as JSON: struct layouts, the numbering of
// element types, sizes, threads, and C++ names. Plain C++, compiled with CUDA's headers.
#include <string>

#include "include/common/data_type.h"
#include "include/common/describe.h"
#include "include/common/plane_params.cuh"
#include "convolution/params.cuh"
#include "convolution/tiles.cuh"
#include "operations.h"

namespace styleforge {
namespace {

std::string structs() {
    using C = StyleforgeConvolution;
    using L = Convolution;
    using V = PartialMomentsView;
    using A = AffineParameters;
    using P = Planes;
    using X = Cut;
    using M = Margin;
    return object({
        {"StyleforgeConvolution",
         layout(sizeof(C), {OFFSET(C, x), OFFSET(C, packed), OFFSET(C, bias), OFFSET(C, affine),
                            OFFSET(C, y), OFFSET(C, parts), OFFSET(C, x_strides),
                            OFFSET(C, y_strides), OFFSET(C, samples), OFFSET(C, in_channels),
                            OFFSET(C, out_channels), OFFSET(C, height), OFFSET(C, width),
                            OFFSET(C, out_height), OFFSET(C, out_width), OFFSET(C, kernel),
                            OFFSET(C, pad), OFFSET(C, stride_h), OFFSET(C, stride_w),
                            OFFSET(C, border), OFFSET(C, phases), OFFSET(C, type), OFFSET(C, math),
                            OFFSET(C, multiprocessors)})},
        {"Convolution",
         layout(sizeof(L), {OFFSET(L, p), OFFSET(L, taps), OFFSET(L, steps), OFFSET(L, flat),
                            OFFSET(L, vector), OFFSET(L, padded_out), OFFSET(L, tiles)})},
        {"PartialMomentsView",
         layout(sizeof(V), {OFFSET(V, parts), OFFSET(V, of_sample), OFFSET(V, of_channel),
                            OFFSET(V, of_part), OFFSET(V, count)})},
        {"AffineParameters", layout(sizeof(A), {OFFSET(A, gamma), OFFSET(A, beta), OFFSET(A, type),
                                                OFFSET(A, eps)})},
        {"Planes",
         layout(sizeof(P), {OFFSET(P, x), OFFSET(P, residual), OFFSET(P, y), OFFSET(P, affine),
                            OFFSET(P, pixels), OFFSET(P, channels), OFFSET(P, parts),
                            OFFSET(P, relu)})},
        {"Cut", layout(sizeof(X), {OFFSET(X, pixels), OFFSET(X, channels), OFFSET(X, columns),
                                   OFFSET(X, rows), OFFSET(X, chunk), OFFSET(X, chunks)})},
        {"Margin", layout(sizeof(M), {OFFSET(M, height), OFFSET(M, width), OFFSET(M, pad),
                                      OFFSET(M, border)})},
    });
}

// The element types: number and C++ name of each.
#define TYPES(use) \
    use("float32", kFloat, float), use("float16", kHalf, __half), \
        use("bfloat16", kBFloat16, __nv_bfloat16)

// `name` is the C++ name of Tile.
template <typename Tile>
std::string tile(const std::string& name) {
    return object({{"rows", number(Tile::kRows)},
                   {"columns", number(Tile::kColumns)},
                   {"depth", number(Tile::kDepth)},
                   {"threads", number(Tile::kThreads)},
                   {"stored_bytes", number(sizeof(typename Tile::Stored))},
                   {"kernels",
                    object({{"convolve", kernel("styleforge::conv2d_kernel", {name})},
                            {"pack", kernel("styleforge::pack_weight_kernel", {name})}})}});
}

#define TILE(key, ...) {key, tile<__VA_ARGS__>(#__VA_ARGS__)}
#define TILES(key, code, T)                                               \
    {key, object({TILE("few", styleforge::FmaTile<T, 512, 4, 4, 4>),      \
                  TILE("fma32", styleforge::FmaTile<T, 256, 32, 8, 8>),   \
                  TILE("fma64", styleforge::FmaTile<T, 128, 64, 8, 8>),   \
                  TILE("tensor32", styleforge::TensorCoreTile<T, 32, 8>), \
                  TILE("tensor64", styleforge::TensorCoreTile<T, 64, 4>), \
                  TILE("tensor128", styleforge::TensorCoreTile<T, 128, 4>)})}

std::string conv2d() {
    return object({{"source", quoted("conv2d.cu")},
                   {"target", quoted("75")},
                   {"pack_threads", number(kPackThreads)},
                   {"tiles", object({TYPES(TILES)})}});
}

// One kernel per width: as many elements as fit 16 bytes, or one.
template <typename T>
std::string by_width(const std::string& name, const std::string& type) {
    return object({{"vector", kernel(name, {type, number(16 / sizeof(T))})},
                   {"scalar", kernel(name, {type, "1"})}});
}

std::string by_vector(const std::string& name, const std::string& type) {
    return object({{"vector", kernel(name, {type, "true"})},
                   {"scalar", kernel(name, {type, "false"})}});
}

// A plane in the registers of a block or of a cluster of blocks.
std::string whole(const std::string& type, int threads, int elements) {
    const auto of = [&](const char* vector, const char* cluster) {
        return kernel("styleforge::whole_planes",
                      {type, number(threads), number(elements), vector, cluster});
    };
    const std::string alone = object({{"vector", of("true", "false")},
                                      {"scalar", of("false", "false")}});
    const std::string cluster = object({{"vector", of("true", "true")},
                                        {"scalar", of("false", "true")}});
    const bool largest = threads == kPlaneThreads && elements == kPlaneElements;
    return object({{"threads", number(threads)},
                   {"elements", number(elements)},
                   {"kernels", largest ? object({{"block", alone}, {"cluster", cluster}})
                                       : object({{"block", alone}})}});
}

template <typename T>
std::string norm_kernels(const std::string& type) {
    return object({
        {"whole", object({{"small", whole(type, 128, 8)},
                          {"middle", whole(type, 512, 8)},
                          {"large", whole(type, 1024, 16)},
                          {"largest", whole(type, kPlaneThreads, kPlaneElements)}})},
        {"kernels", object({{"parts_of_planes", by_vector("styleforge::parts_of_planes", type)},
                            {"write_planes", by_vector("styleforge::write_planes", type)},
                            {"parts_of_pixels", by_width<T>("styleforge::parts_of_pixels", type)},
                            {"write_pixels", by_width<T>("styleforge::write_pixels", type)}})},
    });
}

std::string instance_norm() {
#define KERNELS(key, code, T) {key, norm_kernels<T>(#T)}
    return object({{"source", quoted("instance_norm.cu")},
                   {"target", quoted("75")},
                   {"most_parts", number(kMostParts)},
                   {"part_size", number(kPartSize)},
                   {"part_threads", number(kPartThreads)},
                   {"write_size", number(kWriteSize)},
                   {"write_threads", number(kWriteThreads)},
                   {"pixel_threads", number(kPixelThreads)},
                   {"merge_threads", number(kMergeThreads)},
                   {"merged_planes", number(kMergedPlanes)},
                   {"types", object({TYPES(KERNELS)})},
                   {"kernels", object({{"merge_planes", quoted("styleforge::merge_planes")}})}});
#undef KERNELS
}

}  // namespace
}  // namespace styleforge

extern "C" const char* styleforge_operations_abi() {
    using namespace styleforge;
#define NUMBER(key, code, T) {key, number(code)}
    static const std::string text = object({{"structs", structs()},
                                            {"types", object({TYPES(NUMBER)})},
                                            {"conv2d", conv2d()},
                                            {"instance_norm", instance_norm()}});
#undef NUMBER
    return text.c_str();
}
