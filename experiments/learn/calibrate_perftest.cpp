// perftest (ib_write_bw and its like): the rate of an adapter.
#include "calibration/perftest_log.hpp"
#include "experiments/learn/calibrate_logs.hpp"
#include "platforms/machine.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

using calibration::PerftestLog;

constexpr double kPerftestSpread = 0.02;    // of repeated runs
constexpr Bytes kLargeMessage{64.0 * 1024}; // from which the rate, not the start of each, counts
constexpr double kNearRate = 0.8;           // of the adapter's: below, something else is the limit
constexpr double kBeyondRate = 1.05;

// The platform's adapter that carries the transport, as an index; -1 without one.
int rdma_adapter(const platforms::PlatformSpec& spec, const platforms::Transport& transport)
{
  for (const auto& network : spec.networks)
    for (std::size_t n = 0; n < spec.nics.size(); ++n)
      if (spec.node.nics[n].name == network.nics.front() && transport.framing(spec.nics[n].link))
        return static_cast<int>(n);
  return -1;
}

// Wire bytes per byte of data.
double expansion(const platforms::Transport& transport, platforms::LinkLayer link,
                 const PerftestLog& log)
{
  platforms::Framing framing = transport.framing(link).value();
  if (log.mtu.value() > 0)
    framing.mtu = log.mtu + framing.packet_headers;
  return platforms::wire_expansion(framing);
}

} // namespace

std::vector<std::string> teach_perftest(const std::vector<LogText>& logs, Setup& setup)
{
  setup.need_platform(logs.front().path);
  const auto [spec, stack] = setup.machine(setup.learnt());
  const platforms::Transport& transport = stack.transport;
  const int found =
      transport.protocol == platforms::NetworkProtocol::rdma ? rdma_adapter(spec, transport) : -1;
  if (found < 0)
    throw UsageError(fmt::format("'{}' is of RDMA, but the network is '{}' of '{}'\n  hint: name a "
                                 "transport over RDMA with --network, and a platform with adapters "
                                 "that carry it",
                                 logs.front().path, transport.name, spec.name));
  const auto nic = static_cast<std::size_t>(found);
  const platforms::LinkLayer link = spec.nics[nic].link;
  FitTask task;
  task.source = "perftest on " + spec.name;
  std::vector<double> expansions;
  for (const LogText& text : logs) {
    const PerftestLog log = calibration::read_perftest(text.text, text.path);
    const calibration::PerftestRow& largest = log.rows.back();
    const double wire = expansion(transport, link, log);
    const double share = largest.average.value() * wire / spec.nics[nic].rate.value();
    const std::string where = fmt::format("{}:{}: {} in messages of {}", text.path, largest.line,
                                          to_text(largest.average), to_text(largest.size));
    if (share > kBeyondRate)
      calibration::fail(text.path, largest.line,
                        fmt::format("is {:.0f} % of what {} of '{}' carries", 100 * share,
                                    spec.node.nics[nic].name, spec.name),
                        "is it of another machine or adapter?");
    if (largest.size < kLargeMessage) {
      setup.learning.refuse("nic rate", where + ": so small, each message's start counts",
                            "ib_write_bw with -s 1048576, or -a");
      continue;
    }
    if (share < kNearRate) {
      setup.learning.refuse("nic rate",
                            where + fmt::format(", {:.0f} % of the adapter: something else limits "
                                                "it (its slot, the path)",
                                                100 * share),
                            "ib_write_bw between two nodes at one switch");
      continue;
    }
    expansions.push_back(wire);
    task.measurements.push_back({fmt::format("{}:{}", text.path, largest.line), "rate (byte/s)",
                                 largest.average.value(), kPerftestSpread});
  }
  if (expansions.empty())
    return std::vector<std::string>(logs.size());
  task.knobs = {{part_of(spec.node.nics[nic].type, platforms::kNicKind), "/rate", 1e3, 1e13, ""}};
  task.predict = [&](const OverlayPtr& overlay) {
    std::vector<double> values;
    for (const double wire : expansions)
      values.push_back(setup.platform(overlay).nics[nic].rate.value() / wire);
    return values;
  };
  const std::string taught = joined(setup.learning.learn(task));
  return std::vector<std::string>(logs.size(), taught);
}

} // namespace foretrain::experiments
