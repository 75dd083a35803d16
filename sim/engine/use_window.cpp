#include "sim/engine/use_window.hpp"

#include <algorithm>

namespace foretrain::sim {

void UseWindow::open()
{
  from_ = engine_.now();
  before_ = consumed();
}

void UseWindow::close()
{
  until_ = engine_.now();
  after_ = consumed();
}

std::vector<double> UseWindow::consumed() const
{
  std::vector<double> consumed;
  consumed.reserve(static_cast<std::size_t>(engine_.resource_count()));
  for (int r = 0; r < engine_.resource_count(); ++r)
    consumed.push_back(engine_.consumed({r}));
  return consumed;
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
