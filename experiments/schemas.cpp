#include "experiments/schemas.hpp"

#include "experiments/experiment.hpp"
#include "models/collectives/library.hpp"

namespace foretrain::experiments {

namespace {

struct Kind {
  const char* name;
  Json (*make)();
};

constexpr Kind kKinds[] = {
    {"experiment", &schema_as<ExperimentSpec>},
    {"platform", &schema_as<platforms::PlatformSpec>},
    {"gpu", &schema_as<platforms::Gpu>},
    {"cpu", &schema_as<platforms::Cpu>},
    {"nic", &schema_as<platforms::Nic>},
    {"fabric", &schema_as<platforms::Fabric>},
    {"disk", &schema_as<platforms::Disk>},
    {"host", &schema_as<platforms::Host>},
    {"network", &schema_as<platforms::Transport>},
    {"model", &models::network_schema},
    {"framework", &schema_as<models::Framework>},
    {"library", &schema_as<models::Library>},
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

} // namespace foretrain::experiments
