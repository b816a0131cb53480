// Registers the operations' CUDA kernels with PyTorch's dispatcher: checks, buffers, a stream.
//
// What the kernels do not take (FP64, tensors beyond 2^31 elements), and convolutions that cuDNN
// computes faster, run on PyTorch's own; `unavailable_reason` in kernels/ops/convolution.py says so
// in words.
#include "include/common/data_type.h"
#include "include/conv2d/choice.h"
#include "include/operations.h"

#include <ATen/Context.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/add.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/instance_norm.h>
#include <ATen/ops/pad.h>
#include <ATen/ops/reflection_pad2d.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/upsample_nearest2d.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/library.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <optional>
#include <string>
#include <string_view>

namespace {

using at::Tensor;
using OptTensor = std::optional<Tensor>;

// Properties of a GPU that the launchers need, cached: a call must cost microseconds.
struct Gpu {
    int multiprocessors, major;
};

Gpu gpu(int index) {
    static std::array<std::atomic<int>, 64> known{};
    int packed = known[index % 64].load(std::memory_order_relaxed);
    if (packed == 0) {
        int count = 0, major = 0;
        cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, index);
        cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, index);
        packed = count * 256 + major;
        known[index % 64].store(packed, std::memory_order_relaxed);
    }
    return {packed / 256, packed % 256};
}

// Messages are built without std::ostream: it has crashed where the compiler's C++ library was not
// the one that the process had loaded.
std::string part(const char* text) { return text; }
std::string part(int64_t number) { return std::to_string(number); }
std::string part(at::ScalarType type) { return c10::toString(type); }
std::string part(at::IntArrayRef sizes) {
    std::string text = "[";
    for (size_t i = 0; i < sizes.size(); ++i)
        text += (i ? ", " : "") + std::to_string(sizes[i]);
    return text + "]";
}

// Raises ValueError with the concatenation of `parts` unless `fits`.
template <typename... Parts>
void expect(bool fits, const Parts&... parts) {
    if (!fits) {
        const std::string text = (std::string() + ... + part(parts));
        TORCH_CHECK_VALUE(false, text);
    }
}

void launched(int error) {
    if (error == 0) return;
    const std::string text = std::string("a fused operation could not be launched: ") +
                             cudaGetErrorString(static_cast<cudaError_t>(error));
    TORCH_CHECK(false, text);
}

// As the kernels number it; -1 for a type that they do not take.
int type_of(const Tensor& x) {
    switch (x.scalar_type()) {
        case at::kFloat: return styleforge::kFloat;
        case at::kHalf: return styleforge::kHalf;
        case at::kBFloat16: return styleforge::kBFloat16;
        default: return -1;
    }
}

bool channels_last(const Tensor& x) {
    return !x.is_contiguous() && x.is_contiguous(at::MemoryFormat::ChannelsLast);
}

at::MemoryFormat format_of(const Tensor& x) {
    return channels_last(x) ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous;
}

const void* data(const OptTensor& x) { return x ? x->const_data_ptr() : nullptr; }

// Of the type of x, dense; the same tensor where it already is.
OptTensor like(const OptTensor& parameter, const Tensor& x) {
    return parameter ? OptTensor(parameter->to(x.scalar_type()).contiguous()) : parameter;
}

void check_picture(const Tensor& x, const char* what) {
    expect(x.dim() == 4, what, ": expected [N, C, H, W], got ", x.sizes());
}

void check_channels(const OptTensor& parameter, int64_t channels, const char* what) {
    expect(!parameter || (parameter->dim() == 1 && parameter->size(0) == channels), what,
           ": expected ", channels, " weights and biases");
}

StyleforgeNorm norm_of(const Tensor& y, const OptTensor& gamma, const OptTensor& beta, double eps,
                       bool relu) {
    StyleforgeNorm norm{};
    norm.gamma = data(gamma), norm.beta = data(beta);
    norm.x = norm.y = y.data_ptr();
    norm.samples = y.size(0), norm.channels = y.size(1), norm.pixels = y.size(2) * y.size(3);
    norm.eps = static_cast<float>(eps), norm.relu = relu;
    norm.channels_last = channels_last(y), norm.type = type_of(y), norm.vectorized = 1;
    const OptTensor& either = gamma ? gamma : beta;
    norm.parameter_type = either ? type_of(*either) : styleforge::kFloat;
    const Gpu device = gpu(y.get_device());
    norm.multiprocessors = device.multiprocessors, norm.clusters = device.major >= 9;
    return norm;
}

Tensor bytes_on(const Tensor& x, int64_t count) {
    return at::empty({count}, x.options().dtype(at::kByte).memory_format(std::nullopt));
}

// gamma and beta of one type that the kernels read; converted only if they are not.
void settle(OptTensor& gamma, OptTensor& beta) {
    const auto odd = [](const OptTensor& p) {
        return p && (type_of(*p) < 0 || !p->is_contiguous());
    };
    if (odd(gamma) || odd(beta) ||
        (gamma && beta && gamma->scalar_type() != beta->scalar_type())) {
        for (auto* p : {&gamma, &beta})
            if (*p) *p = (*p)->to(at::kFloat).contiguous();
    }
}

Tensor norm_on_pytorch(const Tensor& x, const OptTensor& gamma, const OptTensor& beta, double eps,
                       const OptTensor& residual, bool relu) {
    Tensor y = at::instance_norm(x, like(gamma, x), like(beta, x), {}, {}, true, 0, eps, false);
    if (residual) y = at::add(y, *residual);
    return (relu ? at::relu(y) : y).contiguous(format_of(x));
}

Tensor fused_instance_norm_forward(const Tensor& input, const OptTensor& gamma_,
                                   const OptTensor& beta_, double eps, bool use_vectorized,
                                   const OptTensor& residual_, bool relu) {
    constexpr auto* what = "instance norm";
    check_picture(input, what);
    expect(input.size(2) * input.size(3) > 1,
           "instance norm: one pixel has no variance, got ", input.sizes());
    check_channels(gamma_, input.size(1), what);
    check_channels(beta_, input.size(1), what);
    if (residual_) {
        expect(residual_->sizes() == input.sizes(),
               "instance norm: the residual has the shape ", residual_->sizes());
        expect(residual_->scalar_type() == input.scalar_type(),
               "instance norm: the residual is ", residual_->scalar_type(), ", not ",
               input.scalar_type());
    }
    const c10::cuda::CUDAGuard guard(input.device());
    const auto format = format_of(input);
    if (type_of(input) < 0) return norm_on_pytorch(input, gamma_, beta_, eps, residual_, relu);
    const Tensor x = input.contiguous(format);
    Tensor y = at::empty(x.sizes(), x.options(), format);
    if (y.numel() == 0) return y;
    OptTensor gamma = gamma_, beta = beta_, residual;
    settle(gamma, beta);
    if (residual_) residual = residual_->contiguous(format);
    StyleforgeNorm norm = norm_of(y, gamma, beta, eps, relu);
    norm.x = x.const_data_ptr(), norm.residual = data(residual), norm.vectorized = use_vectorized;
    norm.channels_last = format == at::MemoryFormat::ChannelsLast;
    Tensor scratch;
    if (const auto size = styleforge_norm_scratch(&norm)) {
        scratch = bytes_on(x, size);
        norm.scratch = scratch.data_ptr();
    }
    launched(styleforge_norm(&norm, c10::cuda::getCurrentCUDAStream()));
    return y;
}

// [N, 4C, h + 1, w + 1] to [N, C, 2h, 2w], channels last; see kernels/ops/normalization.py.
Tensor interleaved(const Tensor& x) {
    expect(x.size(1) % 4 == 0 && x.size(2) > 1 && x.size(3) > 1,
           "instance norm: expected [N, 4C, h + 1, w + 1] to interleave, got ",
           x.sizes());
    const int64_t c = x.size(1) / 4, h = x.size(2) - 1, w = x.size(3) - 1;
    Tensor y = at::empty({x.size(0), c, 2 * h, 2 * w}, x.options(), at::MemoryFormat::ChannelsLast);
    for (const int64_t a : {0, 1})
        for (const int64_t b : {0, 1})
            y.slice(2, a, std::nullopt, 2)
                .slice(3, b, std::nullopt, 2)
                .copy_(x.narrow(1, (2 * a + b) * c, c).narrow(2, a, h).narrow(3, b, w));
    return y;
}

// The norm by its kernel; the copies around it, which only the CPU's kernel folds in, by PyTorch.
Tensor fused_instance_norm(const Tensor& x, const OptTensor& weight, const OptTensor& bias,
                           const OptTensor& residual, double eps, bool relu, int64_t pad,
                           std::string_view pad_mode, bool interleave) {
    check_picture(x, "instance norm");
    const Tensor plain = interleave ? interleaved(x) : x;
    const int64_t height = plain.size(2), width = plain.size(3);
    const bool reflect = pad_mode == "reflect";
    expect(reflect || pad_mode == "replicate",
           "instance norm: pad_mode is 'reflect' or 'replicate', not '",
           std::string(pad_mode).c_str(), "'");
    expect(height * width <= 1 || (pad >= 0 && (!reflect || pad < std::min(height, width))),
           "instance norm: cannot pad ", height, "x", width, " by ", pad,
           " with reflection");
    const Tensor y = fused_instance_norm_forward(plain, weight, bias, eps, true, residual, relu);
    if (pad == 0) return y;
    const auto format = interleave ? at::MemoryFormat::ChannelsLast : format_of(x);
    if (y.numel() == 0)
        return at::empty({y.size(0), y.size(1), height + 2 * pad, width + 2 * pad}, y.options(),
                         format);
    const c10::cuda::CUDAGuard guard(x.device());
    return at::pad(y, {pad, pad, pad, pad}, pad_mode).contiguous(format);
}

void fused_instance_norm_out(const Tensor& x, const OptTensor& weight, const OptTensor& bias,
                             const OptTensor& residual, double eps, bool relu, int64_t pad,
                             std::string_view pad_mode, bool interleave, Tensor out) {
    const Tensor y =
        fused_instance_norm(x, weight, bias, residual, eps, relu, pad, pad_mode, interleave);
    expect(out.sizes() == y.sizes() && out.scalar_type() == y.scalar_type() &&
               out.strides() == y.strides(),
           "instance norm: out must be a dense ", y.scalar_type(),
           " tensor of the padded shape, got ", out.scalar_type(), " ", out.sizes());
    out.copy_(y);
}

// Whether the products of a convolution are those of FP32, without TF32.
bool is_exact(const Tensor& x) {
    return x.scalar_type() == at::kFloat && !at::globalContext().allowTF32CuDNN();
}

// One convolution with the buffers it needs; `y` is allocated in the layout of x.
struct Convolution {
    StyleforgeConvolution plan{};
    Tensor x, packed, y, parts;
    OptTensor bias;

    Convolution(const Tensor& input, const Tensor& weight, const OptTensor& bias_, int64_t pad,
                int64_t stride_h, int64_t stride_w, bool enlarge, bool statistics, void* stream)
        : x(input) {
        const Tensor kernel = weight.to(x.scalar_type()).contiguous();
        bias = like(bias_, x);
        plan.samples = static_cast<int>(x.size(0));
        plan.in_channels = static_cast<int>(x.size(1));
        plan.out_channels = static_cast<int>(weight.size(0));
        plan.height = static_cast<int>(x.size(2)), plan.width = static_cast<int>(x.size(3));
        plan.kernel = enlarge ? 2 : static_cast<int>(weight.size(2));
        plan.pad = static_cast<int>(pad), plan.phases = enlarge ? 4 : 1;
        plan.border = enlarge ? STYLEFORGE_REPLICATE : STYLEFORGE_REFLECT;
        plan.stride_h = static_cast<int>(stride_h), plan.stride_w = static_cast<int>(stride_w);
        const auto side = [&](int size, int stride) {
            return enlarge ? size : (size + 2 * plan.pad - plan.kernel) / stride + 1;
        };
        plan.out_height = side(plan.height, plan.stride_h);
        plan.out_width = side(plan.width, plan.stride_w);
        plan.type = type_of(x);
        const Gpu device = gpu(x.get_device());
        plan.multiprocessors = device.multiprocessors;
        plan.math = device.major >= 8 && !is_exact(x) ? STYLEFORGE_TENSOR_CORES : STYLEFORGE_PLAIN;
        const int grow = enlarge ? 2 : 1;
        y = at::empty({x.size(0), weight.size(0), plan.out_height * grow, plan.out_width * grow},
                      x.options(), format_of(x));
        for (int i = 0; i < 4; ++i)
            plan.x_strides[i] = x.stride(i), plan.y_strides[i] = y.stride(i);
        if (y.numel() == 0) return;
        packed = bytes_on(x, styleforge_packed_bytes(&plan));
        if (statistics) {
            parts = bytes_on(x, 16 * x.size(0) * styleforge_tiles(&plan) * weight.size(0));
            plan.parts = parts.data_ptr();
        }
        plan.x = x.const_data_ptr(), plan.y = y.data_ptr(), plan.packed = packed.data_ptr();
        plan.bias = data(bias);
        launched(styleforge_pack_weight(&plan, kernel.const_data_ptr(), packed.data_ptr(), stream));
    }
};

// The kernels count elements within a picture in 32 bits.
bool too_large(const Tensor& x, int64_t out_channels, int64_t grow) {
    const int64_t most = std::max(x.size(1), out_channels) * x.size(2) * x.size(3) * grow;
    int64_t reach = 0;
    for (int i = 1; i < 4; ++i) reach += std::max<int64_t>(0, x.size(i) - 1) * x.stride(i);
    return std::max(most, reach) >= (int64_t{1} << 31) || x.size(0) * 4 > 65535;
}

// The rows of styleforge_set_faster_cases.
std::array<StyleforgeFasterCase, 16> faster_cases{};
int faster_case_count = 0;

bool pytorch_is_faster(const Tensor& x, const Tensor& weight, int64_t stride_h, int64_t stride_w,
                       bool upsample) {
    return !styleforge::own_kernel_is_faster(
        faster_cases.data(), faster_case_count,
        {std::max(stride_h, stride_w), weight.size(0), weight.size(2), is_exact(x),
         channels_last(x), upsample});
}

void check_weight(const Tensor& x, const Tensor& weight, const OptTensor& bias) {
    constexpr auto* what = "convolution";
    check_picture(x, what);
    expect(weight.dim() == 4 && weight.size(1) == x.size(1) &&
               weight.size(2) == weight.size(3) && weight.size(2) > 0,
           "convolution: expected weights [O, ", x.size(1), ", k, k], got ", weight.sizes());
    check_channels(bias, weight.size(0), what);
}

void check_convolution(const Tensor& x, const Tensor& weight, const OptTensor& bias, int64_t pad,
                       int64_t stride_h, int64_t stride_w) {
    check_weight(x, weight, bias);
    expect(stride_h > 0 && stride_w > 0, "convolution: a stride is at least 1, not ",
           std::min(stride_h, stride_w));
    expect(pad >= 0 && pad < x.size(2) && pad < x.size(3), "convolution: cannot pad ",
           x.size(2), "x", x.size(3), " by ", pad, " with reflection");
    expect(x.size(2) + 2 * pad >= weight.size(2) && x.size(3) + 2 * pad >= weight.size(2),
           "convolution: ", x.size(2), "x", x.size(3), " padded by ", pad,
           " is smaller than the kernel");
}

Tensor convolve_on_pytorch(const Tensor& x, const Tensor& weight, const OptTensor& bias,
                           int64_t pad, int64_t stride_h, int64_t stride_w) {
    if (x.numel() == 0 || weight.size(0) == 0)
        return at::empty({x.size(0), weight.size(0),
                          (x.size(2) + 2 * pad - weight.size(2)) / stride_h + 1,
                          (x.size(3) + 2 * pad - weight.size(3)) / stride_w + 1},
                         x.options(), format_of(x));
    const Tensor padded = pad ? at::reflection_pad2d(x, {pad, pad, pad, pad}) : x;
    return at::conv2d(padded, weight.to(x.scalar_type()), like(bias, x), {stride_h, stride_w})
        .contiguous(format_of(x));
}

Tensor fused_conv_reflection_pad_forward(const Tensor& input, const Tensor& weight,
                                         const OptTensor& bias, int64_t padding_size,
                                         int64_t stride_h, int64_t stride_w, bool own_kernel) {
    check_convolution(input, weight, bias, padding_size, stride_h, stride_w);
    const c10::cuda::CUDAGuard guard(input.device());
    if (type_of(input) < 0 || too_large(input, weight.size(0), 1) ||
        (!own_kernel && pytorch_is_faster(input, weight, stride_h, stride_w, false)))
        return convolve_on_pytorch(input, weight, bias, padding_size, stride_h, stride_w);
    const auto stream = c10::cuda::getCurrentCUDAStream();
    const Convolution conv(input, weight, bias, padding_size, stride_h, stride_w, false, false,
                           stream);
    if (conv.y.numel()) launched(styleforge_convolve(&conv.plan, stream));
    return conv.y;
}

Tensor fused_conv_instancenorm_forward(const Tensor& input, const Tensor& conv_weight,
                                       const OptTensor& conv_bias, const OptTensor& norm_gamma,
                                       const OptTensor& norm_beta, double eps, int64_t padding,
                                       int64_t stride, bool relu, bool upsample,
                                       bool own_kernel) {
    check_weight(input, conv_weight, conv_bias);
    expect(!upsample || (conv_weight.size(2) == 3 && padding == 1 && stride == 1),
           "convolution: only a 3x3 kernel with padding 1 and stride 1 follows an enlargement");
    if (!upsample || input.size(2) * input.size(3) == 0)
        check_convolution(input, conv_weight, conv_bias, padding, stride, stride);
    check_channels(norm_gamma, conv_weight.size(0), "instance norm");
    check_channels(norm_beta, conv_weight.size(0), "instance norm");
    const c10::cuda::CUDAGuard guard(input.device());
    if (type_of(input) < 0 || too_large(input, conv_weight.size(0), upsample ? 4 : 1)) {
        const Tensor x = upsample ? at::upsample_nearest2d(
                                        input, {2 * input.size(2), 2 * input.size(3)})
                                  : input;
        return norm_on_pytorch(
            convolve_on_pytorch(x, conv_weight, conv_bias, padding, stride, stride), norm_gamma,
            norm_beta, eps, {}, relu);
    }
    if (!own_kernel && pytorch_is_faster(input, conv_weight, stride, stride, upsample))
        return fused_instance_norm_forward(
            convolve_on_pytorch(input, conv_weight, {}, padding, stride, stride), norm_gamma,
            norm_beta, eps, true, {}, relu);
    const auto stream = c10::cuda::getCurrentCUDAStream();
    // The norm takes a bias away again, so none is added.
    const Convolution conv(input, conv_weight, {}, padding, stride, stride, upsample, true, stream);
    expect(conv.y.size(2) * conv.y.size(3) > 1,
           "instance norm: one pixel has no variance, got ", conv.y.sizes());
    if (conv.y.numel() == 0) return conv.y;
    OptTensor gamma = norm_gamma, beta = norm_beta;
    settle(gamma, beta);
    StyleforgeConvNormRelu fused{};
    fused.conv = conv.plan;
    fused.norm = norm_of(conv.y, gamma, beta, eps, relu);
    const Tensor affine = bytes_on(input, 16 * fused.norm.samples * fused.norm.channels);
    fused.norm.scratch = affine.data_ptr();
    launched(styleforge_conv_norm_relu(&fused, stream));
    return conv.y;
}

Tensor fused_residual_block_forward(const Tensor& input, const Tensor& conv1_weight,
                                    const OptTensor& conv1_bias, const OptTensor& conv1_gamma,
                                    const OptTensor& conv1_beta, const Tensor& conv2_weight,
                                    const OptTensor& conv2_bias, const OptTensor& conv2_gamma,
                                    const OptTensor& conv2_beta, double eps, bool own_kernel) {
    check_convolution(input, conv1_weight, conv1_bias, 1, 1, 1);
    expect(conv1_weight.size(2) == 3 && conv2_weight.dim() == 4 &&
               conv2_weight.size(0) == input.size(1) &&
               conv2_weight.size(1) == conv1_weight.size(0) &&
               conv2_weight.size(2) == 3 && conv2_weight.size(3) == 3,
           "residual block: expected two 3x3 convolutions that lead back to ",
           input.size(1), " channels");
    check_channels(conv2_bias, input.size(1), "convolution");
    check_channels(conv1_gamma, conv1_weight.size(0), "instance norm");
    check_channels(conv1_beta, conv1_weight.size(0), "instance norm");
    check_channels(conv2_gamma, input.size(1), "instance norm");
    check_channels(conv2_beta, input.size(1), "instance norm");
    const c10::cuda::CUDAGuard guard(input.device());
    if (type_of(input) < 0 || too_large(input, conv1_weight.size(0), 1)) {
        const Tensor inside = norm_on_pytorch(
            convolve_on_pytorch(input, conv1_weight, conv1_bias, 1, 1, 1), conv1_gamma, conv1_beta,
            eps, {}, true);
        return norm_on_pytorch(convolve_on_pytorch(inside, conv2_weight, conv2_bias, 1, 1, 1),
                               conv2_gamma, conv2_beta, eps, input, false);
    }
    if (!own_kernel && pytorch_is_faster(input, conv1_weight, 1, 1, false)) {
        const Tensor inside = fused_instance_norm_forward(
            convolve_on_pytorch(input, conv1_weight, {}, 1, 1, 1), conv1_gamma, conv1_beta, eps,
            true, {}, true);
        return fused_instance_norm_forward(convolve_on_pytorch(inside, conv2_weight, {}, 1, 1, 1),
                                           conv2_gamma, conv2_beta, eps, true, input, false);
    }
    const auto stream = c10::cuda::getCurrentCUDAStream();
    const Tensor x = input.contiguous(format_of(input));  // the sum reads it as it writes y
    const Convolution first(x, conv1_weight, {}, 1, 1, 1, false, true, stream);
    const Convolution second(first.y, conv2_weight, {}, 1, 1, 1, false, true, stream);
    if (second.y.numel() == 0 || first.y.numel() == 0) return second.y;
    OptTensor gamma1 = conv1_gamma, beta1 = conv1_beta, gamma2 = conv2_gamma, beta2 = conv2_beta;
    settle(gamma1, beta1), settle(gamma2, beta2);
    StyleforgeResidualBlock block{};
    block.first = first.plan, block.second = second.plan;
    block.first_norm = norm_of(first.y, gamma1, beta1, eps, true);
    block.second_norm = norm_of(second.y, gamma2, beta2, eps, false);
    block.second_norm.residual = x.const_data_ptr();
    const Tensor affine =
        bytes_on(x, 16 * x.size(0) * std::max(conv1_weight.size(0), input.size(1)));
    block.affine = block.second_norm.scratch = affine.data_ptr();
    launched(styleforge_residual_block(&block, stream));
    return second.y;
}

}  // namespace

extern "C" int styleforge_set_faster_cases(const StyleforgeFasterCase* rows, int count,
                                           int row_bytes) {
    if (row_bytes != sizeof(StyleforgeFasterCase) || count < 0 ||
        count > static_cast<int>(faster_cases.size()))
        return 1;
    std::copy_n(rows, count, faster_cases.begin());
    faster_case_count = count;
    return 0;
}

TORCH_LIBRARY_IMPL(styleforge, CUDA, m) {
    m.impl("fused_instance_norm", &fused_instance_norm);
    m.impl("fused_instance_norm_out", &fused_instance_norm_out);
    m.impl("fused_instance_norm_forward", &fused_instance_norm_forward);
    m.impl("fused_conv_reflection_pad_forward", &fused_conv_reflection_pad_forward);
    m.impl("fused_conv_instancenorm_forward", &fused_conv_instancenorm_forward);
    m.impl("fused_residual_block_forward", &fused_residual_block_forward);
}
