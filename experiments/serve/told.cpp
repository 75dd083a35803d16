#include "experiments/serve/told.hpp"

#include <algorithm>
#include <charconv>
#include <sstream>
#include <string_view>

namespace foretrain::serve {

namespace {

constexpr std::string_view kOwnFile = "standard input: "; // what the page's text is called
constexpr const char* kHint = "  hint: ";

// Takes ":12" from the end of the name; 0 where there is none.
int take_number(std::string& name)
{
  const std::size_t colon = name.rfind(':');
  int number = 0;
  if (colon == std::string::npos || colon + 1 == name.size())
    return 0;
  const char* const end = name.data() + name.size();
  const auto [tail, error] = std::from_chars(name.data() + colon + 1, end, number);
  if (error != std::errc() || tail != end)
    return 0;
  name.resize(colon);
  return number;
}

// "file:3:5: error: /pointer problem"
Json located(const std::string& line, std::size_t at)
{
  Json told{{"kind", "error"}};
  std::string file = line.substr(0, at);
  const int last = take_number(file);
  if (const int first = take_number(file); first > 0) {
    told["line"] = first;
    told["column"] = last;
  } else if (last > 0) {
    told["line"] = last;
  }
  told["file"] = file;
  std::string problem = line.substr(at + std::string(": error: ").size());
  if (const std::size_t space = problem.find(' ');
      problem.starts_with("/") && space != std::string::npos) {
    told["pointer"] = problem.substr(0, space);
    problem.erase(0, space + 1);
  }
  told["problem"] = problem;
  return told;
}

} // namespace

Json messages_in(const std::string& text)
{
  Json all = Json::array();
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(kHint) && !all.empty())
      all.back()["hint"] = line.substr(std::string(kHint).size());
    else if (const std::size_t at = line.find(": error: "); at != std::string::npos)
      all.push_back(located(line, at));
    else if (line.starts_with("foretrain: "))
      all.push_back({{"kind", "error"}, {"problem", line.substr(11)}});
    else if (!line.empty() && !line.starts_with("wrote "))
      all.push_back(
          {{"kind", "note"},
           {"problem", line.starts_with(kOwnFile) ? line.substr(kOwnFile.size()) : line}});
  }
  return all;
}

Json message(const std::string& problem, const std::string& hint)
{
  Json told{{"kind", "error"}, {"problem", problem}};
  if (!hint.empty())
    told["hint"] = hint;
  return Json::array({told});
}

std::string in_a_line(std::string json)
{
  for (char& c : json) // inside texts of JSON a line's end is written as \n
    if (c == '\n' || c == '\r')
      c = ' ';
  return json;
}

std::string main_of(const std::string& page)
{
  const std::size_t begin = page.find("<main>");
  const std::size_t end = page.rfind("</main>");
  return begin == std::string::npos || end == std::string::npos || end < begin
             ? ""
             : page.substr(begin + 6, end - begin - 6);
}

bool is_prediction(const Json& answer)
{
  return answer.is_object() && !answer.contains("fleet") && answer.contains("points") &&
         answer.at("points").is_array();
}

bool has_result(const Json& answer)
{
  if (!is_prediction(answer))
    return answer.is_object();
  const Json& points = answer.at("points");
  return std::any_of(points.begin(), points.end(), [](const Json& point) {
    return point.is_object() && point.contains("jobs") && !point.at("jobs").empty();
  });
}

Json together(const Json& now, const Json& before)
{
  Json both = now;
  both["points"] = Json::array();
  for (const auto& [answer, name] : {std::pair{&now, "now"}, std::pair{&before, "before"}})
    for (Json point : answer->at("points")) {
      point["settings"]["/answer"] = name;
      both["points"].push_back(std::move(point));
    }
  return both;
}

} // namespace foretrain::serve
