// How kernels are started. On a machine without a GPU the tests define REALRUN_EMULATED_DEVICE and
// bring their own launch, which loops over blocks and threads, so that the kernels' arithmetic is
// checked everywhere.
#pragma once

#ifndef REALRUN_EMULATED_DEVICE

#include "realrun/cuda/check.hpp"

namespace foretrain::realrun {

/// Threads of a block do not talk to each other.
template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), unsigned blocks, unsigned threads, cudaStream_t stream,
            Arguments... arguments)
{
  kernel<<<blocks, threads, 0, stream>>>(static_cast<Parameters>(arguments)...);
  REALRUN_CHECK(cudaGetLastError());
}

/// Threads of a block meet at __syncthreads().
template <class... Parameters, class... Arguments>
void launch_meeting(void (*kernel)(Parameters...), unsigned blocks, unsigned threads,
                    cudaStream_t stream, Arguments... arguments)
{
  launch(kernel, blocks, threads, stream, arguments...);
}

} // namespace foretrain::realrun

#endif
