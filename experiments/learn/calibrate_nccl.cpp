// nccl-tests: latencies of the collective library's protocols, and what links give its kernels.
//
// Every row is predicted by the simulated nccl-tests, so that algorithm, protocol and rings are
// those the library would choose with the values under trial.
#include "calibration/nccl_tests_log.hpp"
#include "experiments/learn/calibrate_logs.hpp"
#include "experiments/run/simulate/nccl_tests.hpp"
#include "models/collectives/library.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

constexpr double kSpreadOfRuns = 0.05; // of repeated runs
constexpr double kInterrupted =
    1.25; // hardly ever are two runs further apart than this: 3 sqrt(2) of those
constexpr double kLarge = 1048576; // bytes from which on rates decide, not latencies

struct NcclRun {
  std::string path;
  const NcclTest* test = nullptr;
  NcclTestsOptions options;
};

int element_size(const std::string& type)
{
  return type == "half" || type == "bfloat16"                      ? 2
         : type == "int8" || type == "uint8"                       ? 1
         : type == "double" || type == "int64" || type == "uint64" ? 8
                                                                   : 4;
}

std::string row_place(const std::string& path, const calibration::NcclRow& row)
{
  return row.line > 0 ? fmt::format("{}:{}", path, row.line) : path;
}

// The time of an operation that both halves of a row have measured: their mean, or the shorter one
// where an interruption has made the other one longer.
double time_of(const calibration::NcclRow& row, const std::string& place, Setup& setup)
{
  const double one = row.out_of_place.time.value();
  const double other = row.in_place ? row.in_place->time.value() : 0;
  if (other <= 0)
    return one;
  const auto [shorter, longer] = std::minmax(one, other);
  if (longer <= kInterrupted * shorter)
    return std::sqrt(shorter * longer);
  setup.notes.push_back(
      fmt::format("{}: {:.4g} us out of place and {:.4g} us in place: the shorter "
                  "time is used",
                  place, 1e6 * one, 1e6 * other));
  return shorter;
}

std::string collective_name(const std::string& program)
{
  return program.ends_with("_perf") ? program.substr(0, program.size() - 5) : program;
}

// The program that wrote a log, without "_perf". Throws ConfigError.
std::string collective_of(const calibration::NcclTestsLog& log, const std::string& path,
                          const std::string& asked)
{
  const auto possible = calibration::possible_collectives(log);
  std::string named = collective_name(asked);
  const bool allowed = std::find(possible.begin(), possible.end(), named) != possible.end();
  if (log.collective.empty() && !named.empty() && !allowed)
    throw ConfigError(path, "", "cannot be of --program '" + excerpt(asked) + "'",
                      "its operations, counts and bandwidths are those of " +
                          (possible.empty() ? "no program of nccl-tests" : joined(possible)));
  if (log.collective.empty() && !named.empty())
    return named;
  if (possible.size() == 1)
    return possible.front();
  throw ConfigError(path, "", "does not say which program of nccl-tests wrote it",
                    "give --program: it can be of " +
                        (possible.empty() ? "none that is known" : joined(possible)));
}

NcclRun read_run(const calibration::NcclTestsLog& log, const std::string& collective,
                 const LogText& text, Setup& setup, const platforms::PlatformSpec& spec,
                 FitTask& task)
{
  const int gpus_per_node = spec.gpus_per_node();
  for (const std::string& note : log.notes)
    setup.notes.push_back(text.path + ": " + note);
  if (!log.ranks.empty())
    setup.take_gpu(log.ranks.front().gpu, text.path, spec, task);
  const int told = setup.options.nodes;
  if (const std::string against = told > 0 ? log.against_nodes(told) : ""; !against.empty())
    setup.notes.push_back(text.path + ": " + against);
  if (!log.collective.empty() && !setup.options.program.empty() &&
      collective_name(setup.options.program) != log.collective)
    setup.notes.push_back(text.path + ": is of " + log.collective +
                          ", --program is for logs that do not say so");
  NcclRun run;
  run.path = text.path;
  run.test = find_nccl_test(collective + "_perf");
  if (run.test == nullptr)
    throw ConfigError(text.path, "", "is of '" + collective + "', which is not simulated",
                      "known: " + joined(nccl_test_names()));
  if (log.collective.empty())
    setup.notes.push_back(text.path + ": taken to be of " + run.test->program);
  const int ranks = log.ranks_per_communicator();
  run.options.nodes = setup.options.nodes > 0 ? setup.options.nodes : std::max(1, log.nodes());
  run.options.gpus_per_node =
      setup.options.gpus > 0 ? setup.options.gpus : ranks / run.options.nodes;
  if (run.options.gpus_per_node < 1)
    throw UsageError("'" + text.path + "' does not say on how many GPUs it ran: give --gpus");
  if (ranks > 0 && run.options.gpus_per_node * run.options.nodes != ranks)
    throw UsageError(fmt::format("'{}' has {} ranks, --gpus {} on {} node(s) make {}", text.path,
                                 ranks, run.options.gpus_per_node, run.options.nodes,
                                 run.options.gpus_per_node * run.options.nodes));
  if (run.options.gpus_per_node > gpus_per_node)
    throw ConfigError(text.path, "",
                      fmt::format("is of {} GPUs per node, but the platform has {}",
                                  run.options.gpus_per_node, gpus_per_node));
  run.options.gpus_per_thread = std::min(log.gpus_per_thread, run.options.gpus_per_node);
  for (const calibration::NcclRow& row : log.rows) {
    if (row.size.value() <= 0 || row.out_of_place.time.value() <= 0)
      continue;
    run.options.element_size = element_size(row.type);
    run.options.sizes.push_back(row.size.value());
    const std::string place = row_place(text.path, row);
    task.measurements.push_back({place, fmt::format("{} of {} (s)", collective, to_text(row.size)),
                                 time_of(row, place, setup), kSpreadOfRuns});
  }
  const auto& sizes = run.options.sizes;
  if (const auto largest = std::max_element(sizes.begin(), sizes.end());
      sizes.size() > 1 && *largest >= kLarge)
    (task.measurements.end() - (sizes.end() - largest))->largest = true;
  return run;
}

std::vector<Knob> knobs_for(const Setup& setup, const std::vector<NcclRun>& runs)
{
  const auto [spec, stack] = setup.machine(setup.learnt());
  const Part library = part_of(setup.library(setup.learnt(), spec), models::kLibraryKind);
  const Part gpu = part_of(spec.node.gpus->type, platforms::kGpuKind);
  const Part cpu = part_of(spec.node.cpu, platforms::kCpuKind);
  const std::string large = "nccl-tests up to 1 GiB (-e 1G)";
  std::vector<Knob> knobs;
  const bool several_nodes = std::any_of(runs.begin(), runs.end(),
                                         [](const NcclRun& run) { return run.options.nodes > 1; });
  // What is slow between nodes alone is looked for there first.
  if (several_nodes) {
    const Part transport =
        part_of(setup.transport(setup.learnt(), spec), platforms::kTransportKind);
    if (stack.transport.protocol == platforms::NetworkProtocol::tcp) {
      knobs.push_back({transport, "/copy_rate", 1e6, 1e13, "iperf3 between the nodes"});
      knobs.push_back({library, "/socket_step", 1e-7, 1e-2, "nccl-tests -b 8 between nodes"});
    }
    for (std::size_t n = 0; n < spec.nics.size(); ++n)
      if (!spec.networks.empty() && spec.node.nics[n].name == spec.networks.front().nics.front())
        knobs.push_back({part_of(spec.node.nics[n].type, platforms::kNicKind), "/rate", 1e6, 1e13,
                         large + " between nodes"});
  }
  knobs.push_back(
      {gpu, "/nvlink_collective_efficiency", 0.05, 1, large + " on GPUs joined by NVLink"});
  knobs.push_back({gpu, "/nvlink_in_switch_efficiency", 0.05, 1, large + " with NVLS"});
  knobs.push_back({cpu, "/root_port_duplex", 1e8, 1e12, large + " over PCIe"});
  knobs.push_back({cpu, "/socket_link", 1e8, 1e12, large + " across sockets"});
  // The plateau of small sizes when one thread launches on several GPUs.
  if (std::any_of(runs.begin(), runs.end(),
                  [](const NcclRun& run) { return run.options.gpus_per_thread > 1; }))
    knobs.push_back({library, "/host_launch", 1e-8, 1e-3, "nccl-tests -b 8 with -g above 1"});
  // A protocol's hand-shakes are the same work on every link: its latencies are fitted by one
  // factor; by another one those of blocks on a generation of GPUs, where they are told apart.
  const auto protocols = read_as<models::Library>(library.value).protocols;
  for (std::size_t i = 0; i < protocols.size(); ++i) {
    const std::string at = fmt::format("/protocols/{}", i);
    const models::GpuLatency* const own = protocols[i].latency_on(spec.gpu.compute_capability);
    if (own != nullptr) {
      const std::string of_gpu =
          fmt::format("{}/gpu_latencies/{}", at, own - protocols[i].gpu_latencies.data());
      Knob knob{library, of_gpu + "/base", 1e-8, 1e-2,
                "nccl-tests from 8 bytes on (-b 8) in one node with NCCL_PROTO=" +
                    protocols[i].name};
      for (const char* step : {"/nvlink_hop", "/tree_hop", "/send", "/peers", "/filled"})
        knob.tied.push_back(of_gpu + step);
      knobs.push_back(std::move(knob));
    }
    Knob knob{library, at + "/ring_base", 1e-8, 1e-2,
              fmt::format("nccl-tests from 8 bytes on (-b 8){} with NCCL_PROTO={}",
                          own != nullptr ? " between nodes" : "", protocols[i].name)};
    knob.tied = {at + "/tree_base"};
    for (const char* family : {"/ring_hop", "/tree_hop"})
      for (const char* reach : {"/nvlink", "/pcie", "/network"})
        knob.tied.push_back(at + family + reach);
    if (protocols[i].in_switch_base.value() > 0)
      knob.tied.push_back(at + "/in_switch_base");
    knobs.push_back(std::move(knob));
  }
  return knobs;
}

} // namespace

std::vector<std::string> teach_nccl_tests(const std::vector<LogText>& logs, Setup& setup)
{
  setup.need_platform(logs.front().path);
  const auto spec = setup.platform(setup.learnt());
  FitTask task;
  std::vector<NcclRun> runs;
  for (const LogText& text : logs) {
    const auto programs = calibration::read_nccl_tests_all(text.text, text.path);
    for (const auto& log : programs) {
      const std::string collective = collective_of(log, text.path, setup.options.program);
      const bool simulated = find_nccl_test(collective + "_perf") != nullptr;
      if (programs.size() > 1 && !simulated)
        setup.notes.push_back(
            fmt::format("{}: '{}' is not simulated: left out", text.path, excerpt(collective)));
      else
        runs.push_back(read_run(log, collective, text, setup, spec, task));
    }
  }
  if (task.measurements.empty())
    throw ConfigError(logs.front().path, "", "holds no row with a time");
  task.source = fmt::format("nccl-tests on {}", setup.options.platform);
  task.series = true;
  task.knobs = knobs_for(setup, runs);
  double least = 1e18;
  double most = 0;
  for (const NcclRun& run : runs)
    for (const double size : run.options.sizes) {
      least = std::min(least, size);
      most = std::max(most, size);
    }
  task.valid = {
      {"message size", loose_value(to_text(Bytes(least))), loose_value(to_text(Bytes(most)))}};
  task.predict = [&](const OverlayPtr& overlay) {
    const auto [platform, stack] = setup.machine(overlay);
    const Value library = setup.library(overlay, platform);
    std::vector<double> times;
    for (NcclRun& run : runs) {
      run.options.library = library;
      for (const NcclTestsRow& row : run_nccl_test(*run.test, platform, stack, run.options))
        times.push_back(row.time);
    }
    return times;
  };
  const std::string taught = joined(setup.learning.learn(task));
  return std::vector<std::string>(logs.size(), taught);
}

} // namespace foretrain::experiments
