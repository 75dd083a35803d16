// Records of realrun: training runs teach what computing and reducing cost
// (calibrate_training.hpp), iperf3 records the core time of TCP over each path.
#include "calibration/realrun_record.hpp"
#include "experiments/learn/calibrate_logs.hpp"
#include "experiments/learn/calibrate_training.hpp"
#include "experiments/learn/realrun_experiment.hpp"
#include "experiments/learn/unsteady.hpp"
#include "sim/base/text.hpp"

#include <map>

namespace foretrain::experiments {

namespace {

using calibration::NetworkRecord;
using calibration::TrainingRecord;

std::vector<std::string> teach_network(const std::string& path,
                                       const std::vector<NetworkRecord>& records, Setup& setup)
{
  FitTask task;
  const Part transport = part_of(loose_value(realrun_transport(path)), platforms::kTransportKind);
  task.source = "iperf3 over " + transport.id + ", recorded by realrun";
  for (const NetworkRecord& r : records)
    task.measurements.push_back({r.name, "core time per byte (s) at one end",
                                 median_of(r.cpu_s_per_byte) / 2, spread_of(r.cpu_s_per_byte)});
  task.knobs = {{transport, "/copy_rate", 1e6, 1e13, "iperf3 on a wire that takes segments"}};
  task.predict = [&](const OverlayPtr& overlay) {
    platforms::Stack stack = setup.machine(overlay).stack;
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
  for (std::string& note : unsteady(training))
    setup.notes.push_back(std::move(note));
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
