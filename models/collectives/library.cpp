#include "models/collectives/library.hpp"

#include <fmt/format.h>

namespace foretrain::models {

Library load_library(const Value& reference)
{
  const Value value = resolve_preset(reference, kLibraryKind);
  auto library = read_as<Library>(value);
  if (library.protocols.empty())
    value.fail_at("protocols", "must not be empty");
  return library;
}

Library load_device_library(const Value& reference)
{
  auto library = load_library(reference);
  if (library.host)
    reference.fail(fmt::format("is '{}', which adds through host memory: it serves data-parallel "
                               "training of networks",
                               library.name),
                   "for calls among GPUs: nccl and its versions, rccl on those of AMD");
  return library;
}

} // namespace foretrain::models
