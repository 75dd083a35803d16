// Between the two rooms: how a collective library makes its rings on a machine.
#pragma once

#include "models/collectives/library.hpp"
#include "platforms/rings.hpp"

namespace foretrain::experiments {

inline platforms::RingOrder ring_order(const models::Library& library)
{
  return library.rings == "devices" ? platforms::RingOrder::devices : platforms::RingOrder::search;
}

} // namespace foretrain::experiments
