#include "sim/engine/use_window.hpp"

#include <algorithm>

namespace foretrain::sim {

void UseWindow::open()
{
  from_ = engine_.now();
  before_ = engine_.consumed_so_far();
}

void UseWindow::close()
{
  until_ = engine_.now();
  after_ = engine_.consumed_so_far();
}

double UseWindow::share(ResourceId resource) const
{
  const auto r = static_cast<std::size_t>(resource.value);
  const double capacity = engine_.capacity(resource) * (until_ - from_).value();
  if (capacity <= 0 || r >= after_.size())
    return 0;
  const double before = r < before_.size() ? before_[r] : 0;
  return std::clamp((after_[r] - before) / capacity, 0.0, 1.0);
}

} // namespace foretrain::sim
