// Row-major GEMMs through cuBLAS: C = A B (+ C), where A and B may be read transposed.
#pragma once

#include "realrun/cuda/device.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace foretrain::realrun {

/// A row-major matrix in device memory; `stride` elements from row to row, `next` elements from one
/// matrix of a batch to the next. `transposed`: the product uses its transpose.
template <class T>
struct Operand {
  const T* data = nullptr;
  std::size_t stride = 0;
  bool transposed = false;
  std::size_t next = 0;
};

template <class T>
struct Result {
  T* data = nullptr;
  std::size_t stride = 0;
  bool add = false;
  std::size_t next = 0;
};

/// m x n results of inner size k, `batch` of them.
struct GemmShape {
  std::size_t m = 0, n = 0, k = 0, batch = 1;
};

class Blas {
public:
  /// `tf32`: fp32 products may use the tensor cores' 19-bit inputs.
  Blas(const Stream& stream, bool tf32);
  ~Blas() { cublasDestroy(handle_); }
  Blas(const Blas&) = delete;
  Blas& operator=(const Blas&) = delete;

  /// Sums are in fp32 whatever T is; the result may be T or float.
  template <class T, class R>
  void multiply(const GemmShape& shape, const Operand<T>& a, const Operand<T>& b,
                const Result<R>& c) const;

private:
  cublasHandle_t handle_ = nullptr;
  cublasComputeType_t compute_;
};

} // namespace foretrain::realrun
