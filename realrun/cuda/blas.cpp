#include "realrun/cuda/blas.hpp"

namespace foretrain::realrun {

namespace {

template <class T>
constexpr cudaDataType_t kType = CUDA_R_32F;
template <>
constexpr cudaDataType_t kType<__half> = CUDA_R_16F;
template <>
constexpr cudaDataType_t kType<__nv_bfloat16> = CUDA_R_16BF;

int as_int(std::size_t n)
{
  return static_cast<int>(n);
}
long long as_long(std::size_t n)
{
  return static_cast<long long>(n);
}
cublasOperation_t operation(bool transposed)
{
  return transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
}

} // namespace

Blas::Blas(const Stream& stream, bool tf32)
    : compute_(tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F)
{
  REALRUN_CHECK(cublasCreate(&handle_));
  REALRUN_CHECK(cublasSetStream(handle_, stream.get()));
}

template <class T, class R>
void Blas::multiply(const GemmShape& s, const Operand<T>& a, const Operand<T>& b,
                    const Result<R>& c) const
{
  // cuBLAS is column-major: a row-major C = A B is its C' = B' A'.
  const float one = 1.0F;
  const float keep = c.add ? 1.0F : 0.0F;
  const cublasComputeType_t compute = kType<T> == CUDA_R_32F ? compute_ : CUBLAS_COMPUTE_32F;
  if (s.batch == 1)
    REALRUN_CHECK(cublasGemmEx(handle_, operation(b.transposed), operation(a.transposed),
                               as_int(s.n), as_int(s.m), as_int(s.k), &one, b.data, kType<T>,
                               as_int(b.stride), a.data, kType<T>, as_int(a.stride), &keep, c.data,
                               kType<R>, as_int(c.stride), compute, CUBLAS_GEMM_DEFAULT));
  else
    REALRUN_CHECK(cublasGemmStridedBatchedEx(
        handle_, operation(b.transposed), operation(a.transposed), as_int(s.n), as_int(s.m),
        as_int(s.k), &one, b.data, kType<T>, as_int(b.stride), as_long(b.next), a.data, kType<T>,
        as_int(a.stride), as_long(a.next), &keep, c.data, kType<R>, as_int(c.stride),
        as_long(c.next), as_int(s.batch), compute, CUBLAS_GEMM_DEFAULT));
}

template void Blas::multiply(const GemmShape&, const Operand<float>&, const Operand<float>&,
                             const Result<float>&) const;
template void Blas::multiply(const GemmShape&, const Operand<__half>&, const Operand<__half>&,
                             const Result<__half>&) const;
template void Blas::multiply(const GemmShape&, const Operand<__half>&, const Operand<__half>&,
                             const Result<float>&) const;
template void Blas::multiply(const GemmShape&, const Operand<__nv_bfloat16>&,
                             const Operand<__nv_bfloat16>&, const Result<__nv_bfloat16>&) const;
template void Blas::multiply(const GemmShape&, const Operand<__nv_bfloat16>&,
                             const Operand<__nv_bfloat16>&, const Result<float>&) const;

} // namespace foretrain::realrun
