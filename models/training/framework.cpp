#include "models/training/framework.hpp"

namespace foretrain::models {

Framework load_framework(const Value& reference)
{
  const Value value = resolve_preset(reference, kFrameworkKind);
  auto framework = read_as<Framework>(value);
  if (framework.synchronisation == Synchronisation::parameter_server && !framework.servers)
    framework.servers.emplace();
  return framework;
}

} // namespace foretrain::models
