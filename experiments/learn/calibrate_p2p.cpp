// p2pBandwidthLatencyTest and nvbandwidth: what copies inside, between and around the GPUs of one
// node cost.
#include "calibration/nvbandwidth_log.hpp"
#include "calibration/p2p_log.hpp"
#include "experiments/learn/calibrate_logs.hpp"
#include "platforms/show.hpp"
#include "sim/base/text.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

using calibration::P2pMatrix;

constexpr double kBandwidthSpread = 0.02; // of repeated runs
constexpr double kLatencySpread = 0.03;

struct Cell {
  P2pMatrix::Quantity quantity;
  bool peer_access;
  std::size_t from, to;
};

// Cells that say something about hardware, in the order of their measurements.
void take(const calibration::P2pLog& log, const std::string& path, std::vector<Cell>& cells,
          std::vector<Observation>& measurements)
{
  for (const P2pMatrix& matrix : log.matrices) {
    const bool latency = matrix.quantity == P2pMatrix::Quantity::latency;
    if (latency && matrix.clock == "CPU")
      continue; // how long the call takes, not the copy
    const char* what = latency                                           ? "latency"
                       : matrix.quantity == P2pMatrix::Quantity::one_way ? "one way"
                                                                         : "both ways";
    for (std::size_t a = 0; a < matrix.values.size(); ++a)
      for (std::size_t b = 0; b < matrix.values.size(); ++b) {
        if (matrix.values[a][b] <= 0)
          continue; // rounded to nothing
        cells.push_back({matrix.quantity, matrix.peer_access, a, b});
        measurements.push_back(
            {fmt::format("{}:{}", path, matrix.line),
             fmt::format("{} {} to {} {} peer access ({})", what, a, b,
                         matrix.peer_access ? "with" : "without", latency ? "s" : "byte/s"),
             matrix.values[a][b], latency ? kLatencySpread : kBandwidthSpread});
      }
  }
}

std::vector<double> predictions(const std::vector<Cell>& cells, const platforms::PlatformSpec& spec,
                                const platforms::Stack& stack)
{
  const platforms::PeerMatrix with = platforms::peer_matrix(spec, stack, true);
  const platforms::PeerMatrix without = platforms::peer_matrix(spec, stack, false);
  std::vector<double> values;
  for (const Cell& cell : cells) {
    const platforms::PeerMatrix& m = cell.peer_access ? with : without;
    const auto at = [&](const std::vector<std::vector<double>>& table) {
      return table[cell.from][cell.to];
    };
    values.push_back(cell.quantity == P2pMatrix::Quantity::latency   ? at(m.latency) * 1e-6
                     : cell.quantity == P2pMatrix::Quantity::one_way ? at(m.one_way) * 1e9
                                                                     : at(m.both_ways) * 1e9);
  }
  return values;
}

} // namespace

std::vector<std::string> teach_p2p(const std::vector<LogText>& logs, Setup& setup)
{
  setup.need_platform(logs.front().path);
  const auto spec = setup.platform(setup.learnt());
  FitTask task;
  std::vector<Cell> cells;
  for (const LogText& text : logs) {
    const auto log = calibration::is_nvbandwidth(text.text)
                         ? calibration::read_nvbandwidth(text.text, text.path)
                         : calibration::read_p2p_test(text.text, text.path);
    if (static_cast<int>(log.devices()) != spec.gpus_per_node())
      calibration::fail(text.path, log.matrices.front().line,
                        fmt::format("is of {} GPUs, but a node of '{}' has {}", log.devices(),
                                    spec.name, spec.gpus_per_node()));
    if (!log.gpus.empty())
      setup.take_gpu(log.gpus.front(), text.path, spec, task);
    take(log, text.path, cells, task.measurements);
  }
  const Part gpu = part_of(spec.node.gpus->type, platforms::kGpuKind);
  const Part cpu = part_of(spec.node.cpu, platforms::kCpuKind);
  const std::string whole = "p2pBandwidthLatencyTest with all of its matrices, on a node with "
                            "more than one GPU";
  const bool other = std::all_of(logs.begin(), logs.end(), [](const LogText& text) {
    return calibration::is_nvbandwidth(text.text);
  });
  task.source =
      std::string(other ? "nvbandwidth" : "p2pBandwidthLatencyTest") + " on a node of " + spec.name;
  task.knobs = {
      {gpu, "/memory_efficiency", 0.05, 1, whole},
      {gpu, "/nvlink_copy_efficiency", 0.05, 1, "p2pBandwidthLatencyTest over NVLink"},
      {gpu, "/copy_latency", 1e-8, 1e-2, "the latency matrices of p2pBandwidthLatencyTest"},
      {gpu, "/peer_latency", 1e-8, 1e-2, "the latency matrices with peer access"},
      {gpu, "/host_hop_latency", 1e-8, 1e-2, "the latency matrices without peer access"},
      {cpu, "/root_port_duplex", 1e8, 1e12, "the bandwidth matrices without peer access"},
      {cpu, "/socket_link", 1e8, 1e12, "copies between GPUs of different sockets"},
  };
  task.predict = [&](const OverlayPtr& overlay) {
    const auto [platform, stack] = setup.machine(overlay);
    return predictions(cells, platform, stack);
  };
  const std::string taught = joined(setup.learning.learn(task));
  return std::vector<std::string>(logs.size(), taught);
}

} // namespace foretrain::experiments
