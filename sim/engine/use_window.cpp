#include "sim/engine/use_window.hpp"

#include <algorithm>

namespace foretrain::sim {

void UseWindow::open()
{
  from_ = engine_.now();
  used_.clear();
  engine_.consumed_since(used_);
  closed_ = false;
}

void UseWindow::close()
{
  until_ = engine_.now();
  engine_.consumed_since(used_);
  closed_ = true;
}

double UseWindow::share(ResourceId resource) const
{
  const auto r = static_cast<std::size_t>(resource.value);
  const double capacity = engine_.capacity(resource) * (until_ - from_).value();
  if (capacity <= 0 || !closed_ || r >= used_.size())
    return 0;
  return std::clamp(used_[r] / capacity, 0.0, 1.0);
}

} // namespace foretrain::sim
