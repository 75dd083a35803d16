// What the kernels share: conversions to and from fp32, grid sizes, sums over a block.
#pragma once

#include "realrun/cuda/launch.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstddef>

namespace foretrain::realrun::kernels {

constexpr unsigned kThreads = 256;
constexpr std::size_t kMostBlocks = 16384; // more would not run at the same time on any GPU

inline unsigned blocks_for(std::size_t count)
{
  const std::size_t blocks = (count + kThreads - 1) / kThreads;
  return static_cast<unsigned>(blocks < 1 ? 1 : blocks > kMostBlocks ? kMostBlocks : blocks);
}

/// Rows are dealt to blocks in turn.
inline unsigned blocks_for_rows(std::size_t rows)
{
  return static_cast<unsigned>(rows < 1 ? 1 : rows > kMostBlocks ? kMostBlocks : rows);
}

__device__ inline float to_float(float x)
{
  return x;
}
__device__ inline float to_float(__half x)
{
  return __half2float(x);
}
__device__ inline float to_float(__nv_bfloat16 x)
{
  return __bfloat162float(x);
}

template <class T>
__device__ T from_float(float x);
template <>
__device__ inline float from_float<float>(float x)
{
  return x;
}
template <>
__device__ inline __half from_float<__half>(float x)
{
  return __float2half(x);
}
template <>
__device__ inline __nv_bfloat16 from_float<__nv_bfloat16>(float x)
{
  return __float2bfloat16(x);
}

template <class T>
__device__ void put(T& place, float value, bool add)
{
  place = from_float<T>(add ? to_float(place) + value : value);
}

/// Index of this thread among all, and their number: for (i = first(); i < count; i += step()).
__device__ inline std::size_t first()
{
  return static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ inline std::size_t step()
{
  return static_cast<std::size_t>(gridDim.x) * blockDim.x;
}

struct Sum {
  __device__ static float of(float a, float b) { return a + b; }
};
struct Largest {
  __device__ static float of(float a, float b) { return a > b ? a : b; }
};

/// Combines one value of each of the kThreads threads; every thread gets the result. A tree in
/// shared memory: same order, same bits, every time.
template <class Combine>
__device__ float over_block(float value)
{
  __shared__ float values[kThreads];
  values[threadIdx.x] = value;
  __syncthreads();
  for (unsigned half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half)
      values[threadIdx.x] = Combine::of(values[threadIdx.x], values[threadIdx.x + half]);
    __syncthreads();
  }
  const float result = values[0];
  __syncthreads(); // values may be written again only when all have read the result
  return result;
}

} // namespace foretrain::realrun::kernels

// The three types every kernel is compiled for.
#define REALRUN_FOR_TYPES(DO) DO(float) DO(__half) DO(__nv_bfloat16)
