#include "experiments/fleet/fault_trace.hpp"

#include "experiments/fleet/trace_text.hpp"
#include "sim/base/error.hpp"

namespace foretrain::experiments {

std::vector<models::fleet::Outage> read_fault_trace(const std::filesystem::path& path)
{
  const TraceTable table(path, ',');
  for (const std::string_view column : {"node", "start_day", "end_day"})
    table.need({column});
  std::vector<models::fleet::Outage> outages;
  table.each([&](const TraceTable::Row& row) {
    const auto node = number_of(row.at("node"));
    const auto start = number_of(row.at("start_day")), end = number_of(row.at("end_day"));
    if (!node || *node < 0 || *node > 1e6 || !start || *start < 0 || !end || *end < *start)
      throw ConfigError(path.string() + ": " + row.where(), "",
                        "must have a node from 0 on, and an end_day not before its start_day");
    outages.push_back({86400 * Seconds(*start), static_cast<int>(*node), 1, 86400 * Seconds(*end)});
  });
  return outages;
}

} // namespace foretrain::experiments
