#include "experiments/schemas.hpp"

#include "calibration/profile.hpp"
#include "experiments/experiment.hpp"
#include "experiments/plan.hpp"
#include "experiments/validation_gates.hpp"
#include "models/collectives/library.hpp"
#include "models/dataset.hpp"
#include "platforms/storage.hpp"

namespace foretrain::experiments {

namespace {

struct Kind {
  const char* name;
  Json (*make)();
  const PresetKind* preset = nullptr; // null: not a preset that an experiment may name
};

const Kind kKinds[] = {
    {"experiment", &schema_as<ExperimentSpec>},
    {"plan", &schema_as<PlanSpec>},
    {"suite", &schema_as<SuiteSpec>},
    {"gates", &schema_as<GatesSpec>},
    {"platform", &schema_as<platforms::PlatformSpec>, &platforms::kPlatformKind},
    {"gpu", &schema_as<platforms::Gpu>, &platforms::kGpuKind},
    {"cpu", &schema_as<platforms::Cpu>, &platforms::kCpuKind},
    {"nic", &schema_as<platforms::Nic>, &platforms::kNicKind},
    {"fabric", &schema_as<platforms::Fabric>, &platforms::kFabricKind},
    {"disk", &schema_as<platforms::Disk>, &platforms::kDiskKind},
    {"storage", &schema_as<platforms::Storage>, &platforms::kStorageKind},
    {"host", &schema_as<platforms::Host>, &platforms::kHostKind},
    {"network", &schema_as<platforms::Transport>, &platforms::kTransportKind},
    {"model", &models::network_schema, &models::kNetworkKind},
    {"dataset", &schema_as<models::Dataset>, &models::kDatasetKind},
    {"framework", &schema_as<models::Framework>, &models::kFrameworkKind},
    {"profile", &schema_as<calibration::Profile>},
    {"library", &schema_as<models::Library>, &models::kLibraryKind},
};

} // namespace

std::vector<std::string> schema_names()
{
  std::vector<std::string> names;
  for (const Kind& kind : kKinds)
    names.emplace_back(kind.name);
  return names;
}

Json schema(const std::string& name)
{
  for (const Kind& kind : kKinds) {
    if (name != kind.name)
      continue;
    Json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", name}};
    schema.update(kind.make());
    // Any file may build on another one of its kind.
    schema["properties"]["extends"] = {{"type", "string"},
                                       {"description", "name or path of the file to build on"}};
    return schema;
  }
  return nullptr;
}

std::vector<std::string> preset_kind_names()
{
  std::vector<std::string> names;
  for (const Kind& kind : kKinds)
    if (kind.preset != nullptr)
      names.emplace_back(kind.name);
  return names;
}

const PresetKind* preset_kind(const std::string& name)
{
  for (const Kind& kind : kKinds)
    if (name == kind.name)
      return kind.preset;
  return nullptr;
}

} // namespace foretrain::experiments
