// Our own CUDA kernels: everything of a network that is not a GEMM. T is float, __half or
// __nv_bfloat16; sums are in fp32. Each does what the function of the same name in
// common/reference_ops.hpp does, and is tested against it.
#pragma once

#include "realrun/common/program.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>

#include <cstddef>

namespace foretrain::realrun::kernels {

template <class T>
void convert(const float* in, std::size_t count, T* out, cudaStream_t stream);

template <class T>
void gather_patches(const T* image, std::size_t samples, const Patches& patches, T* columns,
                    cudaStream_t stream);
template <class T>
void scatter_patches(const T* columns, std::size_t samples, const Patches& patches, T* image,
                     bool add, cudaStream_t stream);

template <class T>
void add_bias(T* matrix, std::size_t rows, std::size_t columns, const float* bias,
              cudaStream_t stream);

/// Floats of scratch that sum_columns needs.
std::size_t sum_columns_scratch(std::size_t columns);
template <class T>
void sum_columns(const T* matrix, std::size_t rows, std::size_t columns, float* sums,
                 float* scratch, cudaStream_t stream);

template <class T>
void relu(const T* in, std::size_t count, T* out, cudaStream_t stream);
template <class T>
void relu_gradient(const T* in, const T* out_gradient, std::size_t count, T* in_gradient, bool add,
                   cudaStream_t stream);
template <class T>
void gelu(const T* in, std::size_t count, T* out, cudaStream_t stream);
template <class T>
void gelu_gradient(const T* in, const T* out_gradient, std::size_t count, T* in_gradient, bool add,
                   cudaStream_t stream);
template <class T>
void add(const T* a, const T* b, std::size_t count, T* out, cudaStream_t stream);
template <class T>
void copy_gradient(const T* out_gradient, std::size_t count, T* in_gradient, bool add,
                   cudaStream_t stream);

/// saved: mean and 1/deviation of each row.
template <class T>
void layer_norm(const T* in, std::size_t rows, std::size_t width, const float* scale,
                const float* shift, T* out, float* saved, cudaStream_t stream);
/// Gradient of the input; products[i][j] = out_gradient x normalised input, whose column sums are
/// the gradient of the scale (the gradient of the shift is the column sums of out_gradient).
template <class T>
void layer_norm_gradient(const T* in, const T* out_gradient, std::size_t rows, std::size_t width,
                         const float* scale, const float* saved, T* in_gradient, bool add,
                         float* products, cudaStream_t stream);

template <class T>
void softmax_rows(T* matrix, std::size_t rows, std::size_t columns, float factor,
                  cudaStream_t stream);
template <class T>
void softmax_rows_gradient(const T* probabilities, T* gradient, std::size_t rows,
                           std::size_t columns, float factor, cudaStream_t stream);

template <class T>
void mean_pool(const T* in, std::size_t samples, std::size_t rows, std::size_t width, T* out,
               cudaStream_t stream);
template <class T>
void mean_pool_gradient(const T* out_gradient, std::size_t samples, std::size_t rows,
                        std::size_t width, T* in_gradient, bool add, cudaStream_t stream);

template <class T>
void cross_entropy(const T* logits, const int* labels, std::size_t samples, std::size_t classes,
                   float scale, float* losses, T* gradient, cudaStream_t stream);

/// SGD with momentum on the fp32 master copy; `working` (may be the master itself) gets the new
/// values in T. The gradient is divided by `loss_scale` first.
template <class T>
void sgd(float* master, float* velocity, const float* gradient, std::size_t count, float rate,
         float momentum, float loss_scale, T* working, cudaStream_t stream);

} // namespace foretrain::realrun::kernels
