// Which program of nccl-tests wrote a log that does not say: the operation, what `count` is of, and
// bus bandwidth over algorithm bandwidth.
#include "calibration/nccl_tests_log.hpp"

#include <cmath>

namespace foretrain::calibration {

namespace {

constexpr double kRounding = 0.0051; // GB/s, of a bandwidth with two decimals

bool reduces(const std::string& collective)
{
  return collective == "all_reduce" || collective == "reduce_scatter" || collective == "reduce";
}

// Whether `count` is of what one rank gives or gets, and the size that of all.
bool counts_pieces(const std::string& collective)
{
  return collective == "all_gather" || collective == "reduce_scatter" || collective == "alltoall" ||
         collective == "gather" || collective == "scatter";
}

bool printed_as_bus(const std::string& collective) // until 2020
{
  return collective == "all_gather" || collective == "reduce_scatter";
}

bool can_be(const std::string& collective, const NcclRow& row, int ranks)
{
  if (!row.operation.empty() && reduces(collective) != (row.operation != "none"))
    return false;
  const int width = element_bytes(row.type);
  const double pieces = counts_pieces(collective) ? ranks : 1;
  const double counted = static_cast<double>(row.count) * width * pieces;
  if (width > 0 && ranks > 0 && row.size.value() > 0 && counted != row.size.value())
    return false;
  const auto factor = bus_factor(collective, ranks);
  const double algbw = row.out_of_place.algorithm_bandwidth.value() / 1e9;
  const double busbw = row.out_of_place.bus_bandwidth.value() / 1e9;
  if (!factor || algbw <= 0)
    return true;
  return std::abs(busbw - *factor * algbw) <= kRounding * (1 + *factor) ||
         (printed_as_bus(collective) && std::abs(busbw - algbw) <= 2 * kRounding);
}

} // namespace

std::vector<std::string> possible_collectives(const NcclTestsLog& log)
{
  if (!log.collective.empty())
    return {log.collective};
  const int ranks = log.ranks_per_communicator();
  std::vector<std::string> possible;
  for (const std::string& collective : known_collectives()) {
    bool fits = true;
    for (const NcclRow& row : log.rows)
      fits = fits && can_be(collective, row, ranks);
    if (fits)
      possible.push_back(collective);
  }
  return possible;
}

} // namespace foretrain::calibration
