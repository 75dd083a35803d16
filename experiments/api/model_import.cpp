#include "experiments/api/model_import.hpp"

#include "experiments/learn/reader_of.hpp"
#include "models/graphs/execution_trace.hpp"
#include "models/graphs/onnx.hpp"
#include "models/graphs/onnx_file.hpp"
#include "models/traces/chakra.hpp"
#include "models/traces/kineto.hpp"
#include "models/traces/nsys.hpp"
#include "models/traces/operator_table.hpp"
#include "models/traces/recorded_model.hpp"
#include "models/transformer/hf_config.hpp"
#include "models/transformer/spec.hpp"
#include "platforms/parts.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

constexpr std::size_t kHead = 64 * 1024;

// The first bytes, unpacked. A tar archive tells itself in its first block.
std::string head_for(const std::filesystem::path& path)
{
  constexpr std::size_t kMagic = 257;
  std::string head = models::first_bytes(path, kHead);
  if (head.size() > kMagic + 5 && head.compare(kMagic, 5, "ustar") == 0)
    throw ConfigError(path.string(), "", "is a tar archive", "unpack it and give its files");
  return head;
}

// Of a file's form, or the time at which a profiler wrote it.
bool says_nothing(const std::string& ending)
{
  constexpr std::string_view kForms[] = {".json", ".gz",  ".pt",     ".trace", ".onnx", ".et",
                                         ".csv",  ".txt", ".sqlite", ".db",    ".pb",   ".tsv"};
  const bool digits = std::all_of(ending.begin() + 1, ending.end(),
                                  [](unsigned char c) { return std::isdigit(c) != 0; });
  constexpr std::size_t kTime = 8; // digits and more
  return std::find(std::begin(kForms), std::end(kForms), ending) != std::end(kForms) ||
         (digits && ending.size() > kTime);
}

// "llama-3.2-1b" of "llama-3.2-1b.json", "host" of "host.1700000000000.pt.trace.json".
std::string name_for(const std::filesystem::path& path, const ModelImportOptions& options)
{
  if (!options.name.empty())
    return options.name;
  std::filesystem::path name = path.filename();
  while (name.has_extension() && says_nothing(name.extension().string()))
    name = name.stem();
  return name.string();
}

// Whether a file that nobody recognised was meant to be JSON.
bool looks_like_json(const std::string& head)
{
  const std::size_t first = head.find_first_not_of(" \t\r\n");
  return first != std::string::npos && (head[first] == '{' || head[first] == '[');
}

std::string device_of(const models::Trace& trace)
{
  const auto device = static_cast<std::size_t>(models::busiest_device(trace));
  return device < trace.device_names.size() ? trace.device_names[device] : "";
}

models::RecordedModel from_trace(const models::Trace& trace, const models::Steps& steps,
                                 const std::filesystem::path& path,
                                 const ModelImportOptions& options, bool ranks_follow = false)
{
  models::RecordedOptions recorded;
  recorded.ranks_follow = ranks_follow;
  recorded.name = name_for(path, options);
  recorded.batch = options.batch;
  recorded.gradients_only = options.gradients_only;
  if (!options.like.empty())
    recorded.like = models::load_network(options.like);
  if (!options.gpu.empty())
    resolve_preset(options.gpu, platforms::kGpuKind);
  recorded.gpu = !options.gpu.empty() ? options.gpu : gpu_preset_of(device_of(trace));
  auto model = models::recorded_model(trace, steps, recorded);
  if (recorded.gpu.empty())
    model.notes.push_back(
        "no GPU preset is known for the device: give --gpu NAME, so that times can "
        "be scaled to others");
  return model;
}

ImportedModel import_trace(const models::Trace& trace, const std::filesystem::path& path,
                           const ModelImportOptions& options)
{
  auto model = from_trace(trace, models::find_steps(trace), path, options);
  return {std::move(model.json), std::move(model.notes)};
}

bool is_kineto(const std::filesystem::path&, const std::string& head)
{
  return models::looks_like_kineto(head);
}

ImportedModel import_kineto(const std::filesystem::path& path, const ModelImportOptions& options)
{
  models::Trace trace = models::read_kineto(path, options.progress);
  if (trace.world == 0 && options.ranks)
    trace.world = *options.ranks;
  return import_trace(trace, path, options);
}

bool is_sqlite(const std::filesystem::path&, const std::string& head)
{
  return models::looks_like_sqlite(head);
}

ImportedModel import_nsys(const std::filesystem::path& path, const ModelImportOptions& options)
{
  return import_trace(models::read_nsys(path), path, options);
}

bool is_config(const std::filesystem::path&, const std::string& head)
{
  return head.find("\"model_type\"") != std::string::npos;
}

// A model that no job could name is refused here, by what its reader says of it.
void check_transformer(Json model, const std::filesystem::path& path)
{
  model.emplace("name", path.stem().string());
  try {
    models::load_transformer(Value(parse_document(model.dump(), "model")));
  } catch (const ConfigError& error) {
    const std::string text = error.what();
    const std::string mark = "error: ";
    const std::size_t at = text.find(mark);
    throw ConfigError(path.string(), "",
                      "makes no model: its " +
                          (at == std::string::npos ? text : text.substr(at + mark.size())));
  }
}

ImportedModel import_config(const std::filesystem::path& path, const ModelImportOptions& options)
{
  const auto document = load_document(path);
  if (!models::is_hf_config(document->root))
    Value(DocumentPtr(document)).fail("has no \"model_type\" at its top");
  const Value config{DocumentPtr(document)};
  ImportedModel model{models::import_hf_config(config), models::left_out_of_hf_config(config)};
  if (!options.name.empty() || path.stem() != "config")
    model.json["name"] = name_for(path, options);
  check_transformer(model.json, path);
  return model;
}

ImportedModel import_graph(const models::ImportedGraph& graph, const std::filesystem::path& path,
                           const ModelImportOptions& options, const char* kind)
{
  return {models::graph_json(graph, name_for(path, options),
                             std::string(kind) + " " + path.filename().string()),
          graph.notes};
}

bool is_chakra(const std::filesystem::path&, const std::string& head)
{
  return models::looks_like_chakra(head);
}

ImportedModel import_chakra(const std::filesystem::path& path, const ModelImportOptions& options)
{
  return import_trace(models::read_chakra(path, options.ranks.value_or(0)), path, options);
}

bool is_execution_trace(const std::filesystem::path&, const std::string& head)
{
  return models::looks_like_execution_trace(head);
}

ImportedModel import_execution(const std::filesystem::path& path, const ModelImportOptions& options)
{
  return import_graph(models::import_execution_trace(path, options.batch, options.progress), path,
                      options, "PyTorch execution trace");
}

bool is_onnx(const std::filesystem::path&, const std::string& head)
{
  return models::looks_like_onnx(head);
}

ImportedModel import_onnx_model(const std::filesystem::path& path,
                                const ModelImportOptions& options)
{
  return import_graph(models::import_onnx(path, options.batch), path, options, "ONNX model");
}

bool is_table(const std::filesystem::path&, const std::string& head)
{
  return models::looks_like_operator_table(head);
}

ImportedModel import_table(const std::filesystem::path& path, const ModelImportOptions& options)
{
  auto table = models::import_operator_table(path, options.batch, options.steps);
  if (!options.gpu.empty()) {
    resolve_preset(options.gpu, platforms::kGpuKind);
    table.measured["gpu"] = options.gpu;
  }
  return {{{"format", "foretrain.network/1"},
           {"name", name_for(path, options)},
           {"source", "operator table " + path.filename().string()},
           {"measured", std::move(table.measured)}},
          std::move(table.notes)};
}

// What a folder holds, without files that other software leaves beside recordings.
std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder)
{
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (entry.is_regular_file() && (name.ends_with(".json") || name.ends_with(".gz")))
      files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  if (files.empty())
    throw ConfigError(folder.string(), "", "holds no file ending in .json or .gz");
  return files;
}

constexpr ModelImporter kImporters[] = {
    {"config.json of a Hugging Face transformer", &is_config, &import_config},
    {"Nsight Systems export (SQLite)", &is_sqlite, &import_nsys},
    {"PyTorch profiler trace (Kineto)", &is_kineto, &import_kineto},
    {"PyTorch execution trace (ET, Chakra JSON)", &is_execution_trace, &import_execution},
    {"Chakra trace (protocol buffers)", &is_chakra, &import_chakra},
    {"ONNX model", &is_onnx, &import_onnx_model},
    {"table of operators with times (CSV, JSON)", &is_table, &import_table},
};

} // namespace

models::Trace read_trace(const std::filesystem::path& path, const models::Progress& progress)
{
  const std::string head = head_for(path);
  if (is_kineto(path, head))
    return models::read_kineto(path, progress);
  if (is_sqlite(path, head))
    return models::read_nsys(path);
  if (is_chakra(path, head))
    return models::read_chakra(path);
  if (is_execution_trace(path, head))
    throw ConfigError(path.string(), "", "is a PyTorch execution trace, which tells no times",
                      fmt::format("foretrain model import {} --out MODEL.json", path.string()));
  const std::string reader = reader_of(path.string(), head);
  throw ConfigError(
      path.string(), "", head.empty() ? "is empty" : "is no recording that can be read",
      !reader.empty() ? reader
                      : "known: PyTorch profiler traces (Kineto), Nsight Systems exports "
                        "(SQLite), Chakra traces (protocol buffers)");
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
  const std::string head = head_for(path);
  const auto found =
      std::find_if(std::begin(kImporters), std::end(kImporters),
                   [&](const ModelImporter& importer) { return importer.recognises(path, head); });
  if (found != std::end(kImporters))
    return found->import(path, options);
  std::vector<std::string> kinds;
  for (const ModelImporter& importer : kImporters)
    kinds.emplace_back(importer.name);
  const std::string reader = reader_of(path.string(), head);
  if (reader.empty() && looks_like_json(head))
    load_document(path); // what is wrong with it is said where it stands
  throw ConfigError(path.string(), "",
                    head.empty() ? "is empty" : "is no file that can be imported",
                    reader.empty() ? "known: " + joined(kinds) : reader);
}

ImportedModel import_model(const std::vector<std::filesystem::path>& given,
                           const ModelImportOptions& options)
{
  std::vector<std::filesystem::path> paths = given;
  if (paths.size() == 1 && std::filesystem::is_directory(paths.front()))
    paths = files_in(given.front());
  if (paths.size() == 1)
    return import_model(paths.front(), options);
  // One after the other: only what is kept of a rank stays in memory.
  std::vector<models::RecordedRank> ranks;
  models::RecordedModel model;
  std::string step;
  for (const auto& path : paths) {
    models::Trace trace = read_trace(path, options.progress);
    if (trace.world == 0)
      trace.world = options.ranks.value_or(static_cast<int>(paths.size()));
    const models::Steps steps = models::find_steps(trace);
    if (ranks.empty()) {
      model = from_trace(trace, steps, given.front(), options, true);
      step = steps.list[steps.typical].name;
    }
    ranks.push_back(models::recorded_rank(trace, steps, step));
  }
  std::sort(ranks.begin(), ranks.end(),
            [](const auto& a, const auto& b) { return a.rank < b.rank; });
  for (std::size_t i = 1; i < ranks.size(); ++i)
    if (ranks[i].rank == ranks[i - 1].rank)
      throw ConfigError(ranks[i].file, "",
                        fmt::format("is of rank {}, as is {}", ranks[i].rank, ranks[i - 1].file),
                        "give one recording of each rank");
  model = models::with_ranks(std::move(model), ranks);
  return {std::move(model.json), std::move(model.notes)};
}

} // namespace foretrain::experiments
