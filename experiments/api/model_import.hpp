// What `foretrain model import` reads: one line per kind of file in a table, chosen by content.
#pragma once

#include "models/traces/text_source.hpp"
#include "models/traces/trace.hpp"
#include "sim/base/document.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace foretrain::experiments {

struct ModelImportOptions {
  std::string name;            // of the model; empty: that of the file
  std::optional<int> batch;    // samples per device, where the file does not tell
  std::optional<int> ranks;    // of the recorded job, where the file does not tell
  std::optional<int> steps;    // that a table sums up; one if untold
  std::string like;            // network whose gradients it has, where the file does not tell
  std::string gpu;             // preset of the device; empty: by its name in the file
  bool gradients_only = false; // of a recording: see models::RecordedOptions
  models::Progress progress;
};

struct ImportedModel {
  Json json;                      // a model file
  std::vector<std::string> notes; // what was found and what was not
};

struct ModelImporter {
  const char* name; // "PyTorch profiler trace (Kineto)"
  /// Whether a file is of this kind, by its first bytes (unpacked) and its path.
  bool (*recognises)(const std::filesystem::path& path, const std::string& head);
  ImportedModel (*import)(const std::filesystem::path& path, const ModelImportOptions& options);
};

/// Reads any of them. Throws ConfigError naming all kinds when it is none.
ImportedModel import_model(const std::filesystem::path& path, const ModelImportOptions& options);

/// Several files are recordings of the ranks of one job, in any order; a folder holds such files.
/// Throws ConfigError as above, and when they are not of one job.
ImportedModel import_model(const std::vector<std::filesystem::path>& paths,
                           const ModelImportOptions& options);

/// Reads a profiler's recording of any known kind. Throws ConfigError.
models::Trace read_trace(const std::filesystem::path& path, const models::Progress& progress);

/// The GPU preset that a device's name stands for ("Tesla V100-SXM2-16GB"); "" when there is none.
std::string gpu_preset_of(const std::string& device);

} // namespace foretrain::experiments
