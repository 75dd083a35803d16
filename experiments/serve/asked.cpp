#include "experiments/serve/asked.hpp"

#include "sim/base/error.hpp"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

namespace foretrain::serve {

namespace {

constexpr std::size_t kLongestText = std::size_t{1} << 20;

void check_name(const Value& value, const char* key, const std::string& name)
{
  const bool plain = !name.empty() && name.size() <= 64 &&
                     std::all_of(name.begin(), name.end(),
                                 [](unsigned char c) { return std::isalnum(c) != 0 || c == '-'; });
  if (!plain)
    value.fail_at(key, "must be 1 to 64 letters, digits and dashes");
}

} // namespace

void check_length(const std::string& text)
{
  if (text.size() > kLongestText)
    throw ConfigError("request.json", "/text", "is larger than 1 MiB");
}

Asked read_asked(const std::string& body)
{
  const Value root{DocumentPtr(parse_document(body, "request.json"))};
  Asked asked = read_as<Asked>(root);
  check_name(root, "page", asked.page);
  check_name(root, "run", asked.run);
  check_length(asked.text);
  if (const std::size_t points = points_in(asked.text);
      asked.command == Question::predict && points > kMostPoints)
    throw ConfigError("standard input", "/sweep",
                      fmt::format("has {} points; the page takes at most {}", points, kMostPoints),
                      "foretrain sweep takes more");
  return asked;
}

std::size_t points_in(const std::string& text)
{
  try {
    const auto document = parse_document(text, "standard input");
    if (!document->root.is_object() || !document->root.contains("sweep"))
      return 1;
    std::size_t points = 1;
    for (const Json& values : document->root.at("sweep"))
      if (values.is_array() &&
          points <= kMostPoints) // beyond, what follows could make it wrap around
        points *= std::max<std::size_t>(1, values.size());
    return points;
  } catch (const ConfigError&) {
    return 1; // the command tells what is wrong with it
  }
}

bool is_long(const Asked& asked)
{
  return (asked.command != Question::predict && asked.command != Question::stored) ||
         points_in(asked.text) > kFewPoints;
}

std::vector<std::string> words_of(const Asked& asked, const std::string& out,
                                  const std::string& store, int jobs)
{
  const bool stored = asked.command == Question::stored;
  std::vector<std::string> words{stored ? "report" : std::string(word_of(asked.command)),
                                 stored ? store : "-", "--format", "json"};
  const auto add = [&words](const char* option, const std::string& value) {
    if (!value.empty())
      words.insert(words.end(), {option, value});
  };
  if (stored) {
    if (!asked.experiment.empty())
      words.push_back("--experiment=" + asked.experiment); // whatever it begins with
    return words;
  }
  const auto number = [](const std::optional<int>& value) {
    return value ? std::to_string(*value) : "";
  };
  const bool tunes = asked.command == Question::tune;
  const bool fleets = asked.command == Question::fleet;
  if (!tunes)
    add("--seed", number(asked.seed));
  if (!tunes && !fleets) {
    add("--fidelity", asked.fidelity);
    add("--uncertainty", asked.uncertainty);
    add("--jobs", std::to_string(jobs));
  }
  if (asked.command == Question::explain)
    add("--point", number(asked.point));
  if (fleets)
    add("--seeds", number(asked.seeds));
  if (tunes)
    add("--top", number(asked.top));
  if (!tunes && asked.command != Question::explain)
    add("--out", out); // with the report in there
  return words;
}

} // namespace foretrain::serve
