#include "experiments/spec/preset_kinds.hpp"

#include "models/collectives/library.hpp"
#include "models/dataset.hpp"
#include "models/framework.hpp"
#include "models/network.hpp"
#include "models/optimizer.hpp"
#include "models/transformer/spec.hpp"
#include "platforms/platform.hpp"
#include "platforms/stack.hpp"
#include "platforms/storage.hpp"
#include "sim/workload/program_file.hpp"

#include <stdexcept>

namespace foretrain::experiments {

namespace {

// A list of layers, or a transformer.
Json model_schema()
{
  Json layers = models::network_schema();
  Json shared = layers["$defs"];
  layers.erase("$defs");
  return {{"anyOf", {std::move(layers), schema_as<models::TransformerFile>()}},
          {"$defs", std::move(shared)}};
}

const PresetKindEntry kKinds[] = {
    {"platform", &schema_as<platforms::PlatformSpec>, &platforms::kPlatformKind},
    {"gpu", &schema_as<platforms::Gpu>, &platforms::kGpuKind},
    {"cpu", &schema_as<platforms::Cpu>, &platforms::kCpuKind},
    {"nic", &schema_as<platforms::Nic>, &platforms::kNicKind},
    {"fabric", &schema_as<platforms::Fabric>, &platforms::kFabricKind},
    {"disk", &schema_as<platforms::Disk>, &platforms::kDiskKind},
    {"storage", &schema_as<platforms::Storage>, &platforms::kStorageKind},
    {"host", &schema_as<platforms::Host>, &platforms::kHostKind},
    {"network", &schema_as<platforms::TransportFile>, &platforms::kTransportKind},
    {"model", &model_schema, &models::kNetworkKind},
    {"dataset", &schema_as<models::Dataset>, &models::kDatasetKind},
    {"framework", &schema_as<models::Framework>, &models::kFrameworkKind},
    {"optimizer", &schema_as<models::Optimizer>, &models::kOptimizerKind},
    {"library", &schema_as<models::Library>, &models::kLibraryKind},
    {"program", &schema_as<sim::ProgramSpec>, &sim::kProgramKind},
};

} // namespace

std::span<const PresetKindEntry> preset_kinds()
{
  return kKinds;
}

std::vector<std::string> preset_kind_names()
{
  std::vector<std::string> names;
  for (const PresetKindEntry& entry : kKinds)
    names.emplace_back(entry.name);
  return names;
}

const PresetKind* preset_kind(const std::string& name)
{
  for (const PresetKindEntry& entry : kKinds)
    if (name == entry.name)
      return entry.kind;
  return nullptr;
}

Json preset_schema(const std::string& name)
{
  for (const PresetKindEntry& entry : kKinds)
    if (name == entry.name)
      return entry.schema();
  throw std::logic_error("no kind of preset is called " + name);
}

} // namespace foretrain::experiments
