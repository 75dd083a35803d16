// --stack, --host and --network of commands that have no experiment file.
#pragma once

#include "platforms/platform.hpp"
#include "platforms/stack.hpp"

#include <memory>
#include <string>

namespace foretrain::cli {

struct StackArguments {
  std::string stack;   // "container+flannel-vxlan", an object {"host", "network"}, or its file
  std::string host;    // overrides the stack's
  std::string network; // likewise
};

/// What is not given is bare-metal, and rdma where the platform has it, else tcp. Throws
/// ConfigError and UsageError.
platforms::Stack stack_of(const StackArguments& arguments, const platforms::PlatformSpec& platform,
                          const OverlayPtr& overlay);

} // namespace foretrain::cli
