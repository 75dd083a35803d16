#include "sim/base/catalog.hpp"

#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <cstdlib>

namespace foretrain {

namespace fs = std::filesystem;

fs::path data_root()
{
  if (const char* root = std::getenv("FORETRAIN_ROOT"); root != nullptr && *root != '\0')
    return root;
  return FORETRAIN_SOURCE_ROOT;
}

std::vector<std::string> preset_names(const PresetKind& kind)
{
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(data_root() / kind.folder, error))
    if (entry.path().extension() == ".json")
      names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

namespace {

bool is_path(const std::string& name)
{
  return name.find('/') != std::string::npos || name.ends_with(".json");
}

fs::path preset_file(const std::string& name, const PresetKind& kind)
{
  return data_root() / kind.folder / (name + ".json");
}

// Presets whose "aliases" hold the name; empty path when there is none.
fs::path alias_file(const std::string& name, const PresetKind& kind)
{
  for (const auto& candidate : preset_names(kind)) {
    fs::path file = preset_file(candidate, kind);
    const auto document = load_document(file);
    if (!document->root.is_object() || !document->root.contains("aliases"))
      continue;
    const auto& aliases = document->root.at("aliases");
    if (std::find(aliases.begin(), aliases.end(), name) != aliases.end())
      return file;
  }
  return {};
}

template <class Fail>
std::shared_ptr<Document> find_document(const std::string& name, const fs::path& beside,
                                        const PresetKind& kind, const Fail& fail)
{
  if (is_path(name)) {
    const fs::path path = fs::path(name).is_absolute() ? fs::path(name) : beside / name;
    if (!fs::exists(path))
      fail("names the file '" + excerpt(path.string(), 200) + "', which does not exist", "");
    return load_document(path.lexically_normal());
  }
  fs::path file = preset_file(name, kind);
  if (name.empty() || !fs::exists(file))
    file = alias_file(name, kind);
  if (file.empty()) {
    const auto names = preset_names(kind);
    fail("is not a known " + std::string(kind.name) + ": '" + excerpt(name) + "'",
         suggestion(name, names, std::string(kind.name) + "s") +
             " (or give a path ending in .json)");
  }
  return load_document(file);
}

void extend_from(Document& document, const PresetKind& kind)
{
  apply_extends(document, [&kind](const Value& reference) -> DocumentPtr {
    const auto fail = [&reference](const std::string& problem, const std::string& hint) {
      reference.fail(problem, hint);
    };
    return find_document(reference.json().get<std::string>(),
                         reference.document()->path.parent_path(), kind, fail);
  });
  if (document.root.is_object())
    document.root.erase("aliases");
}

} // namespace

Value resolve_preset(const Value& reference, const PresetKind& kind)
{
  if (reference.json().is_object()) {
    if (!reference.json().contains("extends"))
      return reference;
    auto inline_object = std::make_shared<Document>(*reference.document());
    inline_object->root = reference.json();
    inline_object->text.clear(); // positions would be those of the whole file
    inline_object->name = reference.where() + " " + reference.pointer();
    extend_from(*inline_object, kind);
    return Value(inline_object);
  }
  if (!reference.json().is_string())
    reference.fail("must be the name of a " + std::string(kind.name) +
                   ", a path or an object, got " + reference.shown());
  auto document =
      find_document(reference.json().get<std::string>(), reference.document()->path.parent_path(),
                    kind, [&reference](const std::string& problem, const std::string& hint) {
                      reference.fail(problem, hint);
                    });
  extend_from(*document, kind);
  return Value(document);
}

Value resolve_preset(const std::string& name_or_path, const PresetKind& kind)
{
  auto document =
      find_document(name_or_path, fs::current_path(), kind,
                    [&](const std::string& problem, const std::string& hint) {
                      throw UsageError("'" + excerpt(name_or_path, 200) + "' " + problem +
                                       (hint.empty() ? "" : "\n  hint: " + hint));
                    });
  extend_from(*document, kind);
  return Value(document);
}

} // namespace foretrain
