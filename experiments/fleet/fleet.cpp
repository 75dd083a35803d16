#include "experiments/fleet/fleet.hpp"

#include "experiments/fleet/fault_trace.hpp"
#include "experiments/fleet/fleet_checks.hpp"
#include "experiments/fleet/read_leases.hpp"
#include "experiments/spec/experiment.hpp"
#include "experiments/spec/training_length.hpp"
#include "sim/base/catalog.hpp"
#include "sim/base/error.hpp"
#include "sim/base/readable.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

using namespace models::fleet;

// A file that is named at `pointer`, relative to the document that says so: this one, or one that
// it extends.
std::filesystem::path beside(const Document& document, const std::string& pointer)
{
  const nlohmann::json_pointer<std::string> at(pointer);
  const Json& name = document.root.at(at);
  const Document* says = &document;
  while (says->base && !document.overridden.contains(pointer) && says->base->root.contains(at) &&
         says->base->root.at(at) == name)
    says = says->base.get();
  return says->path.parent_path() / name.get<std::string>();
}

// Of nodes that checkpoints are written to.
void check_disks(const FleetSpec& spec, const platforms::PlatformSpec& platform, const Value& root)
{
  if (!spec.checkpoint || spec.checkpoint->write || spec.checkpoint->rate)
    return;
  const bool to_disk = spec.checkpoint->to == CheckpointPlace::disk || !spec.cluster.storage;
  if (to_disk && platform.disks.empty())
    root.at("checkpoint")
        .fail(fmt::format("is written to the first disk of each node, and nodes of '{}' have none",
                          platform.name),
              "name a storage system in /cluster/storage, or give write or rate");
}

ClusterShape cluster_shape(const FleetSpec& spec, const Value& root)
{
  const Value at = root.at("cluster");
  ClusterShape shape;
  if (spec.cluster.platform) {
    const platforms::PlatformSpec platform = platforms::load_platform(spec.cluster.platform);
    shape.gpus_per_node = platform.gpus_per_node();
    if (spec.cluster.gpus_per_node && *spec.cluster.gpus_per_node != shape.gpus_per_node)
      at.at("gpus_per_node")
          .fail(
              fmt::format("must be that of the platform, {}, or be left out", shape.gpus_per_node));
    if (spec.cluster.nodes > platform.max_nodes)
      at.at("nodes").fail(
          fmt::format("must be at most {}, as many as the platform has", platform.max_nodes));
    if (shape.gpus_per_node < 1)
      at.at("platform").fail("has nodes without GPUs");
    if (shape.gpus_per_node > kMostGpusPerNode)
      at.at("platform")
          .fail(fmt::format("has nodes of {} GPUs; a fleet's have at most {}", shape.gpus_per_node,
                            kMostGpusPerNode));
    check_disks(spec, platform, root);
  } else if (spec.cluster.gpus_per_node) {
    shape.gpus_per_node = *spec.cluster.gpus_per_node;
  } else {
    at.fail("must have a platform, or gpus_per_node");
  }
  if (const auto& power = spec.cluster.power; power && power->gpu_idle > power->gpu_busy)
    at.at("power").fail_at("gpu_idle", fmt::format("is {:g} W, more than the {:g} W of gpu_busy",
                                                   power->gpu_idle, power->gpu_busy));
  shape.nodes = spec.cluster.nodes + (spec.failures ? spec.failures->spares : 0);
  shape.nodes_per_switch = spec.cluster.nodes_per_switch.value_or(0);
  return shape;
}

// Of a GPU for an hour.
std::optional<double> price_of(const FleetClusterSpec& cluster)
{
  const std::string platform =
      cluster.platform ? platforms::load_platform(cluster.platform).name : "";
  return price_per_gpu_hour(cluster.price_per_gpu_hour, cluster.platform, platform);
}

// Only the recorded policy reads them, but a file that is not there is a mistake under any.
void use_leases(LoadedFleet& fleet, const JobTrace& trace, const std::filesystem::path& path,
                const Value& root)
{
  if (!std::filesystem::exists(path))
    root.at("jobs").at("leases").fail("is no file: " + path.string());
  if (fleet.policy.backfill != Backfilling::recorded)
    return;
  fleet.files.push_back(path);
  fleet.leases = read_leases(path, trace, fleet.shape);
}

// Leases alone say who runs and who stops.
void check_recorded(const LoadedFleet& fleet, const Value& root)
{
  const Value at = root.at("policy");
  if (fleet.leases.empty())
    at.fail("needs leases of recorded jobs (/jobs/leases): who held what, and when");
  if (fleet.policy.preemption != Preemption::none || !fleet.policy.gang)
    at.fail("replays who held what: without preemption, and with gangs");
  if (fleet.spec.failures && fleet.spec.failures->keep_place)
    root.at("failures").at("keep_place").fail("keeps what leases give to others");
}

// A document with the settings of a point instead of the sweep.
std::shared_ptr<Document> with_settings(const Document& base, const Settings& settings)
{
  auto document = std::make_shared<Document>(base);
  document->root.erase("sweep");
  for (const auto& [pointer, value] : settings)
    set_in_experiment(*document, pointer, value, "sweep " + pointer + "=" + value.dump());
  return document;
}

} // namespace

LoadedFleet read_fleet(const std::shared_ptr<Document>& document, FleetTraces& known)
{
  const Value root{DocumentPtr(document)};
  LoadedFleet fleet;
  fleet.document = document;
  fleet.spec = read_as<FleetSpec>(root);
  check_fleet(fleet.spec, root);
  if (!document->root.contains("name"))
    fleet.spec.name = default_name(*document, "fleet");
  fleet.shape = cluster_shape(fleet.spec, root);
  fleet.price = price_of(fleet.spec.cluster);
  if (fleet.spec.policy)
    fleet.policy = read_as<Policy>(resolve_preset(fleet.spec.policy, kPolicyKind));
  fleet.policy_name = !fleet.spec.policy ? "fifo"
                      : fleet.spec.policy.json().is_string()
                          ? fleet.spec.policy.json().get<std::string>()
                      : fleet.policy.name.empty() ? "policy of the file"
                                                  : fleet.policy.name;
  if (fleet.spec.failures && fleet.spec.failures->keep_place && !fleet.policy.gang)
    root.at("failures")
        .at("keep_place")
        .fail("needs a policy with gangs: pods are placed one by one, and keep their nodes anyway");
  if (fleet.spec.jobs) {
    const auto path = beside(*document, "/jobs/trace");
    require_readable(path);
    if (!std::filesystem::exists(path))
      root.at("jobs").at("trace").fail("is no file: " + path.string());
    const FleetJobsSpec& jobs = *fleet.spec.jobs;
    auto& trace = known[{path.string(), jobs.kind, jobs.take}];
    if (!trace)
      trace = std::make_shared<const JobTrace>(read_job_trace(path, jobs.kind, jobs.take));
    fleet.trace = trace;
    fleet.files.push_back(path);
    if (!jobs.leases.empty())
      use_leases(fleet, *trace, beside(*document, "/jobs/leases"), root);
  }
  if (fleet.policy.backfill == Backfilling::recorded)
    check_recorded(fleet, root);
  if (fleet.spec.failures && !fleet.spec.failures->trace.empty()) {
    fleet.files.push_back(beside(*document, "/failures/trace"));
    fleet.outages = read_fault_trace(fleet.files.back(), fleet.shape.nodes);
  }
  return fleet;
}

FleetFile load_fleet_file(const std::shared_ptr<Document>& document,
                          const std::vector<std::string>& overrides, const std::string& policy)
{
  if (!document->root.is_object())
    Value(document).fail("must be a JSON object, got " + Value(document).shown());
  for (const std::string& text : overrides)
    apply_override(*document, text, "/cluster/nodes=16");
  if (!policy.empty()) {
    set_value(*document, "/policy", Json(policy), "--policy " + policy);
    hold_in_sweep(*document, "/policy");
  }
  FleetFile file;
  file.document = document;
  std::vector<Settings> all{{}};
  if (document->root.contains("sweep"))
    all = sweep_settings(Value(document).at("sweep"));
  for (const auto& [pointer, value] : all.front())
    if (pointer == "/seeds" || pointer == "/seed")
      Value(document).at("sweep").fail("varies " + pointer +
                                       ", and all points are simulated with the same seeds");
  FleetTraces traces;
  for (const Settings& settings : all)
    file.points.push_back({settings, read_fleet(with_settings(*document, settings), traces)});
  file.name = file.points.front().fleet.spec.name;
  return file;
}

FleetFile load_fleet_file(const std::string& name_or_path,
                          const std::vector<std::string>& overrides, const std::string& policy)
{
  const Value loaded = resolve_preset(name_or_path, kFleetKind);
  return load_fleet_file(std::make_shared<Document>(*loaded.document()), overrides, policy);
}

LoadedFleet load_fleet(const std::string& name_or_path, const std::vector<std::string>& overrides,
                       const std::string& policy)
{
  FleetFile file = load_fleet_file(name_or_path, overrides, policy);
  if (file.points.size() > 1)
    Value(file.document)
        .at("sweep")
        .fail(fmt::format("makes {} points, and one fleet is needed here", file.points.size()));
  return std::move(file.points.front().fleet);
}

} // namespace foretrain::experiments
