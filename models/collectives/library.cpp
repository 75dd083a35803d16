#include "models/collectives/library.hpp"

namespace foretrain::models {

Library load_library(const Value& reference)
{
  const Value value = resolve_preset(reference, kLibraryKind);
  auto library = read_as<Library>(value);
  if (library.protocols.empty())
    value.fail_at("protocols", "must not be empty");
  return library;
}

} // namespace foretrain::models
