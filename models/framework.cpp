#include "models/framework.hpp"

namespace foretrain::models {

Framework load_framework(const Value& reference)
{
  return read_as<Framework>(resolve_preset(reference, kFrameworkKind));
}

} // namespace foretrain::models
