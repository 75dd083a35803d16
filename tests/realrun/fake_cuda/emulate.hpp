// Runs CUDA kernels as plain C++: blocks one after another, the threads of a block one after
// another, or as fibers where they meet at __syncthreads(). Checks arithmetic and indices, not
// speed, memory spaces or races. The build includes it before each kernel file.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>

#include <cmath>
#include <functional>

#undef __shared__
#define __shared__ static // one block at a time: its shared memory may live in one place

inline uint3 threadIdx{};
inline uint3 blockIdx{};
inline dim3 blockDim{};
inline dim3 gridDim{};

void __syncthreads();

namespace foretrain::realrun {

namespace fake {
/// Runs `body` once per thread of one block; the threads may call __syncthreads().
void run_block(unsigned threads, const std::function<void()>& body);
} // namespace fake

template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), unsigned blocks, unsigned threads, cudaStream_t,
            Arguments... arguments)
{
  gridDim = dim3(blocks);
  blockDim = dim3(threads);
  for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x)
    for (threadIdx.x = 0; threadIdx.x < threads; ++threadIdx.x)
      kernel(static_cast<Parameters>(arguments)...);
}

template <class... Parameters, class... Arguments>
void launch_meeting(void (*kernel)(Parameters...), unsigned blocks, unsigned threads, cudaStream_t,
                    Arguments... arguments)
{
  gridDim = dim3(blocks);
  blockDim = dim3(threads);
  for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x)
    fake::run_block(threads, [&] { kernel(static_cast<Parameters>(arguments)...); });
}

} // namespace foretrain::realrun
