#include "experiments/serve/catalogue.hpp"

#include "experiments/answers/plan.hpp"
#include "experiments/api/schemas.hpp"
#include "experiments/fleet/fleet.hpp"
#include "experiments/report/report_html_style.hpp"
#include "experiments/run/keep/result_store.hpp"
#include "experiments/serve/told.hpp"
#include "experiments/spec/experiment.hpp"
#include "experiments/spec/file_kind.hpp"
#include "sim/base/document.hpp"
#include "sim/base/error.hpp"
#include "sim/base/files.hpp"
#include "sim/base/text.hpp"
#include "sim/base/version.hpp"

#include <algorithm>
#include <array>

namespace foretrain::serve {

namespace fs = std::filesystem;

namespace {

constexpr std::array<const char*, 3> kFiles{"experiment", "fleet", "plan"};

bool contains(const std::vector<std::string>& names, const std::string& name)
{
  return std::find(names.begin(), names.end(), name) != names.end();
}

} // namespace

fs::path bundled_folder(const std::string& kind)
{
  return kind == "experiment" ? data_root() / experiments::kExperimentKind.folder
         : kind == "plan"     ? data_root() / experiments::kPlanKind.folder
         : kind == "fleet"    ? data_root() / experiments::kFleetKind.folder
                              : fs::path();
}

std::string bundled_text(const std::string& kind, const std::string& name)
{
  if (bundled_folder(kind).empty())
    throw UsageError("'" + excerpt(kind) + "' is no kind of bundled file\n  hint: " +
                     suggestion(kind, {kFiles.begin(), kFiles.end()}, "kinds"));
  const auto names = experiments::bundled_names(kind);
  if (!contains(names, name))
    throw UsageError("'" + excerpt(name) +
                     "' is not bundled\n  hint: " + suggestion(name, names, kind + "s"));
  return read_file(bundled_folder(kind) / (name + ".json"));
}

Given given_by(const std::string& word)
{
  if (word.empty())
    return {};
  std::error_code error;
  if (!fs::exists(word, error)) {
    std::vector<std::string> known;
    for (const char* kind : kFiles) {
      const auto names = experiments::bundled_names(kind);
      if (contains(names, word))
        return {kind, word, bundled_text(kind, word), bundled_folder(kind) / (word + ".json"),
                true};
      known.insert(known.end(), names.begin(), names.end());
    }
    throw UsageError("'" + excerpt(word, 200) + "' is no file and not bundled\n  hint: " +
                     suggestion(word, known, "experiments, fleets and plans"));
  }
  if (fs::is_directory(word, error))
    throw UsageError("'" + excerpt(word, 200) + "' is a directory; a file is needed");
  const fs::path file = fs::absolute(word);
  if (is_database(file))
    return {"store", file.filename().string(), "", file, false};
  const auto document = load_document(file);
  const std::string kind = experiments::kind_of_file(document->root);
  if (kind.empty())
    throw ConfigError(word, "", "is no experiment, plan, fleet or store of results");
  return {kind, file.filename().string(), document->text, file, false};
}

Json catalogue(const Given& given)
{
  Json all{{"version", version_with_commit()}};
  all["given"] = {
      {"kind", given.kind}, {"name", given.name}, {"text", given.text}, {"bundled", given.bundled}};
  if (given.kind == "store")
    all["given"]["experiments"] = experiments::ResultStore(given.file.string()).experiments();
  for (const char* kind : kFiles) {
    all["schemas"][kind] = experiments::schema(kind);
    all["bundled"][kind] = experiments::bundled_names(kind);
  }
  for (const std::string& kind : experiments::schema_names())
    if (const auto names = experiments::bundled_names(kind); !names.empty())
      all["presets"][kind] = names;
  return all;
}

std::map<std::string, PageFile> page_files()
{
  const fs::path folder = data_root() / "experiments/page";
  std::map<std::string, PageFile> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string end = entry.path().extension().string();
    const char* const type = end == ".html"  ? "text/html; charset=utf-8"
                             : end == ".css" ? "text/css; charset=utf-8"
                             : end == ".js"  ? "text/javascript; charset=utf-8"
                             : end == ".svg" ? "image/svg+xml"
                                             : nullptr;
    if (type != nullptr)
      files[entry.path().filename().string()] = {type, read_file(entry.path())};
  }
  if (files.count("index.html") == 0)
    throw UsageError("the page is not there: no index.html in '" + folder.string() + "'");
  files["report.css"] = {"text/css; charset=utf-8", experiments::kReportStyle};
  files["report.js"] = {"text/javascript; charset=utf-8", experiments::kReportScript};
  return files;
}

} // namespace foretrain::serve
