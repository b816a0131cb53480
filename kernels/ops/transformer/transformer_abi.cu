// Describes the transformer kernels to Python as JSON: struct layouts, sizes, threads, shared
// memory, and C++ names. Plain C++, compiled with CUDA's headers.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <string>

#include "attention/shapes.h"
#include "include/common/describe.h"
#include "transformer.h"

namespace styleforge {
namespace {

using namespace attention;

std::string structs() {
    using A = StyleforgeAttention;
    using B = StyleforgeAttentionBackward;
    using E = StyleforgeEpilogue;
    using M = TensorMaps;
    return object({
        {"StyleforgeAttention",
         layout(sizeof(A),
                {OFFSET(A, q), OFFSET(A, k), OFFSET(A, v), OFFSET(A, mask), OFFSET(A, state),
                 OFFSET(A, out), OFFSET(A, lse), OFFSET(A, q_strides), OFFSET(A, k_strides),
                 OFFSET(A, v_strides), OFFSET(A, out_strides), OFFSET(A, mask_strides),
                 OFFSET(A, samples), OFFSET(A, heads), OFFSET(A, queries), OFFSET(A, keys),
                 OFFSET(A, columns), OFFSET(A, causal), OFFSET(A, scale), OFFSET(A, dropped),
                 OFFSET(A, kept_scale)})},
        {"StyleforgeAttentionBackward",
         layout(sizeof(B), {OFFSET(B, forward), OFFSET(B, grad_out), OFFSET(B, delta),
                            OFFSET(B, grad_q), OFFSET(B, grad_k), OFFSET(B, grad_v)})},
        {"StyleforgeEpilogue",
         layout(sizeof(E), {OFFSET(E, x), OFFSET(E, bias), OFFSET(E, residual), OFFSET(E, y),
                            OFFSET(E, rows), OFFSET(E, columns), OFFSET(E, tanh)})},
        {"TensorMaps", layout(sizeof(M), {OFFSET(M, q), OFFSET(M, k), OFFSET(M, v)})},
    });
}

// The element types by name, with the result of `of` by head size.
#define TYPES(use) use("float32", float), use("float16", __half), use("bfloat16", __nv_bfloat16)
#define HALVES(use) use("float16", __half), use("bfloat16", __nv_bfloat16)
#define HEADS(use, T) object({use("32", T, 32), use("64", T, 64), use("128", T, 128)})
#define FLAGGED(use, T, flag) \
    object({use("32", T, 32, flag), use("64", T, 64, flag), use("128", T, 128, flag)})

std::string launched(int queries, int threads, size_t shared, const std::string& kernel) {
    return object({{"queries", number(queries)},
                   {"threads", number(threads)},
                   {"shared", number(shared)},
                   {"kernels", object({{"forward", kernel}})}});
}

std::string in_namespace(const char* name) { return std::string("styleforge::attention::") + name; }

std::string first_rung() {
#define V1(key, T)                                                                             \
    {key, object({{"any", launched(kV1Queries, kV1Threads, 0,                                  \
                                   kernel(in_namespace("attention_v1"), {#T}))}})}
    return object({{"source", quoted("attention.cu")},
                   {"target", quoted("75")},
                   {"most_columns", number(kMostColumns)},
                   {"types", object({TYPES(V1)})}});
}

std::string second_rung() {
#define V2_HEAD(key, T, D)                                                                    \
    {key, launched(V2Shape<D>::kQueries, V2Shape<D>::kThreads, V2Shape<D>::kSharedBytes,      \
                   kernel(in_namespace("attention_v2"), {#T, #D}))}
#define V2(key, T) {key, HEADS(V2_HEAD, T)}
    return object({{"source", quoted("attention_v2.cu")},
                   {"target", quoted("75")},
                   {"types", object({TYPES(V2)})}});
}

std::string by_fma() {
#define FMA_HEAD(key, T, D)                                                                   \
    {key, launched(FmaShape<D>::kRows, FmaShape<D>::kThreads, FmaShape<D>::kSharedBytes,      \
                   kernel(in_namespace("attention_fma"), {#D}))}
#define FMA(key, T) {key, HEADS(FMA_HEAD, T)}
    return object({{"source", quoted("attention_v3_fp32.cu")},
                   {"target", quoted("75")},
                   {"types", object({FMA("float32", float)})}});
}

// With a mask or dropout, or without.
std::string by_mma() {
#define MMA_HEAD(key, T, D, general)                                                          \
    {key, launched(MmaShape<D, general>::kQueries, MmaShape<D, general>::kThreads,            \
                   MmaShape<D, general>::kSharedBytes,                                        \
                   kernel(in_namespace("attention_mma"), {#T, #D, #general}))}
#define MMA(key, T)                                                                           \
    {key, object({{"plain", FLAGGED(MMA_HEAD, T, false)}, {"general", FLAGGED(MMA_HEAD, T, true)}})}
    return object({{"source", quoted("attention_v3.cu")},
                   {"target", quoted("80")},
                   {"types", object({HALVES(MMA)})}});
}

// With separate queries per warpgroup, or the same for both.
std::string on_hopper() {
#define SM90_HEAD(key, T, D, split)                                                           \
    {key, launched(Sm90Shape<D, split>::kQueries, Sm90Shape<D, split>::kThreads,              \
                   Sm90Shape<D, split>::kSharedBytes,                                         \
                   kernel(in_namespace("attention_sm90"), {#T, #D, #split}))}
#define SM90(key, T)                                                                          \
    {key, object({{"whole", FLAGGED(SM90_HEAD, T, false)},                                    \
                  {"split", object({SM90_HEAD("32", T, 32, true), SM90_HEAD("64", T, 64, true)})}})}
    return object({{"source", quoted("attention_v3_sm90.cu")},
                   {"target", quoted("90a")},
                   {"keys", number(Sm90Shape<64, false>::kKeys)},
                   {"types", object({HALVES(SM90)})}});
}

std::string backward() {
#define BACKWARD_HEAD(key, T, D)                                                              \
    {key, object({{"rows", number(BackwardShape<D>::kOwn)},                                   \
                  {"threads", number(BackwardShape<D>::kThreads)},                            \
                  {"shared", number(BackwardShape<D>::kSharedBytes)},                         \
                  {"kernels",                                                                 \
                   object({{"keys", kernel(in_namespace("attention_backward_keys"), {#T, #D})}, \
                           {"queries",                                                        \
                            kernel(in_namespace("attention_backward_queries"), {#T, #D})}})}})}
#define BACKWARD(key, T) {key, HEADS(BACKWARD_HEAD, T)}
#define DELTA(key, T) {key, kernel(in_namespace("attention_delta"), {#T})}
    return object({{"source", quoted("attention_v3_backward.cu")},
                   {"target", quoted("80")},
                   {"delta_rows", number(4)},
                   {"types", object({HALVES(BACKWARD)})},
                   {"kernels", object({HALVES(DELTA)})}});
}

// As many elements at a time as fit 16 bytes, or one.
template <typename T>
std::string by_width(const std::string& name, const std::string& type) {
    return object({{"vector", kernel(name, {type, number(16 / sizeof(T))})},
                   {"scalar", kernel(name, {type, "1"})}});
}

#define EPILOGUE(key, T) {key, by_width<T>(name, #T)}
std::string epilogue(const char* source, const std::string& kernels) {
    return object({{"source", quoted(source)},
                   {"target", quoted("75")},
                   {"threads", number(kEpilogueThreads)},
                   {"kernels", kernels}});
}

std::string bias_and_gelu() {
    const std::string name = "styleforge::bias_gelu";
    return epilogue("ffn.cu", object({TYPES(EPILOGUE)}));
}

std::string bias_and_residual() {
    const std::string name = "styleforge::bias_residual";
    return epilogue("output_projection.cu", object({HALVES(EPILOGUE)}));
}

}  // namespace
}  // namespace styleforge

extern "C" const char* styleforge_transformer_abi() {
    using namespace styleforge;
    static const std::string text =
        object({{"structs", structs()},
                {"v1", first_rung()},
                {"v2", second_rung()},
                {"v3_fp32", by_fma()},
                {"v3", by_mma()},
                {"v3_sm90", on_hopper()},
                {"v3_backward", backward()},
                {"ffn", bias_and_gelu()},
                {"output_projection", bias_and_residual()}});
    return text.c_str();
}
