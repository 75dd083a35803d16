// Where a token's experts are.
#pragma once

#include "models/transformer/spec.hpp"

namespace foretrain::models {

/// Of `places` (nodes, or GPUs) that hold equally many experts, how many a token goes to on
/// average: each of its experts is any as likely, of those in the groups that it goes to, if it is
/// limited to some (DeepSeek-V3, arXiv:2412.19437, section 2.1.2: node-limited routing).
double places_reached(const Transformer& t, int places);

} // namespace foretrain::models
