// Operations for which a framework has no kernel: it composes them of others, a kernel each.
#pragma once

#include "sim/base/schema.hpp"

#include <array>
#include <optional>
#include <string>

namespace foretrain::models {

/// Whose operations: none (each has kernels of its own), or those of TensorFlow.
enum class Composition { none, tensorflow };
constexpr auto choices(Composition)
{
  return std::to_array<Choice<Composition>>(
      {{Composition::none, "none"}, {Composition::tensorflow, "tensorflow"}});
}

/// What kernels of a composed operation read and write: as many times its output's elements.
struct ComposedOperation {
  const char* op; // as networks call it
  double forward, backward;
  int forward_kernels, backward_kernels;
  /// In half precision it computes in single, as does what follows up to the next product.
  bool single = false;
};

/// Counted from the framework's source: composed_operations.cpp. Nothing where it has a kernel; of
/// none scale and mask of attention's scores alone are composed.
/// `fused`: what is left where a compiler fuses what is element by element with what reads it.
std::optional<ComposedOperation> composed_operation(Composition composition, bool fused,
                                                    const std::string& op);

} // namespace foretrain::models
