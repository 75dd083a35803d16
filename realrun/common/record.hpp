// Measurement records, "foretrain.measurement/1": who measured what, where, how, with all samples.
//
// A record is checked when it is written and when it is read. It says everything needed to repeat
// it: the exact command, the git revision, the machine, the settings, the model.
#pragma once

#include "realrun/common/recorder.hpp"
#include "sim/base/schema.hpp"

#include <filesystem>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace foretrain::realrun {

/// What a record measures.
const std::vector<std::string>& record_kinds();
/// The units a series may have; all SI, so nothing can be read by a wrong power of ten.
const std::vector<std::string>& record_units();

struct Record {
  std::string kind; // one of record_kinds()
  std::string name;
  std::string program;
  std::vector<std::string> command;
  std::string started; // UTC
  double duration_s = 0.0;
  Json machine = Json::object();
  Json settings = Json::object(); // flat: numbers, texts, flags
  Json model;                     // null when no model was run
  std::vector<Series> series;
};

/// Fills in machine, start time and command; the caller adds settings and series.
Record begin_record(const std::string& kind, const std::string& name, const std::string& program,
                    const std::vector<std::string>& command);

/// A record keeps at most this many evenly spaced samples per repetition; fewer of a series that is
/// one of many (per layer, per bucket).
constexpr std::size_t kSamplesKept = 100;
constexpr std::size_t kSamplesPerLabel = 8;

/// The file's JSON with build, environment and summaries filled in.
Json to_json(const Record& record);

/// Checks `record` as a file would be checked, then writes it: to `path`, or to `out` when `path`
/// is empty. Throws ConfigError, or std::runtime_error when the file cannot be written.
void write_record(const Record& record, const std::string& path, std::ostream& out);

/// Reads and checks a file. Throws ConfigError with file:line:col.
Record read_record(const std::filesystem::path& path);

/// The same for JSON in memory.
Record check_record(const DocumentPtr& document);

/// JSON with lists of numbers and flat objects on one line.
std::string pretty(const Json& json);

} // namespace foretrain::realrun
