#include "sim/base/yaml.hpp"

#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <charconv>
#include <cmath>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>
#include <vector>

namespace foretrain {

namespace {

using Pointer = Json::json_pointer;

constexpr std::size_t kMaxValues = 1'000'000; // after aliases are resolved
constexpr int kMaxYamlDepth = 64;
constexpr std::size_t kMaxYamlKeys = 10'000; // of one object, as in JSON
constexpr const char* kCore = "tag:yaml.org,2002:";

std::string place_of(const YAML::Mark& mark)
{
  return mark.is_null() ? "" : fmt::format("{}:{}", mark.line + 1, mark.column + 1);
}

bool only(std::string_view text, std::string_view digits)
{
  return !text.empty() && text.find_first_not_of(digits) == std::string_view::npos;
}

constexpr std::string_view kDigits = "0123456789";

// Of the core schema: [-+]? ( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )?
bool is_decimal(std::string_view text)
{
  const std::size_t exponent = text.find_first_of("eE");
  if (exponent != std::string_view::npos) {
    std::string_view power = text.substr(exponent + 1);
    if (power.starts_with('+') || power.starts_with('-'))
      power.remove_prefix(1);
    if (!only(power, kDigits))
      return false;
    text = text.substr(0, exponent);
  }
  const std::size_t point = text.find('.');
  if (point == std::string_view::npos)
    return only(text, kDigits);
  const std::string_view before = text.substr(0, point);
  const std::string_view after = text.substr(point + 1);
  return (before.empty() || only(before, kDigits)) && (after.empty() || only(after, kDigits)) &&
         !(before.empty() && after.empty());
}

template <class Number>
std::optional<Number> whole(std::string_view digits, int base)
{
  Number number = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), number, base);
  return error == std::errc() && end == digits.data() + digits.size() ? std::optional(number)
                                                                      : std::nullopt;
}

// As the reader of JSON has it: whole numbers of 64 bits, else the nearest decimal.
Json number_of(std::string_view digits, bool negative)
{
  const std::string text = (negative ? "-" : "") + std::string(digits);
  if (only(digits, kDigits)) {
    if (negative)
      if (const auto number = whole<std::int64_t>(text, 10))
        return *number;
    if (const auto number = whole<std::uint64_t>(digits, 10); number && !negative)
      return *number;
  }
  return std::strtod(text.c_str(), nullptr);
}

class Converter {
public:
  Converter(const std::string& name, const Placed& placed) : name_(name), placed_(placed) {}

  Json value(const YAML::Node& node, const Pointer& pointer, int depth,
             const std::string& key_place)
  {
    if (++values_ > kMaxValues)
      refuse(node, fmt::format("makes more than {} values of its aliases", kMaxValues));
    if (depth > kMaxYamlDepth)
      refuse(node, fmt::format("is nested deeper than {} levels", kMaxYamlDepth));
    placed_(pointer.to_string(), place_of(node.Mark()), key_place);
    if (node.IsSequence())
      return list(node, pointer, depth);
    if (node.IsMap())
      return object(node, pointer, depth);
    return node.IsScalar() ? scalar(node) : Json();
  }

private:
  [[noreturn]] void refuse(const YAML::Node& at, const std::string& problem,
                           const std::string& hint = "") const
  {
    const std::string place = place_of(at.Mark());
    throw ConfigError(name_ + (place.empty() ? "" : ":" + place), "", problem, hint);
  }

  Json list(const YAML::Node& node, const Pointer& pointer, int depth)
  {
    Json list = Json::array();
    for (const YAML::Node& entry : node)
      list.push_back(value(entry, pointer / list.size(), depth + 1, ""));
    return list;
  }

  Json object(const YAML::Node& node, const Pointer& pointer, int depth)
  {
    Json object = Json::object();
    std::set<std::string> keys;
    std::vector<YAML::Node> merged;
    for (const auto& member : node) {
      if (!member.first.IsScalar())
        refuse(member.first, "has a key that is no text");
      const std::string key = member.first.Scalar();
      if (keys.size() >= kMaxYamlKeys)
        refuse(node, fmt::format("has an object of more than {} keys", kMaxYamlKeys));
      if (!keys.insert(key).second)
        refuse(member.first, fmt::format("has the key '{}' twice in one object", excerpt(key)));
      if (key == "<<" && member.first.Tag() == "?")
        merged.push_back(member.second);
      else
        add(object, member.first, member.second, pointer, depth);
    }
    for (const YAML::Node& from : merged)
      merge(object, from, pointer, depth);
    return object;
  }

  void add(Json& object, const YAML::Node& key, const YAML::Node& member, const Pointer& pointer,
           int depth)
  {
    object[key.Scalar()] = value(member, pointer / key.Scalar(), depth + 1, place_of(key.Mark()));
  }

  // Keys of other objects that are not here; of several objects the first that has it.
  void merge(Json& object, const YAML::Node& from, const Pointer& pointer, int depth)
  {
    if (from.IsSequence()) {
      for (const YAML::Node& one : from)
        merge(object, one, pointer, depth + 1);
      return;
    }
    if (!from.IsMap() || depth > kMaxYamlDepth)
      refuse(from, "has a merge key (<<) that is neither an object nor a list of objects");
    for (const auto& member : from)
      if (member.first.IsScalar() && member.first.Tag() == "?" && member.first.Scalar() == "<<")
        merge(object, member.second, pointer, depth + 1);
      else if (member.first.IsScalar() && !object.contains(member.first.Scalar()))
        add(object, member.first, member.second, pointer, depth);
  }

  Json scalar(const YAML::Node& node) const
  {
    const std::string& text = node.Scalar();
    const std::string& tag = node.Tag();
    if (tag == "!" || tag == std::string(kCore) + "str")
      return text;
    if (tag != "?" && !tag.empty() && !tag.starts_with(kCore))
      refuse(node, "has a tag that means nothing here: " + excerpt(tag));
    if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL")
      return {};
    if (text == "true" || text == "True" || text == "TRUE")
      return true;
    if (text == "false" || text == "False" || text == "FALSE")
      return false;
    return number(node, text);
  }

  Json number(const YAML::Node& node, const std::string& text) const
  {
    const bool negative = text.front() == '-';
    const std::string_view digits =
        std::string_view(text).substr(negative || text.front() == '+' ? 1 : 0);
    const bool plain = digits.size() == text.size();
    if (plain && digits.starts_with("0o") && only(digits.substr(2), "01234567"))
      if (const auto number = whole<std::uint64_t>(digits.substr(2), 8))
        return *number;
    if (plain && digits.starts_with("0x") && only(digits.substr(2), "0123456789abcdefABCDEF"))
      if (const auto number = whole<std::uint64_t>(digits.substr(2), 16))
        return *number;
    if (digits == ".inf" || digits == ".Inf" || digits == ".INF" || text == ".nan" ||
        text == ".NaN" || text == ".NAN")
      refuse(node, "is not a number that can be read: " + text);
    if (!is_decimal(digits))
      return text;
    if (digits.size() > 1 && digits.front() == '0' && kDigits.find(digits[1]) != std::string::npos)
      refuse(node, "is a number for some readers of YAML and another for others: " + excerpt(text),
             "write it without the leading 0, or in quotes if it is a text");
    Json number = number_of(digits, negative);
    if (!std::isfinite(number.get<double>()))
      refuse(node, "is out of range: " + excerpt(text));
    return number;
  }

  const std::string& name_;
  const Placed& placed_;
  std::size_t values_ = 0;
};

// Where the first character stands that is neither blank nor in a comment of JSON's or YAML's.
std::size_t first_character(std::string_view text)
{
  std::size_t at = text.starts_with("\xEF\xBB\xBF") ? 3 : 0;
  while ((at = text.find_first_not_of(" \t\r\n", at)) != std::string_view::npos) {
    const std::string_view rest = text.substr(at);
    std::size_t end = at;
    if (rest.starts_with("//") || rest.starts_with("#"))
      end = text.find('\n', at);
    else if (rest.starts_with("/*"))
      end = text.find("*/", at + 2);
    else
      return at;
    if (end == std::string_view::npos)
      return end;
    at = end + (rest.starts_with("/*") ? 2 : 1);
  }
  return at;
}

// Hears of a document and keeps nothing of it.
class Listener final : public YAML::EventHandler {
public:
  using Mark = YAML::Mark;
  using Text = std::string;
  void OnDocumentStart(const Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const Mark&, YAML::anchor_t) override {}
  void OnAlias(const Mark&, YAML::anchor_t) override {}
  void OnScalar(const Mark&, const Text&, YAML::anchor_t, const Text&) override {}
  void OnSequenceStart(const Mark&, const Text&, YAML::anchor_t, YAML::EmitterStyle::value) override
  {
  }
  void OnSequenceEnd() override {}
  void OnMapStart(const Mark&, const Text&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}
};

// 0, 1, or 2 for more: of some texts, like '2"nb'&"nb_0, yaml-cpp finds documents without end.
int count_documents(const std::string& text)
{
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  Listener listener;
  int documents = 0;
  while (documents < 2 && parser.HandleNextDocument(listener))
    ++documents;
  return documents;
}

} // namespace

bool is_yaml(const std::string& text, const std::string& name)
{
  if (name.ends_with(".yaml") || name.ends_with(".yml"))
    return true;
  if (name.ends_with(".json"))
    return false;
  const std::size_t first = first_character(text);
  return first != std::string::npos &&
         std::string_view("{[\"").find(text[first]) == std::string::npos;
}

Json parse_yaml(const std::string& text, const std::string& name, const Placed& placed)
{
  try {
    if (const int documents = count_documents(text); documents != 1)
      throw ConfigError(
          name, "",
          fmt::format("must hold one YAML document, holds {}", documents == 0 ? "none" : "more"));
    return Converter(name, placed).value(YAML::Load(text), Pointer(), 0, "");
  } catch (const YAML::Exception& error) {
    const std::string place = place_of(error.mark);
    throw ConfigError(name + (place.empty() ? "" : ":" + place), "",
                      "is not valid YAML: " + excerpt(error.msg, 400));
  }
}

} // namespace foretrain
