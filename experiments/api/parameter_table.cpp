#include "experiments/api/parameter_table.hpp"

#include "calibration/spreads.hpp"
#include "experiments/spec/preset_kinds.hpp"
#include "experiments/spec/profiles.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file_name.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

constexpr const char* kProfile = "profile";
constexpr const char* kNetworks = "model";

std::string source_in(const Json& json)
{
  return json.contains("source") && json.at("source").is_string()
             ? json.at("source").get<std::string>()
             : "";
}

// Numbers and quantities below `at`, by pointer.
void collect(const Json& at, const std::string& pointer, ParameterRow row,
             std::vector<ParameterRow>& rows)
{
  if (at.is_object() || at.is_array()) {
    for (const auto& item : at.items()) {
      const bool words = item.key() == "source" || item.key() == "notes" ||
                         item.key() == "spread" || item.key() == "aliases";
      if (!words)
        collect(item.value(), pointer + "/" + pointer_token(item.key()), row, rows);
    }
    return;
  }
  const bool number = at.is_number();
  if (!number && !(at.is_string() && parse_measure(at.get<std::string>())))
    return;
  row.pointer = pointer;
  row.value = number ? at.dump() : at.get<std::string>();
  rows.push_back(std::move(row));
}

double spread_of(const Json& preset, const ParameterRow& row, const calibration::Spreads& table)
{
  if (preset.contains("spread") && preset.at("spread").is_object() &&
      preset.at("spread").contains(row.pointer)) {
    const Json& spread = preset.at("spread").at(row.pointer);
    const Json number = spread.is_object() ? spread.value("below", Json()) : spread;
    if (number.is_number())
      return number.get<double>();
  }
  for (const calibration::SpreadLine& line : table.spreads)
    if (line.kind == row.kind && calibration::covers(line, row.pointer))
      return line.spread;
  return 0;
}

void add_preset(const PresetKind& kind, const std::string& name, const calibration::Spreads& table,
                std::vector<ParameterRow>& rows)
{
  const Value preset = resolve_preset(name, kind);
  const std::size_t first = rows.size();
  collect(preset.json(), "", {kind.name, name, "", "", 0, source_in(preset.json())}, rows);
  for (std::size_t i = first; i < rows.size(); ++i)
    rows[i].spread = spread_of(preset.json(), rows[i], table);
}

void add_profile(const std::string& name, std::vector<ParameterRow>& rows)
{
  Profiles profiles;
  profiles.add(name);
  for (const auto& p : profiles.list.front().parameters)
    rows.push_back(
        {kProfile, name, p.kind + " " + p.preset + " " + p.pointer,
         p.value.json().is_string() ? p.value.json().get<std::string>() : p.value.json().dump(),
         calibration::relative_spread(p), p.source});
}

void check(const std::string& word, const std::vector<std::string>& known, const char* what)
{
  if (std::find(known.begin(), known.end(), word) == known.end())
    throw UsageError("'" + excerpt(word) + "' is not a " + what + " with parameters\n  hint: " +
                     suggestion(word, known, std::string(what) + "s"));
}

// "h100-sxm5-80gb" of "h100".
std::string bundled_name(const std::string& name_or_alias, const PresetKind& kind)
{
  const Value preset = resolve_preset(name_or_alias, kind);
  return std::filesystem::path(preset.document()->name).stem().string();
}

} // namespace

std::vector<ParameterRow> parameter_table(const std::string& kind, const std::string& preset)
{
  auto kinds = preset_kind_names();
  std::erase(kinds, kNetworks);
  kinds.emplace_back(kProfile);
  if (!kind.empty())
    check(kind, kinds, "kind");
  const auto table = calibration::load_spreads();
  std::vector<ParameterRow> rows;
  for (const std::string& it : kinds) {
    if (!kind.empty() && it != kind)
      continue;
    const PresetKind& presets = it == kProfile ? kProfileKind : *preset_kind(it);
    const bool file = is_file_name(preset) || preset.find('/') != std::string::npos;
    const auto names = preset.empty() ? preset_names(presets)
                       : file         ? std::vector{preset}
                                      : std::vector{bundled_name(preset, presets)};
    for (const std::string& name : names) {
      if (it == kProfile)
        add_profile(name, rows);
      else
        add_preset(presets, name, table, rows);
    }
  }
  return rows;
}

std::string parameter_text(const std::vector<ParameterRow>& rows)
{
  std::string text;
  const ParameterRow* above = nullptr;
  for (const ParameterRow& row : rows) {
    const bool begins = above == nullptr || above->preset != row.preset || above->kind != row.kind;
    if (begins)
      text += fmt::format("{}{} {}\n", above == nullptr ? "" : "\n", row.kind, row.preset);
    if (!row.source.empty() && (begins || above->source != row.source))
      text += fmt::format("  source: {}\n", row.source);
    text += fmt::format("  {:<44} {:>16}{}\n", row.pointer, row.value,
                        row.spread > 0 ? fmt::format("  +- {:.3g} %", 100 * row.spread) : "");
    above = &row;
  }
  return text;
}

Json parameter_json(const std::vector<ParameterRow>& rows)
{
  Json list = Json::array();
  for (const ParameterRow& row : rows)
    list.push_back({{"kind", row.kind},
                    {"preset", row.preset},
                    {"pointer", row.pointer},
                    {"value", row.value},
                    {"spread", row.spread},
                    {"source", row.source}});
  return list;
}

} // namespace foretrain::experiments
