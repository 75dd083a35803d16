#include "experiments/api/model_import.hpp"

#include "models/traces/kineto.hpp"
#include "models/traces/recorded_model.hpp"
#include "models/transformer/hf_config.hpp"
#include "platforms/parts.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

#include <algorithm>

namespace foretrain::experiments {

namespace {

constexpr std::size_t kHead = 64 * 1024;

std::string name_for(const std::filesystem::path& path, const ModelImportOptions& options)
{
  if (!options.name.empty())
    return options.name;
  std::string stem = path.filename().string();
  return stem.substr(0, stem.find('.', 1));
}

ImportedModel from_trace(const models::Trace& trace, const std::filesystem::path& path,
                         const ModelImportOptions& options)
{
  const models::Steps steps = models::find_steps(trace);
  models::RecordedOptions recorded;
  recorded.name = name_for(path, options);
  recorded.batch = options.batch;
  if (!options.like.empty())
    recorded.like = models::load_network(options.like);
  const auto device = static_cast<std::size_t>(models::busiest_device(trace));
  if (!options.gpu.empty())
    resolve_preset(options.gpu, platforms::kGpuKind);
  recorded.gpu = !options.gpu.empty()                 ? options.gpu
                 : device < trace.device_names.size() ? gpu_preset_of(trace.device_names[device])
                                                      : "";
  auto model = models::recorded_model(trace, steps, recorded);
  if (recorded.gpu.empty())
    model.notes.push_back(
        "no GPU preset is known for the device: give --gpu NAME, so that times can "
        "be scaled to others");
  return {std::move(model.json), std::move(model.notes)};
}

bool is_kineto(const std::filesystem::path&, const std::string& head)
{
  return models::looks_like_kineto(head);
}

ImportedModel import_kineto(const std::filesystem::path& path, const ModelImportOptions& options)
{
  return from_trace(models::read_kineto(path, options.progress), path, options);
}

bool is_config(const std::filesystem::path&, const std::string& head)
{
  return head.find("\"model_type\"") != std::string::npos;
}

ImportedModel import_config(const std::filesystem::path& path, const ModelImportOptions& options)
{
  const auto document = load_document(path);
  if (!models::is_hf_config(document->root))
    Value(DocumentPtr(document)).fail("has no \"model_type\" at its top");
  ImportedModel model{models::import_hf_config(Value(DocumentPtr(document))), {}};
  if (!options.name.empty() || path.stem() != "config")
    model.json["name"] = name_for(path, options);
  return model;
}

constexpr ModelImporter kImporters[] = {
    {"config.json of a Hugging Face transformer", &is_config, &import_config},
    {"PyTorch profiler trace (Kineto)", &is_kineto, &import_kineto},
};

} // namespace

models::Trace read_trace(const std::filesystem::path& path, const models::Progress& progress)
{
  const std::string head = models::head_of(path, kHead);
  if (is_kineto(path, head))
    return models::read_kineto(path, progress);
  throw ConfigError(path.string(), "",
                    head.empty() ? "is empty" : "is no recording that can be read",
                    "known: PyTorch profiler traces (Kineto)");
}

std::string gpu_preset_of(const std::string& device)
{
  if (device.empty())
    return "";
  for (const std::string& name : preset_names(platforms::kGpuKind)) {
    const auto document =
        load_document(data_root() / platforms::kGpuKind.folder / (name + ".json"));
    if (!document->root.contains("aliases"))
      continue;
    for (const auto& alias : document->root.at("aliases"))
      if (alias.is_string() && alias.get<std::string>() == device)
        return name;
  }
  return "";
}

ImportedModel import_model(const std::filesystem::path& path, const ModelImportOptions& options)
{
  const std::string head = models::head_of(path, kHead);
  const auto found =
      std::find_if(std::begin(kImporters), std::end(kImporters),
                   [&](const ModelImporter& importer) { return importer.recognises(path, head); });
  if (found != std::end(kImporters))
    return found->import(path, options);
  std::vector<std::string> kinds;
  for (const ModelImporter& importer : kImporters)
    kinds.emplace_back(importer.name);
  throw ConfigError(path.string(), "",
                    head.empty() ? "is empty" : "is no file that can be imported",
                    "known: " + joined(kinds));
}

} // namespace foretrain::experiments
