#include "models/fleet/overheads.hpp"

#include <algorithm>

namespace foretrain::models::fleet {

void add_writes(std::vector<OverheadSpan>& spans, JobId job, Seconds from, Seconds until,
                const Checkpointing& c)
{
  if (c.interval == kNever || c.write <= Seconds(0))
    return;
  const Seconds cycle = c.asynchronous ? std::max(c.interval, c.write) : c.interval + c.write;
  for (Seconds begin = from + c.interval; begin < until; begin += cycle)
    spans.push_back({job, Overhead::checkpoint, begin, std::min(until, begin + c.write)});
}

} // namespace foretrain::models::fleet
