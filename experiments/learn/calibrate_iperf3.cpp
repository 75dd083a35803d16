// iperf3: core time per byte of a transport, and the rate of an adapter where that is the limit.
//
// iperf3 reports the CPU share of its two processes. The busier end counts: it is what caps a
// connection. Core time per byte is made of a share per segment, per packet and per copied byte;
// runs with different segment sizes (-M) tell per-packet from per-byte.
#include "calibration/iperf3_log.hpp"
#include "experiments/learn/calibrate_logs.hpp"
#include "platforms/machine.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

using calibration::Iperf3Log;
using platforms::Framing;

constexpr double kIperfSpread = 0.05;   // of repeated runs
constexpr double kCoreBound = 0.9;      // of a core: above, the core is the limit
constexpr double kAsFastAsAsked = 0.97; // of a rate asked for: that is then the limit
constexpr double kLineBound = 0.8;      // of the adapter's payload rate: above, the adapter is
// Slow start takes tens of round trips, and iperf3 starts and joins its threads within the CPU time
// that it reports: a shorter run tells those.
constexpr Seconds kShortestRun{1.0};

// What one core can need for its share of the work, with a wide margin.
struct CoreTimeBounds {
  const char* pointer;
  double low, high;
};
constexpr CoreTimeBounds kCoreTimeBounds[] = {
    {"/cpu_per_packet", 0, 1e-4}, {"/copy_rate", 1e7, 1e12}, {"/cpu_per_segment", 0, 1e-2}};

double busier_end(const Iperf3Log& log)
{
  return std::max(log.client_cpu, log.server_cpu);
}

// From 3.16 on each stream has a thread of its own: more than a core is the work of several.
double busiest_thread(const Iperf3Log& log)
{
  const double busy = busier_end(log);
  return busy > 1 ? busy / std::max(1, log.streams) : busy;
}

// The adapter a TCP transport would use, as an index; -1 without platform.
int adapter(const Setup& setup, const platforms::PlatformSpec& spec,
            const platforms::Transport& transport)
{
  if (setup.options.platform.empty())
    return -1;
  for (const auto& network : spec.networks)
    for (std::size_t n = 0; n < spec.nics.size(); ++n)
      if (spec.node.nics[n].name == network.nics.front() && transport.framing(spec.nics[n].link))
        return static_cast<int>(n);
  return -1;
}

// Which of the parameters of core time carries most of it with the preset's values.
const char* largest_share(const platforms::Transport& t, const Framing& framing)
{
  if (!t.layers.empty()) { // its file holds what its own layer adds
    const platforms::TransportLayer& own = t.layers.front();
    return own.aggregation == platforms::Aggregation::always ||
                   (own.aggregation == platforms::Aggregation::adapter && framing.sees_tunnels)
               ? "/cpu_per_segment"
               : "/cpu_per_packet";
  }
  const double payload = (framing.mtu - framing.packet_headers).value();
  const double segment = t.cpu_per_segment.value() / std::max(t.segment.value(), payload);
  const double packet = t.cpu_per_packet.value() / payload;
  const double copy = t.copies / t.copy_rate.value();
  return packet >= segment && packet >= copy ? "/cpu_per_packet"
         : copy >= segment                   ? "/copy_rate"
                                             : "/cpu_per_segment";
}

struct Run {
  std::string path;
  Iperf3Log log;
};

// Of the layer whose file is learnt the thread that iperf3's processes do not show.
bool has_own_thread(const platforms::Transport& t)
{
  return !t.layers.empty() && t.layers.front().thread != platforms::LayerThread::connection;
}

// Core time per byte of the busiest of such threads.
double slowest_thread(const platforms::ByteWork& work)
{
  double most = 0;
  for (const platforms::ThreadWork& it : work.threads)
    most = std::max(most, it.seconds);
  return most;
}

class Lesson {
public:
  Lesson(std::vector<Run> runs, Setup& setup) : runs_(std::move(runs)), setup_(setup)
  {
    const auto [platform, stack] = setup.machine(setup.learnt());
    transport_ = part_of(setup.transport(setup.learnt(), platform), platforms::kTransportKind);
    if (stack.transport.protocol != platforms::NetworkProtocol::tcp)
      throw UsageError("'" + runs_.front().path + "' is of TCP, but the network is '" +
                       stack.transport.name +
                       "'\n  hint: name the transport it ran over with "
                       "--network, like tcp or flannel-vxlan");
    spec_ = platform;
    nic_ = adapter(setup, spec_, stack.transport);
    link_ = nic_ >= 0                  ? spec_.nics[static_cast<std::size_t>(nic_)].link
            : stack.transport.ethernet ? platforms::LinkLayer::ethernet
                                       : platforms::LinkLayer::infiniband;
  }

  std::vector<std::string> cores()
  {
    const auto stack = setup_.machine(setup_.learnt()).stack;
    if (has_own_thread(stack.transport))
      return {}; // thread()
    FitTask task;
    task.source = "iperf3, TCP over " + transport_.id;
    std::vector<const Run*> counted;
    std::set<double> segments;
    for (const Run& run : runs_) {
      if (busier_end(run.log) <= 0)
        continue; // the log does not know
      counted.push_back(&run);
      segments.insert(run.log.segment.value());
      task.measurements.push_back({run.path, "core time per byte (s) at the busier end",
                                   busier_end(run.log) / run.log.rate.value(), kIperfSpread});
    }
    if (counted.empty()) {
      setup_.learning.refuse("network " + transport_.id + " core time",
                             "no log says how busy the processors were", "iperf3 of both ends");
      return {};
    }
    const std::string main =
        largest_share(stack.transport, framing_of(stack.transport, counted.front()->log));
    for (const auto& [pointer, low, high] : kCoreTimeBounds) {
      const bool second = segments.size() > 1 && pointer != std::string("/cpu_per_segment");
      if (pointer == main || second)
        task.knobs.push_back(
            {transport_, pointer, low, high, "iperf3 with other segment sizes (-M)"});
      else if (segments.size() > 1)
        setup_.learning.refuse("network " + transport_.id + " " + pointer,
                               "segment sizes tell what packets and bytes take; it keeps the "
                               "preset's value",
                               "iperf3 with segmentation offload switched off (ethtool -K)");
      else
        setup_.learning.refuse("network " + transport_.id + " " + pointer,
                               "runs with one segment size tell one share of the core time; it "
                               "keeps the preset's value",
                               "iperf3 with other segment sizes (-M 536)");
    }
    task.predict = [&](const OverlayPtr& overlay) {
      const auto fitted = setup_.machine(overlay).stack;
      std::vector<double> values;
      for (const Run* run : counted)
        values.push_back(
            platforms::network_work(fitted, framing_of(fitted.transport, run->log)).sockets);
      return values;
    };
    task.valid = {{"TCP segment", loose_value(to_text(Bytes(*segments.begin()))),
                   loose_value(to_text(Bytes(*segments.rbegin())))}};
    return setup_.learning.learn(task);
  }

  /// What a layer's thread takes, where it, and neither iperf3 nor the adapter, is the limit.
  std::vector<std::string> thread()
  {
    const auto stack = setup_.machine(setup_.learnt()).stack;
    if (!has_own_thread(stack.transport))
      return {};
    FitTask task;
    task.source = "iperf3, TCP over " + transport_.id;
    std::vector<const Run*> counted;
    for (const Run& run : runs_)
      if (busiest_thread(run.log) <= kCoreBound && share_of_line(run) <= kLineBound) {
        counted.push_back(&run);
        task.measurements.push_back({run.path, "core time per byte (s) of the layer's thread",
                                     1 / run.log.rate.value(), kIperfSpread});
      }
    if (counted.empty()) {
      setup_.learning.refuse(
          "network " + transport_.id + " core time",
          "its packets pass a thread of their own, and iperf3 or the adapter was "
          "the limit",
          "iperf3 with more connections (-P)");
      return {};
    }
    const std::string main =
        largest_share(stack.transport, framing_of(stack.transport, counted.front()->log));
    for (const auto& [pointer, low, high] : kCoreTimeBounds)
      if (pointer == main)
        task.knobs.push_back({transport_, pointer, low, high, "iperf3 on an idle host"});
    task.predict = [&](const OverlayPtr& overlay) {
      const auto fitted = setup_.machine(overlay).stack;
      std::vector<double> values;
      for (const Run* run : counted)
        values.push_back(slowest_thread(
            platforms::network_work(fitted, framing_of(fitted.transport, run->log))));
      return values;
    };
    return setup_.learning.learn(task);
  }

  std::vector<std::string> line()
  {
    FitTask task;
    task.source = "iperf3, TCP over " + transport_.id;
    std::vector<const Run*> counted;
    for (const Run& run : runs_)
      if (line_bound(run)) {
        counted.push_back(&run);
        task.measurements.push_back(
            {run.path, "rate (byte/s)", run.log.rate.value(), kIperfSpread});
      }
    if (counted.empty())
      return {};
    const auto nic = static_cast<std::size_t>(nic_);
    task.knobs = {
        {part_of(spec_.node.nics[nic].type, platforms::kNicKind), "/rate", 1e3, 1e13, ""}};
    task.predict = [&](const OverlayPtr& overlay) {
      const auto [platform, stack] = setup_.machine(overlay);
      const auto rate = platform.nics[nic].rate;
      std::vector<double> values;
      for (const Run* run : counted)
        values.push_back(rate.value() /
                         platforms::wire_expansion(framing_of(stack.transport, run->log)));
      return values;
    };
    return setup_.learning.learn(task);
  }

private:
  // Packets as in the log: its segment size, the transport's headers; what the adapter sees of
  // them.
  Framing framing_of(const platforms::Transport& transport, const Iperf3Log& log) const
  {
    Framing framing = transport.framing(link_).value();
    framing.sees_tunnels = nic_ >= 0 && spec_.nics[static_cast<std::size_t>(nic_)].tunnel_offload;
    if (log.segment.value() > 0)
      framing.mtu = log.segment + framing.packet_headers;
    return framing;
  }

  // Of what the adapter carries; 0 where it is not known.
  double share_of_line(const Run& run) const
  {
    if (nic_ < 0)
      return 0;
    const auto& nic = spec_.nics[static_cast<std::size_t>(nic_)];
    return run.log.rate.value() *
           platforms::wire_expansion(
               framing_of(setup_.machine(setup_.learnt()).stack.transport, run.log)) /
           nic.rate.value();
  }

  // Whether the adapter limited a run; says why not when neither it nor a core did.
  bool line_bound(const Run& run)
  {
    const double share = share_of_line(run);
    if (share > 1.05) {
      const auto& nic = spec_.nics[static_cast<std::size_t>(nic_)];
      throw ConfigError(run.path, "",
                        fmt::format("is of {}, but {} of '{}' carries {} of payload at most",
                                    to_text(run.log.rate), nic.name, spec_.name,
                                    to_text(run.log.rate / share)),
                        "is it of another machine or adapter?");
    }
    if (busiest_thread(run.log) > kCoreBound)
      return false;
    const std::string where = fmt::format("{}: {} at {:.0f} % of a core", run.path,
                                          to_text(run.log.rate), 100 * busier_end(run.log));
    if (nic_ < 0) {
      setup_.notes.push_back(where + ": whether the adapter is the limit cannot be told without "
                                     "--platform");
      return false;
    }
    if (run.log.rate > kAsFastAsAsked * run.log.asked && run.log.asked.value() > 0) {
      setup_.learning.refuse(
          "nic rate",
          where + fmt::format(", held to the {} that were asked for", to_text(run.log.asked)),
          "iperf3 without -b");
      return false;
    }
    if (share > kLineBound)
      return true;
    if (has_own_thread(setup_.machine(setup_.learnt()).stack.transport))
      return false; // thread()
    setup_.learning.refuse(
        "nic rate",
        where + fmt::format(", {:.0f} % of the adapter: neither limits it (a window, a "
                            "shaper, the path)",
                            100 * share),
        "iperf3 with more connections (-P)");
    return false;
  }

  std::vector<Run> runs_;
  Setup& setup_;
  Part transport_;
  platforms::PlatformSpec spec_;
  int nic_ = -1;
  platforms::LinkLayer link_ = platforms::LinkLayer::ethernet;
};

} // namespace

std::vector<std::string> teach_iperf3(const std::vector<LogText>& logs, Setup& setup)
{
  std::vector<Run> runs;
  for (const LogText& text : logs) {
    runs.push_back({text.path, calibration::read_iperf3_log(text.text, text.path)});
    const Iperf3Log& log = runs.back().log;
    if (log.protocol != "TCP")
      throw ConfigError(text.path, "/start/test_start/protocol",
                        "is UDP: transports here are TCP or RDMA", "run iperf3 without -u");
    if (log.rate.value() <= 0)
      throw ConfigError(text.path, "/end", "moved no bytes");
    if (log.duration < kShortestRun) {
      setup.learning.refuse("network core time and nic rate",
                            fmt::format("{}: lasted {}: the start of the connection and of its "
                                        "threads is most of such a run",
                                        text.path, to_text(log.duration)),
                            fmt::format("iperf3 of {} or more (-t)", to_text(kShortestRun)));
      runs.pop_back();
    }
  }
  if (runs.empty())
    return std::vector<std::string>(logs.size());
  Lesson lesson(std::move(runs), setup);
  auto taught = lesson.cores();
  for (const auto& more : {lesson.thread(), lesson.line()})
    taught.insert(taught.end(), more.begin(), more.end());
  return std::vector<std::string>(logs.size(), joined(taught));
}

} // namespace foretrain::experiments
