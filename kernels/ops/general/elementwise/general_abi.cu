// Describes the kernels of operations for any model to Python as JSON: struct layouts, threads, and
// C++ names. Plain C++, compiled with CUDA's headers.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <string>

#include "include/common/describe.h"
#include "columns.h"
#include "functors.h"
#include "general.h"

namespace styleforge {
namespace {

std::string structs() {
    using E = StyleforgeElements;
    using C = StyleforgeColumns;
    using S = StyleforgeTotals;
    return object({{"StyleforgeElements",
                    layout(sizeof(E),
                           {OFFSET(E, inputs), OFFSET(E, outputs), OFFSET(E, state),
                            OFFSET(E, count), OFFSET(E, sizes), OFFSET(E, strides),
                            OFFSET(E, kept_scale), OFFSET(E, dropped), OFFSET(E, dims),
                            OFFSET(E, function), OFFSET(E, backward), OFFSET(E, type),
                            OFFSET(E, wide)})},
                   {"StyleforgeColumns",
                    layout(sizeof(C), {OFFSET(C, call), OFFSET(C, sums), OFFSET(C, chunk)})},
                   {"StyleforgeTotals",
                    layout(sizeof(S), {OFFSET(S, sums), OFFSET(S, totals), OFFSET(S, chunks),
                                       OFFSET(S, columns), OFFSET(S, numbers)})}});
}

// As many elements at a time as fit 16 bytes, or one.
std::string by_width(const char* functor, const char* type, size_t size, const char* backward) {
    const std::string name = "styleforge::elementwise::elementwise_pass";
    const std::string of = std::string("styleforge::elementwise::") + functor;
    return object({{"vector", kernel(name, {of, type, backward, number(16 / size)})},
                   {"scalar", kernel(name, {of, type, backward, "1"})}});
}

// With sums over rows, if such kernels exist.
template <typename Functor>
std::string by_columns(const char* functor, const char* type, size_t size) {
    if (Functor::kInputs < 2 || Functor::kDrops || size > sizeof(float)) return "";
    return kernel("styleforge::elementwise::elementwise_columns",
                  {std::string("styleforge::elementwise::") + functor, type, number(16 / size)});
}

template <typename Functor>
std::string by_direction(const char* functor, const char* type, size_t size) {
    return object({{"forward", by_width(functor, type, size, "false")},
                   {"backward", by_width(functor, type, size, "true")},
                   {"columns", by_columns<Functor>(functor, type, size)}});
}

#define FUNCTION(name, Functor) {#name, by_direction<elementwise::Functor>(#Functor, type, size)},
std::string by_function(const char* type, size_t size) {
    return object({STYLEFORGE_ELEMENTWISE(FUNCTION)});
}

#define ROWS(name, Functor) \
    {#name, number(elementwise::Functor::kAddsBias ? kBiasInFlight : 0)},
std::string rows_in_flight() { return object({STYLEFORGE_ELEMENTWISE(ROWS)}); }

std::string totals(const char* type) {
    return kernel("styleforge::elementwise::elementwise_totals", {type});
}

std::string elementwise_passes() {
    return object(
        {{"source", quoted("elementwise.cu")},
         {"target", quoted("75")},
         {"threads", number(kElementThreads)},
         {"blocks", object({{"forward", number(kElementBlocks)},
                            {"backward", number(kElementBlocksBackward)}})},
         {"in_flight", object({{"float32", number(kInFlight<float>)},
                               {"float16", number(kInFlight<__half>)},
                               {"bfloat16", number(kInFlight<__nv_bfloat16>)},
                               {"float64", number(kInFlight<double>)}})},
         {"rows_in_flight", rows_in_flight()},
         {"column_blocks", object({{"float32", number(kColumnBlocks<float>)},
                                   {"float16", number(kColumnBlocks<__half>)},
                                   {"bfloat16", number(kColumnBlocks<__nv_bfloat16>)}})},
         {"column_lanes", number(kColumnLanes)},
         {"totals", object({{"threads", number(kTotalThreads)},
                            {"kernels", object({{"float32", totals("float")},
                                                {"float16", totals("__half")},
                                                {"bfloat16", totals("__nv_bfloat16")}})}})},
         {"kernels", object({{"float32", by_function("float", sizeof(float))},
                             {"float16", by_function("__half", sizeof(__half))},
                             {"bfloat16", by_function("__nv_bfloat16", sizeof(__nv_bfloat16))},
                             {"float64", by_function("double", sizeof(double))}})}});
}

}  // namespace
}  // namespace styleforge

extern "C" const char* styleforge_general_abi() {
    using namespace styleforge;
    static const std::string text =
        object({{"structs", structs()}, {"elementwise", elementwise_passes()}});
    return text.c_str();
}
