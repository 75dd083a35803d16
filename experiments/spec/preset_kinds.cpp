#include "experiments/spec/preset_kinds.hpp"

#include "models/collectives/library.hpp"
#include "models/input/dataset.hpp"
#include "models/networks/network.hpp"
#include "models/training/framework.hpp"
#include "models/training/optimizer.hpp"
#include "models/transformer/spec.hpp"
#include "platforms/platform.hpp"
#include "platforms/stack.hpp"
#include "platforms/storage.hpp"
#include "sim/workload/program_file.hpp"

#include <map>
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
    {"platform", "a machine: its nodes, what is in them and what joins them",
     &schema_as<platforms::PlatformSpec>, &platforms::kPlatformKind},
    {"gpu", "a GPU: arithmetic, memory, and what of both a training reaches",
     &schema_as<platforms::Gpu>, &platforms::kGpuKind},
    {"cpu", "a CPU: cores, memory, and what its work for a training costs",
     &schema_as<platforms::Cpu>, &platforms::kCpuKind},
    {"nic", "a network adapter", &schema_as<platforms::Nic>, &platforms::kNicKind},
    {"fabric", "a switch, and the network that is built of it", &schema_as<platforms::Fabric>,
     &platforms::kFabricKind},
    {"disk", "a disk", &schema_as<platforms::Disk>, &platforms::kDiskKind},
    {"storage", "a file system that nodes reach over a network", &schema_as<platforms::Storage>,
     &platforms::kStorageKind},
    {"host", "a host layer: bare metal, container or virtual machine, and what each costs",
     &schema_as<platforms::Host>, &platforms::kHostKind},
    {"network", "a transport: how bytes cross the network, also as a layer over another one",
     &schema_as<platforms::TransportFile>, &platforms::kTransportKind},
    {"model",
     "a neural network as a list of layers or of measured times, or a transformer by its "
     "dimensions",
     &model_schema, &models::kNetworkKind},
    {"dataset", "a data set, where it is read and decoded", &schema_as<models::Dataset>,
     &models::kDatasetKind},
    {"framework", "a training framework: how it exchanges gradients, and what it costs",
     &schema_as<models::Framework>, &models::kFrameworkKind},
    {"optimizer", "an optimizer: what an update moves", &schema_as<models::Optimizer>,
     &models::kOptimizerKind},
    {"library", "a version of a collective library: how it chooses and what its steps cost",
     &schema_as<models::Library>, &models::kLibraryKind},
    {"program", "the work of one step, operation by operation, without a machine",
     &schema_as<sim::ProgramSpec>, &sim::kProgramKind},
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

const Json& preset_schema(const std::string& name)
{
  static std::map<std::string, Json> made;
  for (const PresetKindEntry& entry : kKinds)
    if (name == entry.name) {
      const auto [schema, fresh] = made.try_emplace(name);
      if (fresh)
        schema->second = entry.schema();
      return schema->second;
    }
  throw std::logic_error("no kind of preset is called " + name);
}

const Json* schema_at(const std::string& name, const std::string& pointer)
{
  const Json* at = &preset_schema(name);
  for (const std::string& step : pointer_steps(pointer)) {
    if (at->contains("items"))
      at = &at->at("items");
    else if (at->contains("properties") && at->at("properties").contains(step))
      at = &at->at("properties").at(step);
    else
      return nullptr;
  }
  return at;
}

} // namespace foretrain::experiments
