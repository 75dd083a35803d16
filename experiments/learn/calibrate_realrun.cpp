// Records of realrun: training runs on CPU cores teach what computing costs there and what ranks of
// one node pay to reduce gradients; iperf3 records teach the core time of TCP over each path.
//
// A run is predicted as a whole, like any other experiment (realrun_experiment.hpp).
#include "calibration/realrun_record.hpp"
#include "experiments/learn/calibrate_logs.hpp"
#include "experiments/learn/realrun_experiment.hpp"
#include "experiments/run/scenario.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

using calibration::NetworkRecord;
using calibration::TrainingRecord;

constexpr double kLeastSpread = 0.05; // relative

double median(std::vector<double> values)
{
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : 0.5 * (values[middle - 1] + values[middle]);
}

// Relative standard deviation of repeated measurements.
double spread_of(const std::vector<double>& values)
{
  double mean = 0;
  for (const double value : values)
    mean += value / static_cast<double>(values.size());
  double sum = 0;
  for (const double value : values)
    sum += (value - mean) * (value - mean);
  const auto others = static_cast<double>(std::max<std::size_t>(1, values.size() - 1));
  return std::max(kLeastSpread, std::sqrt(sum / others) / mean);
}

DocumentPtr experiment_of(const TrainingRecord& record, const std::string& platform)
{
  auto document = std::make_shared<Document>();
  document->name = "experiment of " + record.name;
  document->root = realrun_experiment(record, platform);
  if (record.ranks == 1) // nobody waits for it: the median step does not depend on its variation
    for (Json& job : document->root["jobs"]) {
      job["framework"]["step_variation"] = 0;
      job["steps"] = 1;
    }
  return document;
}

double step_s(const DocumentPtr& experiment, const std::shared_ptr<const Overlay>& overlay)
{
  auto document = std::make_shared<Document>(*experiment);
  document->overlay = overlay;
  Point point;
  point.document = document;
  return run_point(point, RunOptions{}).jobs.front().step_time.median;
}

std::vector<std::string> teach_training(const std::vector<TrainingRecord>& records, Setup& setup)
{
  FitTask task;
  task.source = fmt::format("realrun training runs on {}", setup.options.platform);
  std::vector<DocumentPtr> experiments;
  bool reduces = false;
  for (const TrainingRecord& r : records) {
    experiments.push_back(experiment_of(r, setup.options.platform));
    reduces = reduces || r.ranks > 1;
    task.measurements.push_back(
        {r.name, "step time", r.batch * r.ranks / median(r.throughput), spread_of(r.throughput)});
  }
  const auto spec = setup.platform(setup.learnt());
  const Part gpu = part_of(spec.node.gpus->type, platforms::kGpuKind);
  const Part framework = part_of(loose_value("realrun-cpu"), models::kFrameworkKind);
  const Part loopback = part_of(loose_value("loopback"), platforms::kTransportKind);
  task.knobs = {
      {gpu, "/fp32/dense_efficiency", 0.01, 1, "runs with wide layers"},
      {gpu, "/memory_efficiency", 0.01, 1, "runs with many parameters and small batches"},
      {gpu, "/function_time", 0, 1, "runs of transformers"},
      {framework, "/kernels/patch_run", 0, 1, "runs of convolutional networks"},
  };
  if (reduces)
    task.knobs.push_back({loopback, "/copy_rate", 1e6, 1e13, "runs with several ranks"});
  task.predict = [&](const std::shared_ptr<const Overlay>& overlay) {
    std::vector<double> values;
    for (const DocumentPtr& experiment : experiments)
      values.push_back(step_s(experiment, overlay));
    return values;
  };
  return setup.learning.learn(task);
}

std::vector<std::string> teach_network(const std::string& path,
                                       const std::vector<NetworkRecord>& records, Setup& setup)
{
  FitTask task;
  const Part transport = part_of(loose_value(realrun_transport(path)), platforms::kTransportKind);
  task.source = "iperf3 over " + transport.id + ", recorded by realrun";
  for (const NetworkRecord& r : records)
    task.measurements.push_back({r.name, "core time per byte (s) at one end",
                                 median(r.cpu_s_per_byte) / 2, spread_of(r.cpu_s_per_byte)});
  task.knobs = {{transport, "/copy_rate", 1e6, 1e13, "iperf3 on a wire that takes segments"}};
  task.predict = [&](const std::shared_ptr<const Overlay>& overlay) {
    platforms::Stack stack = setup.stack(overlay);
    stack.transport = platforms::load_transport(
        resolve_preset(realrun_transport(path), platforms::kTransportKind, overlay));
    return std::vector<double>(
        records.size(), platforms::cpu_seconds_per_byte(stack, stack.transport.ethernet.value()));
  };
  return setup.learning.learn(task);
}

} // namespace

std::vector<std::string> teach_realrun(const std::vector<LogText>& logs, Setup& setup)
{
  std::vector<TrainingRecord> training;
  std::map<std::string, std::vector<NetworkRecord>> network;
  std::vector<std::string> group; // of each log: "training", a path of the network, or none
  for (const LogText& log : logs) {
    const Value root(parse_document(log.text, log.path));
    const std::string kind = calibration::record_kind(root);
    group.emplace_back();
    if (kind == "training") {
      setup.need_platform(log.path);
      training.push_back(calibration::read_training_record(root));
      group.back() = kind;
    } else if (kind == "network") {
      auto record = calibration::read_network_record(root);
      if (record.offload && !record.shaped) {
        group.back() = record.path;
        network[record.path].push_back(std::move(record));
      } else {
        setup.notes.push_back(log.path + ": only iperf3 without a shaper, on a wire that takes "
                                         "segments, is like what training does; not used");
      }
    } else {
      setup.notes.push_back(log.path + ": records of kind '" + kind + "' are not used");
    }
  }
  std::map<std::string, std::string> taught;
  if (!training.empty())
    taught["training"] = joined(teach_training(training, setup));
  for (const auto& [path, records] : network)
    taught[path] = joined(teach_network(path, records, setup));
  std::vector<std::string> answers;
  for (const std::string& name : group)
    answers.push_back(taught[name]);
  return answers;
}

} // namespace foretrain::experiments
