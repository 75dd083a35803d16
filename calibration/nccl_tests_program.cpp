// Which program of nccl-tests wrote a log that does not say: its columns, the operation, the root,
// what `count` is of, bus bandwidth over algorithm bandwidth, and what is checked.
#include "calibration/nccl_tests_log.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

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

bool has_root(const std::string& collective)
{
  return collective == "broadcast" || collective == "reduce" || collective == "gather" ||
         collective == "scatter";
}

// Its result has no place to be in, so nccl-tests checks what is out of place alone.
bool has_no_place(const std::string& collective)
{
  return collective == "alltoall" || collective == "sendrecv";
}

// Programs that printed such columns while each had its own (nccl-tests until 2021, print_header):
// of those without an operation all-to-all had an empty column for it, all-gather none.
bool prints(const std::string& collective, const NcclColumns& columns)
{
  if (columns.operation && columns.root)
    return true;
  if (columns.operation != columns.root)
    return columns.root ? has_root(collective)
                        : !has_root(collective) && collective != "all_gather";
  return collective == "all_gather" || collective == "sendrecv";
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

// Whether the log is written as the program writes: it tells apart those with the same numbers.
bool looks_like(const std::string& collective, const NcclTestsLog& log)
{
  if (!prints(collective, log.columns))
    return false;
  const bool operation = log.columns.operation;
  const bool root = log.columns.root;
  return std::none_of(log.rows.begin(), log.rows.end(), [&](const NcclRow& row) {
    const bool other_operation = operation && row.operation.empty() && reduces(collective);
    const bool other_root = operation && root && has_root(collective) != (row.root >= 0);
    const bool other_checks = row.in_place && row.out_of_place.wrong &&
                              has_no_place(collective) == row.in_place->wrong.has_value();
    return other_operation || other_root || other_checks;
  });
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
  std::vector<std::string> likely;
  std::copy_if(possible.begin(), possible.end(), std::back_inserter(likely),
               [&log](const std::string& it) { return looks_like(it, log); });
  return likely.empty() ? possible : likely;
}

} // namespace foretrain::calibration
