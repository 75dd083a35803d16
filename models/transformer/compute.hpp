// Seconds of a transformer's operators on one GPU under one framework.
#pragma once

#include "models/training/host_launches.hpp"
#include "models/transformer/operators.hpp"

#include <optional>
#include <span>

namespace foretrain::models {

/// A GPU as these operators see it.
struct TransformerDevice {
  sim::ProductCurve half;
  sim::ProductCurve narrow; // of operands of fewer than 16 bits
  sim::AttentionCurve attention;
  BytesPerSecond memory;      // what streaming kernels reach
  double functions = 0;       // exponentials per second; 0: as many as one likes
  Seconds kernel_floor{2e-6}; // shortest time from one small kernel to the next on the device
  std::optional<HostLaunches> launches; // of the framework; absent: never the limit
  double clock = 1;                     // sustained, beside that of short measurements
  bool tables = true;                   // whether kernels of this GPU were measured

  /// Makes every kernel take its time divided by `factor`; what the host does stays.
  void quicken(double factor);
};

/// Device time, and the host's time to launch the same.
struct OperatorTime {
  Seconds device;
  Seconds host;
  Seconds idle{}; // of the device's, in which it does nothing but wait for what the host does
  OperatorTime& operator+=(const OperatorTime& other)
  {
    device += other.device;
    host += other.host;
    idle += other.idle;
    return *this;
  }
  /// The slower of the two: launches run ahead of the device until they fall behind.
  Seconds time() const { return device < host ? host : device; }
};

/// Of work that follows other work, when both are done: the host launches one after the other, the
/// device starts what follows when it was launched and the rest is done.
Seconds time_in_order(const OperatorTime& first, const OperatorTime& second);

OperatorTime forward_time(const Operator& op, const TransformerDevice& device);
/// Gradients of input and weights.
OperatorTime backward_time(const Operator& op, const TransformerDevice& device);

OperatorTime forward_time(std::span<const Operator> operators, const TransformerDevice& device);
OperatorTime backward_time(std::span<const Operator> operators, const TransformerDevice& device);
/// Forward pass of what belongs to these modules.
OperatorTime modules_time(std::span<const Operator> operators,
                          const std::vector<LayerModule>& modules, const TransformerDevice& device);

} // namespace foretrain::models
