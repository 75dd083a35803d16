#include "realrun/common/buckets.hpp"

#include <algorithm>

namespace foretrain::realrun {

std::vector<Bucket> make_buckets(const Program& program, double bytes)
{
  std::vector<Bucket> buckets;
  std::size_t end = program.parameter_count;
  std::size_t begin = end;
  std::size_t last_op = 0;
  const auto close = [&] {
    if (begin < end)
      buckets.push_back({begin, end - begin, last_op});
    end = begin;
  };
  for (std::size_t i = program.ops.size(); i-- > 0;) {
    const Op& op = program.ops[i];
    if (op.weight < 0)
      continue;
    begin = std::min(begin, program.parameters[static_cast<std::size_t>(op.weight)].offset);
    last_op = i;
    if (static_cast<double>((end - begin) * sizeof(float)) >= bytes)
      close();
  }
  close();
  return buckets;
}

} // namespace foretrain::realrun
