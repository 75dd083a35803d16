// docs/formats.md and the program say the same of every key: default, limits, type, meaning. The
// page is what a user was promised; tests/make_formats.py writes it.
#include "experiments/api/schemas.hpp"
#include "sim/base/catalog.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <set>

#include <fmt/format.h>

namespace foretrain::formats_test {

using namespace foretrain::experiments;

namespace {

// Rows of each kind's tables.
std::map<std::string, std::multiset<std::string>> rows_of_page()
{
  std::ifstream in(data_root() / "docs/formats.md");
  REQUIRE(in);
  std::map<std::string, std::multiset<std::string>> rows;
  std::string kind;
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("## "))
      kind = line.substr(3);
    else if (line.starts_with("| `/"))
      rows[kind].insert(line);
  return rows;
}

std::string cell(std::string text)
{
  std::string made;
  for (const char c : text)
    made += c == '\n' ? " " : c == '|' ? "\\|" : std::string(1, c);
  return made;
}

// Whole numbers in groups of three, others with up to ten digits.
std::string shown(double value)
{
  if (value != std::floor(value) || std::abs(value) >= 1e10) {
    std::string text = fmt::format("{:.10g}", value);
    if (const auto at = text.find("e+"); at != std::string::npos)
      text.erase(at + 1, 1);
    return text;
  }
  std::string text = fmt::format("{:.0f}", std::abs(value));
  for (auto at = static_cast<int>(text.size()) - 3; at > 0; at -= 3)
    text.insert(static_cast<std::size_t>(at), ",");
  return (value < 0 ? "-" : "") + text;
}

bool is_range(const Json& part)
{
  std::set<std::string> keys;
  if (part.contains("properties"))
    for (const auto& [key, value] : part["properties"].items())
      keys.insert(key);
  keys.erase("source");
  keys.erase("notes");
  return keys == std::set<std::string>{"median", "low", "high", "interval"};
}

std::string kind_of(const Json& part)
{
  return part.contains("type") && part["type"].is_string() ? part["type"].get<std::string>() : "";
}

std::string type_of(const Json& part)
{
  if (part.contains("$ref")) {
    const auto text = part["$ref"].get<std::string>();
    return text.substr(text.rfind('/') + 1);
  }
  if (part.contains("x-preset"))
    return "*" + part["x-preset"].get<std::string>() + "*";
  if (part.contains("x-quantity"))
    return part["x-quantity"];
  const std::string type = kind_of(part);
  if (type == "array")
    return "list of " + type_of(part["items"]);
  if (part.contains("additionalProperties") && part["additionalProperties"].is_object())
    return "object of " + type_of(part["additionalProperties"]);
  if (is_range(part))
    return "range";
  const std::map<std::string, std::string> words{{"string", "text"},
                                                 {"integer", "whole number"},
                                                 {"boolean", "true, false"},
                                                 {"", "see meaning"}};
  const auto word = words.find(type);
  return word == words.end() ? type : word->second;
}

std::string default_of(const Json& part)
{
  if (!part.contains("default"))
    return "";
  const Json& value = part["default"];
  if (!value.is_number())
    return "`" + cell(value.is_string() ? value.get<std::string>() : value.dump()) + "`";
  const Json low = part.value("minimum", part.value("exclusiveMinimum", value));
  return value >= low ? "`" + shown(value) + "`" : ""; // below: stands for one that is not given
}

class Page {
public:
  Page()
  {
    for (const std::string& name : schema_names()) {
      schemas_[name] = schema(name);
      note_quantities(schemas_[name]);
    }
  }

  /// The rows of a kind's tables as the program has them.
  std::multiset<std::string> rows(const std::string& name) const
  {
    std::multiset<std::string> made;
    const Json& all = schemas_.at(name);
    for (const Json& form : all.value("anyOf", Json::array({all})))
      add_rows(form, "", made);
    for (const Json& shared : all.value("$defs", Json::object()))
      for (const Json& form : shared["oneOf"])
        if (!form.contains("enum"))
          add_rows(form, "", made);
    return made;
  }

private:
  void note_quantities(const Json& part)
  {
    if (part.is_object() && part.contains("x-quantity")) {
      double& most = most_[part["x-quantity"]];
      most = std::max(most, part["x-maximum"].get<double>());
    }
    if (part.is_structured())
      for (const Json& inside : part)
        note_quantities(inside);
  }

  std::string allowed(const Json& whole) const
  {
    const Json* part = &whole;
    while (kind_of(*part) == "array")
      part = &(*part)["items"];
    std::vector<std::string> said;
    if (part->contains("enum")) {
      for (const Json& word : (*part)["enum"])
        said.push_back("`" + word.get<std::string>() + "`");
      return fmt::format("{}", fmt::join(said, " "));
    }
    const std::string unit = part->contains("x-unit") ? " " + part->value("x-unit", "") : "";
    const double most = unit.empty() ? 0 : most_.at((*part)["x-quantity"]);
    const auto limit = [&](const std::string& key) {
      return part->contains(key)          ? &(*part)[key]
             : part->contains("x-" + key) ? &(*part)["x-" + key]
                                          : nullptr;
    };
    for (const auto& [key, word] :
         {std::pair("minimum", "at least"), std::pair("exclusiveMinimum", "more than")})
      if (const Json* low = limit(key); low != nullptr && (unit.empty() || *low != -most))
        said.push_back(fmt::format("{} {}{}", word, shown(*low), *low == 0 ? "" : unit));
    if (const Json* high = limit("maximum"); high != nullptr && (unit.empty() || *high != most))
      said.push_back(fmt::format("at most {}{}", shown(*high), unit));
    return fmt::format("{}", fmt::join(said, ", "));
  }

  // At the top: keys of every file have a table of their own.
  bool is_common(const std::string& key) const
  {
    static const std::set<std::string> common{"extends", "format", "notes", "source", "spread"};
    return common.contains(key);
  }

  void add_rows(const Json& form, const std::string& path, std::multiset<std::string>& made) const
  {
    for (const auto& [key, described] : form["properties"].items()) {
      if (key == "source" || key == "notes" || described.contains("const") ||
          (path.empty() && is_common(key)))
        continue;
      const Json needed = form.value("required", Json::array());
      const bool is_needed = std::find(needed.begin(), needed.end(), Json(key)) != needed.end();
      std::string here = path + "/" + key;
      made.insert(fmt::format("| `{}` | {} | {} | {} | {} |", here, type_of(described),
                              is_needed ? "**needed**" : default_of(described), allowed(described),
                              cell(described.value("description", ""))));
      const Json* part = &described;
      for (; kind_of(*part) == "array" && part->contains("items"); here += "/*")
        part = &(*part)["items"];
      if (part->contains("properties") && !is_range(*part))
        add_rows(*part, here, made);
    }
  }

  std::map<std::string, Json> schemas_;
  std::map<std::string, double> most_; // by kind of quantity
};

} // namespace

TEST_CASE("every key has the default, limits and meaning that docs/formats.md promises",
          "[formats]")
{
  const Page page;
  const auto promised = rows_of_page();
  for (const std::string& kind : schema_names()) {
    CAPTURE(kind);
    REQUIRE(promised.contains(kind));
    const auto made = page.rows(kind);
    const auto& rows = promised.at(kind);
    std::vector<std::string> differ;
    std::set_symmetric_difference(made.begin(), made.end(), rows.begin(), rows.end(),
                                  std::back_inserter(differ));
    CHECK(differ == std::vector<std::string>{});
  }
}

} // namespace foretrain::formats_test
