// The transformer network on a CPU, layer by layer, with a third of the multiplications.
//
// A layer is one call. It applies the norm of the layer before while it loads, and computes its own
// norm while it stores. On one processor, results are bit-equal for any number of threads.
#include "include/common/exact.h"
#include "include/cpu/export.h"

#include "convolution.h"
#include "first.h"
#include "last.h"
#include "rate.h"
#include "weights.h"

namespace {

using namespace styleforge::network;

template <class Kind>
int run(const Layer* layer) {
    Arena arena(layer->memory);
    Kind(*layer, arena).run();
    return 0;
}

template <class Kind>
int64_t memory_of(const Layer* layer) {
    Arena arena(nullptr);
    const Kind measured(*layer, arena);
    return arena.used();
}

struct Row {
    int (*run)(const Layer*);
    int64_t (*memory)(const Layer*);
};

template <class Kind>
constexpr Row row() {
    return {run<Kind>, memory_of<Kind>};
}

// The kinds of layers, in the order of `Kind` in launchers.py.
constexpr Row kRowOf[] = {
    row<First<float, true>>(),        row<Convolution<Halving>>(), row<Convolution<Plain>>(),
    row<Convolution<Enlarging>>(),    row<Last<float, true>>(),    row<Convolution<Valid>>(),
    row<Convolution<ValidHalving>>(), row<Last<float, false>>(),   row<First<float, false>>(),
    row<First<uint8_t, true>>(),      row<Last<uint8_t, true>>()};

}  // namespace

// Writes the sizes of the structs, which launchers.py checks.
STYLEFORGE_EXPORT void styleforge_network_sizes(int64_t* sizes) {
    sizes[0] = sizeof(Layer);
    sizes[1] = sizeof(StyleforgeNetworkFilters);
}

STYLEFORGE_EXPORT int styleforge_network_weights(const StyleforgeNetworkFilters* filters) {
    Weights(*filters).run();
    return 0;
}

STYLEFORGE_EXPORT int64_t styleforge_network_memory(int64_t kind, const Layer* layer) {
    return kRowOf[kind].memory(layer);
}

STYLEFORGE_EXPORT int styleforge_network_layer(int64_t kind, const Layer* layer) {
    return kRowOf[kind].run(layer);
}

// See rate.h.
STYLEFORGE_EXPORT int64_t styleforge_network_multiply(int64_t steps, int64_t threads, float* sums) {
    return multiply_in_registers(steps, threads, sums);
}
