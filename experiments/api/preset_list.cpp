#include "experiments/api/preset_list.hpp"

#include "experiments/api/schemas.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

// What no other file names.
constexpr std::array<std::string_view, 4> kOfValidation{"claims", "claims-gate", "fleet-rows",
                                                        "gates"};

// "frameworks", "libraries" and "policies" of one.
std::string singular(const std::string& kind)
{
  if (kind.ends_with("ies"))
    return kind.substr(0, kind.size() - 3) + "y";
  return kind.ends_with("s") ? kind.substr(0, kind.size() - 1) : kind;
}

std::string text_at(const Json& root, const char* key)
{
  return root.contains(key) && root.at(key).is_string() ? root.at(key).get<std::string>() : "";
}

// What a file says it is; of those that say nothing the first sentence of their source.
std::string description_of(const Json& root)
{
  for (const char* key : {"description", "name", "made_by"})
    if (std::string text = text_at(root, key); !text.empty())
      return text;
  const std::string source = text_at(root, "source");
  return source.substr(0, source.find(". "));
}

} // namespace

std::vector<std::string> listed_kinds()
{
  std::vector<std::string> kinds = schema_names();
  std::erase_if(kinds, [](const std::string& kind) {
    return bundled_names(kind).empty() ||
           std::ranges::find(kOfValidation, kind) != kOfValidation.end();
  });
  std::sort(kinds.begin(), kinds.end());
  return kinds;
}

std::vector<PresetLine> preset_list(const std::string& kind)
{
  const auto kinds = listed_kinds();
  const std::string asked = std::ranges::find(kinds, kind) != kinds.end() ? kind : singular(kind);
  if (std::ranges::find(kinds, asked) == kinds.end())
    throw UsageError("'" + excerpt(kind) +
                     "' is no kind of preset\n  hint: " + suggestion(kind, kinds, "kinds"));
  const std::string folder = schema(asked).at("x-folder");
  const PresetKind preset{asked.c_str(), folder.c_str()};
  std::vector<PresetLine> lines;
  for (const std::string& name : preset_names(preset))
    lines.push_back(
        {name, preset_aliases(name, preset), description_of(resolve_preset(name, preset).json())});
  return lines;
}

std::string preset_list_text(const std::vector<PresetLine>& lines)
{
  std::size_t width = 0;
  for (const PresetLine& line : lines)
    width = std::max(width, line.name.size());
  std::string text;
  for (const PresetLine& line : lines)
    text += fmt::format("{:<{}}  {}{}\n", line.name, width, line.description,
                        line.aliases.empty() ? "" : " (also " + joined(line.aliases) + ")");
  return text;
}

Json preset_list_json(const std::vector<PresetLine>& lines)
{
  Json list = Json::array();
  for (const PresetLine& line : lines)
    list.push_back(
        {{"name", line.name}, {"aliases", line.aliases}, {"description", line.description}});
  return list;
}

std::string listed_kinds_text()
{
  std::string text;
  for (const std::string& kind : listed_kinds())
    text += fmt::format("{:<12} {:>4}  {}\n", kind, bundled_names(kind).size(),
                        text_at(schema(kind), "description"));
  return text;
}

} // namespace foretrain::experiments
