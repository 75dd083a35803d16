#include "calibration/nccl_tests_log.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

namespace foretrain::calibration {

namespace {

// nccl-tests, doc/PERFORMANCE.md; n ranks.
double one(double)
{
  return 1;
}
double gather(double n)
{
  return (n - 1) / n;
}
double reduce_all(double n)
{
  return 2 * (n - 1) / n;
}

struct Collective {
  const char* name;
  double (*factor)(double ranks);
};
constexpr Collective kCollectives[] = {
    {"all_reduce", &reduce_all}, {"all_gather", &gather}, {"reduce_scatter", &gather},
    {"alltoall", &gather},       {"broadcast", &one},     {"reduce", &one},
    {"sendrecv", &one},          {"gather", &gather},     {"scatter", &gather},
};

const std::map<std::string, int>& widths()
{
  static const std::map<std::string, int> bytes{
      {"int8", 1},  {"uint8", 1},    {"char", 1},   {"f8e4m3", 1}, {"f8e5m2", 1},
      {"half", 2},  {"bfloat16", 2}, {"int32", 4},  {"uint32", 4}, {"int", 4},
      {"float", 4}, {"int64", 8},    {"uint64", 8}, {"double", 8}};
  return bytes;
}

// Whether `bandwidth` GB/s can be share * size / time, all three rounded as printed.
bool fits(double size, const detail::PrintedTiming& t, double share)
{
  const double slowest = share * size / ((t.time_us.value + t.time_us.slack) * 1e3);
  const double shortest = std::max(t.time_us.value - t.time_us.slack, 1e-9);
  const double fastest = share * size / (shortest * 1e3);
  const double rounding = t.algbw.slack * 1.01 + 1e-9;
  return t.algbw.value >= slowest - rounding && t.algbw.value <= fastest + rounding;
}

bool same(const Printed& a, const Printed& b, double factor)
{
  return std::abs(b.value - factor * a.value) <= (b.slack + factor * a.slack) * 1.01 + 1e-9;
}

// Until June 2020 all_gather and reduce_scatter printed the bus bandwidth as algbw too
// (nccl-tests issue 45).
bool old_gather(const NcclTestsLog& log, const NcclRow& row, const detail::PrintedTiming& t, int n)
{
  const bool possible = log.collective.empty() || log.collective == "all_gather" ||
                        log.collective == "reduce_scatter";
  return possible && n > 1 && same(t.algbw, t.busbw, 1) && fits(row.size.value(), t, gather(n));
}

void check_half(NcclTestsLog& log, const NcclRow& row, const detail::PrintedTiming& t,
                const detail::Fail& fail)
{
  if (t.time_us.value < 0 || t.algbw.value < 0 || t.busbw.value < 0)
    fail("times and bandwidths cannot be negative", "");
  const int n = log.ranks_per_communicator();
  if (t.cpu_time) {
    detail::add_note(log, "times are CPU times (-C), bandwidths those of the GPU");
  } else if (row.size.value() > 0 && !fits(row.size.value(), t, 1)) {
    if (old_gather(log, row, t, n)) {
      detail::add_note(log, "algbw is the bus bandwidth, as nccl-tests printed it until 2020");
      return;
    }
    fail(fmt::format("{:.0f} bytes in {:g} us are {:.3g} GB/s, but algbw says {:g}",
                     row.size.value(), t.time_us.value, row.size.value() / t.time_us.value / 1e3,
                     t.algbw.value),
         "was a unit or a number edited? size is in bytes, time in us, bandwidths in 10^9 B/s");
  }
  const auto factor = bus_factor(log.collective, n);
  if (factor && !same(t.algbw, t.busbw, *factor))
    fail(fmt::format("busbw {:g} is not algbw {:g} x {:.4g}, the factor of {} over {} ranks",
                     t.busbw.value, t.algbw.value, *factor, log.collective, n),
         "");
}

} // namespace

std::vector<std::string> known_collectives()
{
  std::vector<std::string> names;
  for (const Collective& it : kCollectives)
    names.emplace_back(it.name);
  return names;
}

int element_bytes(const std::string& type)
{
  const auto found = widths().find(type);
  return found != widths().end() ? found->second : 0;
}

std::optional<double> bus_factor(const std::string& collective, int ranks)
{
  for (const Collective& it : kCollectives)
    if (collective == it.name && ranks > 0)
      return it.factor(ranks);
  return {};
}

int NcclTestsLog::ranks_per_communicator() const
{
  std::map<int, int> groups;
  for (const auto& it : ranks)
    ++groups[it.group];
  for (const auto& [group, size] : groups)
    if (size != groups.begin()->second)
      return 0;
  return groups.empty() ? 0 : groups.begin()->second;
}

int NcclTestsLog::nodes() const
{
  std::set<std::string> hosts;
  for (const auto& it : ranks)
    hosts.insert(it.host);
  return static_cast<int>(hosts.size());
}

std::string NcclTestsLog::against_nodes(int told) const
{
  if (ranks.empty() || told == nodes())
    return "";
  return fmt::format("lists its ranks on {} node{}, --nodes {} is believed", nodes(),
                     nodes() == 1 ? "" : "s", told);
}

namespace detail {

std::string collective_of(const std::string& program)
{
  const std::string base = program.substr(program.find_last_of('/') + 1);
  for (const Collective& it : kCollectives)
    if (base == std::string(it.name) + "_perf")
      return it.name;
  return "";
}

void add_note(NcclTestsLog& log, const std::string& note)
{
  if (std::find(log.notes.begin(), log.notes.end(), note) == log.notes.end())
    log.notes.push_back(note);
}

void check_row(NcclTestsLog& log, const NcclRow& row, const std::vector<PrintedTiming>& halves,
               const Fail& fail)
{
  const auto width = widths().find(row.type);
  if (width == widths().end())
    fail("type '" + excerpt(row.type) + "' is not one of nccl-tests", "");
  const auto bytes = static_cast<long long>(row.size.value());
  const long long part = row.count * (width == widths().end() ? 1 : width->second);
  const int n = log.ranks_per_communicator();
  // The count is that of the whole buffer or of each rank's part of it.
  const bool whole = part == bytes;
  const bool shared = part > 0 && bytes % part == 0 && (n == 0 || bytes / part == n);
  if (!whole && !shared)
    fail(fmt::format("{} elements of type {} are not {} bytes, nor a rank's share of them",
                     row.count, row.type, bytes),
         "size must be in bytes");
  for (const PrintedTiming& half : halves)
    check_half(log, row, half, fail);
}

void check_log(NcclTestsLog& log, const std::string& name)
{
  if (log.rows.empty())
    throw ConfigError(name, "", "holds no row of results", "did the test run to its end?");
  double sum = 0;
  double rounding = 0;
  int values = 0;
  int wrong = 0;
  for (const NcclRow& row : log.rows) {
    const auto add = [&](const NcclTiming& timing) {
      const double rate = timing.bus_bandwidth.value() / 1e9;
      sum += rate;
      rounding += rate < 1000 ? 0.005 : rate < 10000 ? 0.05 : 0.5; // digits nccl-tests prints
      ++values;
      wrong += timing.wrong.value_or(0) > 0 ? 1 : 0;
    };
    add(row.out_of_place);
    if (row.in_place)
      add(*row.in_place);
  }
  if (wrong > 0)
    add_note(log, fmt::format("{} of {} timings are of runs with wrong results", wrong, values));
  if (!log.complete)
    add_note(log, "the log ends before the average bus bandwidth: rows may be missing");
  if (!log.average_bus_bandwidth)
    return;
  const double average = log.average_bus_bandwidth->value() / 1e9;
  if (std::abs(sum / values - average) > rounding / values + 1e-3 * average + 1e-6)
    add_note(log, fmt::format("the average bus bandwidth of the rows is {:.4g} GB/s, the log says "
                              "{:.4g}: rows are missing or changed",
                              sum / values, average));
}

} // namespace detail

} // namespace foretrain::calibration
