#include "experiments/fleet/fault_trace.hpp"

#include "experiments/fleet/trace_text.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace foretrain::experiments {

namespace {

using models::fleet::Outage;

// A fault of a node that is down already makes it stay down, where it takes longer.
std::vector<Outage> joined_by_node(std::vector<Outage> outages)
{
  std::stable_sort(outages.begin(), outages.end(), [](const Outage& a, const Outage& b) {
    return std::tie(a.first, a.time) < std::tie(b.first, b.time);
  });
  std::vector<Outage> joined;
  for (const Outage& outage : outages)
    if (!joined.empty() && joined.back().first == outage.first &&
        outage.time <= joined.back().repaired)
      joined.back().repaired = std::max(joined.back().repaired, outage.repaired);
    else
      joined.push_back(outage);
  return joined;
}

} // namespace

std::vector<Outage> read_fault_trace(const std::filesystem::path& path, int nodes)
{
  const TraceTable table(path, ',');
  for (const std::string_view column : {"node", "start_day", "end_day"})
    table.need({column});
  std::vector<Outage> outages;
  table.each([&](const TraceTable::Row& row) {
    const auto node = number_of(row.at("node"));
    const auto start = number_of(row.at("start_day")), end = number_of(row.at("end_day"));
    const auto fail = [&](const char* column, const char* what) {
      throw ConfigError(path.string() + ": " + row.where(), "",
                        fmt::format("'{}' must be {}, got '{}'", column, what,
                                    excerpt(std::string(row.at(column)))));
    };
    if (!node || *node < 0 || *node != whole_of(*node))
      fail("node", "a node's number from 0 on");
    if (!start || !(*start >= 0))
      fail("start_day", "a number of days from 0 on");
    if (!end || !(*end >= *start))
      fail("end_day", "a number of days not before 'start_day'");
    if (*node >= nodes)
      throw ConfigError(
          path.string() + ": " + row.where(), "",
          fmt::format("names node {:g}, and the cluster has nodes 0 to {}, with spares", *node,
                      nodes - 1));
    outages.push_back({86400 * Seconds(*start), static_cast<int>(*node), 1, 86400 * Seconds(*end)});
  });
  return joined_by_node(std::move(outages));
}

} // namespace foretrain::experiments
