// The CUDA engine: runs a Program forward and backward on one batch. Everything is queued on one
// stream; nothing here waits for the device.
#pragma once

#include "realrun/common/program.hpp"
#include "realrun/cuda/blas.hpp"
#include "realrun/cuda/timeline.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace foretrain::realrun {

/// What the training loop sees; the element type is hidden behind it.
class DeviceNetwork {
public:
  virtual ~DeviceNetwork() = default;

  /// Queues the forward pass on device memory `pixels` and `labels`; the gradient that backward
  /// starts from is that of the samples' losses divided by `divisor`, times loss_scale().
  virtual void forward(const float* pixels, const int* labels, double divisor) = 0;
  /// Queues the backward pass; `done(op)` is called after each operation has been queued.
  virtual void backward(const std::function<void(std::size_t)>& done) = 0;
  virtual void update(double rate, double momentum) = 0;

  virtual float* gradients() const = 0;               // device memory, parameter_count fp32 values
  virtual float* losses() const = 0;                  // device memory, one per sample
  virtual float loss_scale() const = 0;               // gradients are this much too large (fp16)
  virtual const Timeline& forward_times() const = 0;  // in op order
  virtual const Timeline& backward_times() const = 0; // last op first
};

/// `precision` is fp32, tf32, fp16 or bf16; the starting parameters are those of the CPU twin.
std::unique_ptr<DeviceNetwork> make_network(const Program& program, const std::string& precision,
                                            int batch, int seed, const Stream& stream);

} // namespace foretrain::realrun
