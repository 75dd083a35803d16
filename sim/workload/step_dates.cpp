#include "sim/workload/step_dates.hpp"

#include <algorithm>

namespace foretrain::sim {

OpId StepDates::released_by(OpId op) const
{
  OpId last;
  for (const int first : order_.before(op.value))
    if (!last || finished({first}) > finished(last))
      last = {first};
  return last;
}

Seconds StepDates::arrived(OpId collective, int rank) const
{
  bool found = false;
  Seconds last;
  // Joins, and waits that are nobody's, stand for what lies before them.
  std::vector<int> open{collective.value};
  while (!open.empty()) {
    const int op = open.back();
    open.pop_back();
    for (const int before : order_.before(op)) {
      const Operation& it = program_.operations[static_cast<std::size_t>(before)];
      // Nobody comes before all have agreed.
      const bool of_all = it.kind == WorkKind::collective || it.kind == WorkKind::agree;
      if (!of_all && (it.kind == WorkKind::join || it.stream < 0)) {
        open.push_back(before);
      } else if (of_all || it.rank == rank) {
        last = std::max(last, finished({before}));
        found = true;
      }
    }
  }
  return found ? std::min(last, started(collective)) : started(collective);
}

OpId StepDates::last() const
{
  OpId last;
  for (int i = 0; i < static_cast<int>(end_.size()); ++i)
    if (!last || finished({i}) >= finished(last))
      last = {i};
  return last;
}

void evaluate(const std::vector<Seconds>& lengths, Seconds start, StepDates& dates)
{
  for (const int op : dates.order().sequence()) {
    Seconds begin = start;
    for (const int first : dates.order().before(op))
      begin = std::max(begin, dates.finished({first}));
    dates.set({op}, begin, begin + lengths[static_cast<std::size_t>(op)]);
  }
}

} // namespace foretrain::sim
