#include "sim/workload/work_order.hpp"

#include <algorithm>
#include <iterator>

namespace foretrain::sim {

WorkOrder::WorkOrder(const Program& program)
{
  const auto edges = program.all_edges();
  first_.assign(program.operations.size() + 1, 0);
  for (const auto& [first, second] : edges)
    ++first_[static_cast<std::size_t>(second) + 1];
  for (std::size_t i = 1; i < first_.size(); ++i)
    first_[i] += first_[i - 1];
  before_.resize(edges.size());
  std::vector<int> next = first_;
  for (const auto& [first, second] : edges)
    before_[static_cast<std::size_t>(next[static_cast<std::size_t>(second)]++)] = first;
  find_sequence();
}

// Most operations stand behind what they wait for already: only what does not is put off.
void WorkOrder::find_sequence()
{
  const auto count = static_cast<int>(first_.size()) - 1;
  sequence_.reserve(static_cast<std::size_t>(count));
  enum : unsigned char { untouched, open, done };
  std::vector<unsigned char> state(static_cast<std::size_t>(count), untouched);
  std::vector<int> stack;
  const auto is_done = [&](int op) { return state[static_cast<std::size_t>(op)] == done; };
  for (int op = 0; op < count; ++op) {
    stack.push_back(op);
    while (!stack.empty()) {
      const int top = stack.back();
      auto& is = state[static_cast<std::size_t>(top)];
      const auto first = before(top);
      if (is == untouched && !std::all_of(first.begin(), first.end(), is_done)) {
        is = open;
        std::copy_if(first.begin(), first.end(), std::back_inserter(stack),
                     [&](int it) { return state[static_cast<std::size_t>(it)] == untouched; });
        continue;
      }
      stack.pop_back();
      if (is != done && std::all_of(first.begin(), first.end(), is_done)) {
        is = done;
        sequence_.push_back(top);
      } // an operation of a circle stays open
    }
  }
}

} // namespace foretrain::sim
