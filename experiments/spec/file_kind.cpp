#include "experiments/spec/file_kind.hpp"

#include "experiments/spec/experiment.hpp"
#include "sim/base/file_name.hpp"

#include <algorithm>
#include <array>

namespace foretrain::experiments {

namespace {

namespace fs = std::filesystem;

constexpr int kDeepest = 64; // of files that extend each other: a circle is told by its reader

const std::array<PresetKind, 3> kBundled{
    kExperimentKind, {"fleet", "experiments/fleets"}, {"plan", "experiments/plans"}};

std::string kind_of(const std::string& word, const fs::path& beside, int depth)
{
  if (word.find('/') == std::string::npos && !is_file_name(word)) {
    for (const PresetKind& kind : kBundled) {
      const auto names = preset_names(kind);
      if (std::find(names.begin(), names.end(), word) != names.end())
        return kind.name;
    }
    return "";
  }
  const fs::path path = beside / word; // an absolute one stays what it is
  std::error_code error;
  if (depth == kDeepest || !fs::is_regular_file(path, error))
    return "";
  const auto document = load_document(path);
  const Json& root = document->root;
  const bool says_nothing = root.is_object() && root.contains("extends") &&
                            root.at("extends").is_string() && !root.contains("format") &&
                            !root.contains("jobs") && kind_of_file(root) == "experiment";
  if (!says_nothing)
    return kind_of_file(root);
  return kind_of(root.at("extends").get<std::string>(), path.parent_path(), depth + 1);
}

} // namespace

std::string kind_of_file(const Json& root)
{
  if (!root.is_object())
    return "";
  const std::string format = root.contains("format") && root.at("format").is_string()
                                 ? root.at("format").get<std::string>()
                                 : "";
  for (const PresetKind& kind : kBundled)
    if (format.starts_with(std::string("foretrain.") + kind.name + "/"))
      return kind.name;
  if (root.contains("changes"))
    return "plan";
  if (root.contains("arrivals") || (root.contains("jobs") && root.at("jobs").is_object()))
    return "fleet";
  return root.contains("jobs") || root.contains("extends") ? "experiment" : "";
}

std::string kind_of_named(const std::string& name_or_path)
{
  return kind_of(name_or_path, fs::current_path(), 0);
}

} // namespace foretrain::experiments
