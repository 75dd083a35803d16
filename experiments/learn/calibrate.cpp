#include "experiments/learn/calibrate.hpp"

#include "calibration/fio_log.hpp"
#include "calibration/gpu_model.hpp"
#include "calibration/iperf3_log.hpp"
#include "calibration/nccl_tests_log.hpp"
#include "calibration/nvbandwidth_log.hpp"
#include "calibration/p2p_log.hpp"
#include "calibration/perftest_log.hpp"
#include "calibration/realrun_record.hpp"
#include "experiments/learn/calibrate_logs.hpp"
#include "experiments/learn/reader_of.hpp"
#include "experiments/spec/gpu_library.hpp"
#include "experiments/spec/resolve.hpp"
#include "models/collectives/library.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/base/version.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

struct LogKind {
  const char* name;
  bool (*is)(const std::string& text);
  Teach teach;
};

bool is_copy_test(const std::string& text)
{
  return calibration::is_p2p_test(text) || calibration::is_nvbandwidth(text);
}

// In the order in which they are fitted: what a copy teaches is known when collectives are fitted.
constexpr LogKind kLogKinds[] = {
    {"topology", &is_topology, &teach_topology},
    {"p2pBandwidthLatencyTest, nvbandwidth", &is_copy_test, &teach_p2p},
    {"fio", &calibration::is_fio, &teach_fio},
    {"perftest", &calibration::is_perftest, &teach_perftest},
    {"iperf3", &calibration::is_iperf3, &teach_iperf3},
    {"realrun", &calibration::is_realrun_record, &teach_realrun},
    {"nccl-tests", &calibration::is_nccl_tests, &teach_nccl_tests},
};

constexpr double kPoorFit = 0.15; // error of a fit that deserves a word

std::string digest_of(const std::string& text)
{
  std::uint64_t hash = 14695981039346656037ULL; // FNV-1a
  for (const char c : text)
    hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return fmt::format("fnv1a64:{:016x}", hash);
}

const LogKind& kind_of(const LogText& log)
{
  for (const LogKind& kind : kLogKinds)
    if (kind.is(log.text))
      return kind;
  std::vector<std::string> names;
  for (const LogKind& kind : kLogKinds)
    names.emplace_back(kind.name);
  const std::string reader = reader_of(log.path, log.text);
  throw ConfigError(log.path, "", "is not a log that is known here",
                    !reader.empty()
                        ? reader
                        : "known: " + joined(names) +
                              " (nvidia-smi topo -m, NCCL topology XML); iperf3 and fio as JSON");
}

std::vector<LogText> read_all(const std::vector<std::string>& paths)
{
  std::vector<LogText> logs;
  for (const std::string& path : paths) {
    logs.push_back({path, calibration::read_log(path)});
    for (std::size_t i = 0; i + 1 < logs.size(); ++i)
      if (!logs[i].text.empty() && logs[i].text == logs.back().text)
        throw UsageError("'" + path + "' is the same log as '" + logs[i].path +
                         "': each measurement counts once");
  }
  return logs;
}

} // namespace

platforms::PlatformSpec Setup::platform(const OverlayPtr& overlay) const
{
  return platforms::load_platform(
      resolve_preset(options.platform, platforms::kPlatformKind, overlay));
}

Value Setup::transport(const OverlayPtr& overlay, const platforms::PlatformSpec& on) const
{
  std::string name = options.network;
  if (name.empty()) {
    name = "tcp";
    for (const platforms::Nic& nic : on.nics)
      name = nic.rdma ? "rdma" : name;
  }
  return resolve_preset(name, platforms::kTransportKind, overlay);
}

Setup::Machine Setup::machine(const OverlayPtr& overlay) const
{
  Machine machine;
  if (!options.platform.empty())
    machine.platform = platform(overlay);
  StackSpec stack{resolve_preset(options.host, platforms::kHostKind, overlay),
                  transport(overlay, machine.platform)};
  machine.stack = resolve_stack(stack, nullptr, machine.platform, stack.host);
  return machine;
}

Value Setup::library(const OverlayPtr& overlay, const platforms::PlatformSpec& on) const
{
  return library_for(options.library, on.gpu, overlay);
}

void Setup::need_platform(const std::string& log) const
{
  if (options.platform.empty())
    throw UsageError("'" + log + "' needs --platform NAME: which machine it was measured on");
}

namespace {

// Whether a tool's name for a GPU is that of a board, as it is or as a preset lists it.
bool is_board(const std::string& gpu, const std::string& board)
{
  if (gpu.find(board) != std::string::npos)
    return true;
  try {
    return read_as<platforms::Gpu>(resolve_preset(gpu, platforms::kGpuKind)).name == board;
  } catch (const ConfigError&) {
    return false;
  }
}

} // namespace

void Setup::take_gpu(const std::string& gpu, const std::string& log,
                     const platforms::PlatformSpec& spec, FitTask& task)
{
  const std::string model = calibration::gpu_model(gpu);
  if (model.empty() || is_board(gpu, spec.gpu.name))
    return;
  const std::string another =
      fmt::format("is of a '{}', '{}' has the {}", excerpt(gpu), spec.name, spec.gpu.name);
  if (model != calibration::gpu_model(spec.gpu.name))
    task.objection = log + " " + another;
  else
    notes.push_back(log + ": " + another);
}

Calibration calibrate(const std::vector<std::string>& paths, const CalibrateOptions& options)
{
  const std::vector<LogText> logs = read_all(paths);
  std::vector<const LogKind*> kinds;
  for (const LogText& log : logs)
    kinds.push_back(&kind_of(log));
  Setup setup;
  setup.options = options;
  setup.learning.force = options.force;
  for (const std::string& name : options.profiles)
    setup.learning.profiles.add(name);
  calibration::Profile& profile = setup.learning.learnt;
  profile.made_by = fmt::format("foretrain calibrate {}", version());
  for (const LogKind& kind : kLogKinds) {
    std::vector<LogText> these;
    for (std::size_t i = 0; i < logs.size(); ++i)
      if (kinds[i] == &kind)
        these.push_back(logs[i]);
    if (these.empty())
      continue;
    const auto taught = kind.teach(these, setup);
    for (std::size_t i = 0; i < these.size(); ++i)
      profile.logs.push_back({std::filesystem::path(these[i].path).filename().string(), kind.name,
                              digest_of(these[i].text), taught[i]});
  }
  for (const auto& p : profile.parameters)
    if (p.residuals->mean > kPoorFit &&
        (&p == profile.parameters.data() || (&p - 1)->source != p.source))
      setup.notes.push_back(fmt::format(
          "{}: the model follows these logs only within {:.0f} % on average: is it the right "
          "platform, network and library?",
          p.source, 100 * p.residuals->mean));
  for (const FitCheck& check : setup.learning.checks)
    if (check.missed > kPoorFit && check.objection.empty())
      setup.notes.push_back(
          check.source +
          ": the profile misses the largest messages, in which rates show: " + check.largest);
  return {std::move(profile), std::move(setup.learning.checks), std::move(setup.notes)};
}

bool Calibration::withholds() const
{
  return std::any_of(checks.begin(), checks.end(),
                     [](const FitCheck& check) { return !check.objection.empty(); }) &&
         profile.parameters.empty();
}

} // namespace foretrain::experiments
