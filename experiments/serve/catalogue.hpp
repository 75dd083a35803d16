// What the page's forms are made of, and the files that it is made of itself.
#pragma once

#include "sim/base/json.hpp"

#include <filesystem>
#include <map>
#include <string>

namespace foretrain::serve {

/// What the page was started with: nothing, a bundled file, a file of somebody's own, or a store of
/// results.
struct Given {
  std::string kind;           // "experiment", "plan", "fleet", "store", or "" for nothing
  std::string name;           // of the file, for people; of a bundled one, its name
  std::string text;           // empty for a store
  std::filesystem::path file; // absolute
  bool bundled = false;
};

/// Finds out what a word of the command line is. Throws UsageError and ConfigError.
Given given_by(const std::string& word);

/// The folder of bundled files of a kind; empty where there is none.
std::filesystem::path bundled_folder(const std::string& kind);

/// Text of a bundled file; throws UsageError where there is none of that name.
std::string bundled_text(const std::string& kind, const std::string& name);

/// Schemas, names of presets and bundled files, and what was given, as one object.
Json catalogue(const Given& given);

struct PageFile {
  std::string type; // media type
  std::string text;
};
/// By name: all that can be asked for beside answers.
std::map<std::string, PageFile> page_files();

} // namespace foretrain::serve
