// What commands print for people, to the letter: tests/golden/texts/*.txt hold commands, run in
// that folder, and their answers. Tables, pages and pictures have no other statement of what is
// right; that their numbers are those of the answer, and pages well formed, are tests of their own.
//
// FORETRAIN_UPDATE_TEXTS=1 in the environment writes the files anew.
#include "sim/base/catalog.hpp"
#include "sim/base/files.hpp"
#include "sim/base/version.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/program.hpp"

#include <cctype>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <sstream>

#include <fmt/format.h>

namespace foretrain::texts_test {

namespace {

std::filesystem::path folder()
{
  return data_root() / "tests/golden/texts";
}

void replace_all(std::string& text, const std::string& what, const std::string& by)
{
  for (std::size_t at = 0; !what.empty() && (at = text.find(what, at)) != std::string::npos;
       at += by.size())
    text.replace(at, what.size(), by);
}

// The answer without what another version or folder changes: the style of pages is that of
// report_html_style.cpp, not text.
std::string kept(std::string text)
{
  replace_all(text, version_with_commit(), "VERSION");
  replace_all(text, version(), "VERSION");
  replace_all(text, data_root().string() + "/", "");
  for (const std::string tag : {"style", "script"})
    for (std::size_t at = 0; (at = text.find("<" + tag + ">", at)) != std::string::npos; ++at)
      if (const auto end = text.find("</" + tag + ">", at); end != std::string::npos)
        text.erase(at + tag.size() + 2, end - at - tag.size() - 2);
  static const std::regex time(R"re(("seconds": |<testsuite [^>]*time=")[0-9.e-]+)re");
  text = std::regex_replace(text, time, "$1TIME");
  replace_all(text, "><", ">\n<"); // so that a difference is a line
  if (!text.empty() && text.back() != '\n')
    text += "\n";
  return text;
}

// Where commands write to: TMP of their words.
class Scratch {
public:
  // As long everywhere: texts are wrapped with it.
  Scratch() : path_(fmt::format("/tmp/foretrain-texts-{:08d}", getpid()))
  {
    std::filesystem::create_directories(path_);
  }
  ~Scratch() { std::filesystem::remove_all(path_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  std::string in(std::string text) const
  {
    replace_all(text, "TMP", path_.string());
    return text;
  }
  std::string out(std::string text) const
  {
    replace_all(text, path_.string(), "TMP");
    return text;
  }

private:
  std::filesystem::path path_;
};

// Words of a command; '...' and "..." are one.
std::vector<std::string> words_of(const std::string& line)
{
  std::vector<std::string> words{""};
  char quote = 0;
  for (const char c : line)
    if (c == quote)
      quote = 0;
    else if (quote == 0 && (c == '\'' || c == '"'))
      quote = c;
    else if (c == ' ' && quote == 0)
      words.emplace_back();
    else
      words.back() += c;
  return words;
}

std::string answer_of(const std::string& command, const Scratch& scratch)
{
  auto words = words_of(scratch.in(command));
  if (words.front() == "cat")
    return kept(scratch.out(read_file(words.at(1))));
  words.erase(words.begin());
  const test::Told told = test::told_by(words, folder());
  std::string text = kept(scratch.out(told.out));
  if (told.code == 0)
    return text;
  std::istringstream errors(kept(scratch.out(told.err)));
  for (std::string line; std::getline(errors, line);)
    text += "! " + line + "\n";
  return text + "[exit code " + std::to_string(told.code) + "]\n";
}

struct Case {
  std::string command;
  std::string answer;
};

std::vector<Case> read_cases(const std::filesystem::path& path)
{
  std::ifstream in(path);
  REQUIRE(in);
  std::vector<Case> cases;
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("$ "))
      cases.push_back({line.substr(2), ""});
    else if (!cases.empty())
      cases.back().answer += line + "\n";
  return cases;
}

// Whether both say the same, long numbers to 1e-9: another compiler may round the last digit
// otherwise. Those of tables are short, and as they are.
constexpr std::ptrdiff_t kDigits = 9;

bool alike(const std::string& a, const std::string& b)
{
  const char* x = a.c_str();
  const char* y = b.c_str();
  while (*x != 0 && *y != 0) {
    char* after_x = nullptr;
    char* after_y = nullptr;
    if (std::isdigit(static_cast<unsigned char>(*x)) != 0 &&
        std::isdigit(static_cast<unsigned char>(*y)) != 0) {
      const double p = std::strtod(x, &after_x);
      const double q = std::strtod(y, &after_y);
      const bool written_out = after_x - x > kDigits || after_y - y > kDigits;
      if (written_out ? std::abs(p - q) > 1e-9 * std::abs(p) + 1e-15
                      : std::string_view(x, static_cast<std::size_t>(after_x - x)) !=
                            std::string_view(y, static_cast<std::size_t>(after_y - y)))
        return false;
      x = after_x;
      y = after_y;
    } else if (*x++ != *y++) {
      return false;
    }
  }
  return *x == *y;
}

// The first line in which the answer is another one; empty where there is none.
std::string difference(const std::string& before, const std::string& now)
{
  std::istringstream a(before), b(now);
  std::string old_line, new_line;
  for (int line = 1;; ++line) {
    const bool more = static_cast<bool>(std::getline(a, old_line));
    const bool now_more = static_cast<bool>(std::getline(b, new_line));
    if (more != now_more || !alike(old_line, new_line))
      return "line " + std::to_string(line) + " was '" + (more ? old_line : "") + "', is '" +
             (now_more ? new_line : "") + "'";
    if (!more)
      return "";
  }
}

void check_texts(const std::string& name)
{
  const auto path = folder() / (name + ".txt");
  const bool updated = std::getenv("FORETRAIN_UPDATE_TEXTS") != nullptr;
  const Scratch scratch;
  std::string anew;
  for (const Case& it : read_cases(path)) {
    const std::string answer = answer_of(it.command, scratch);
    const std::string found = updated ? "" : difference(it.answer, answer);
    if (!found.empty())
      FAIL_CHECK(it.command << "\n" << found);
    anew += "$ " + it.command + "\n" + answer;
  }
  if (updated)
    std::ofstream(path) << anew;
}

} // namespace

TEST_CASE("texts: options of every command", "[golden]")
{
  check_texts("help");
}

TEST_CASE("texts: tables and CSV of stored answers", "[golden]")
{
  check_texts("reports");
}

TEST_CASE("texts: pages of stored answers", "[golden]")
{
  check_texts("reports-pages");
}

TEST_CASE("texts: jobs over time, 1", "[golden]")
{
  check_texts("fleets-1");
}

TEST_CASE("texts: jobs over time, 2", "[golden]")
{
  check_texts("fleets-2");
}

TEST_CASE("texts: jobs over time, 3: traces with odd rows", "[golden]")
{
  check_texts("fleets-3");
}

TEST_CASE("texts: jobs over time, 4: failures, maintenance, a report", "[golden]")
{
  check_texts("fleets-4");
}

TEST_CASE("texts: jobs over time, 5: kinds of checkpoints", "[golden]")
{
  check_texts("fleets-5");
}

TEST_CASE("texts: platforms, their graphs, exports and imports", "[golden]")
{
  check_texts("platforms");
}

TEST_CASE("texts: layers of networks", "[golden]")
{
  check_texts("models");
}

TEST_CASE("texts: work programs", "[golden]")
{
  check_texts("programs");
}

TEST_CASE("texts: nccl-tests on described machines", "[golden]")
{
  check_texts("collectives");
}

TEST_CASE("texts: nccl-tests of algorithms, protocols and versions", "[golden]")
{
  check_texts("collectives-2");
}

TEST_CASE("texts: recorded steps", "[golden]")
{
  check_texts("traces");
}

TEST_CASE("texts: models and experiments from recordings", "[golden]")
{
  check_texts("imports");
}

TEST_CASE("texts: stores of results", "[golden]")
{
  check_texts("sweeps");
}

TEST_CASE("texts: expectations and mistakes", "[golden]")
{
  check_texts("checks");
}

TEST_CASE("texts: placements and plans that cannot be", "[golden]")
{
  check_texts("odds");
}

TEST_CASE("texts: unusual models, an export, a trace", "[golden]")
{
  check_texts("odds-2");
}

TEST_CASE("texts: answers of many kinds in full", "[golden]")
{
  check_texts("results");
}

TEST_CASE("texts: recordings that are predicted with", "[golden]")
{
  check_texts("recorded");
}

TEST_CASE("texts: logs that teach, and what is predicted then", "[golden]")
{
  check_texts("learnt");
}

TEST_CASE("texts: rows of validation", "[golden]")
{
  check_texts("validations");
}

TEST_CASE("texts: transports and hosts", "[golden]")
{
  check_texts("transports");
}

TEST_CASE("texts: formats of input and storage", "[golden]")
{
  check_texts("inputs");
}

TEST_CASE("texts: experts and hybrids", "[golden]")
{
  check_texts("mixed-plans");
}

TEST_CASE("texts: frameworks, 1", "[golden]")
{
  check_texts("frameworks-1");
}

TEST_CASE("texts: frameworks, 2", "[golden]")
{
  check_texts("frameworks-2");
}

TEST_CASE("texts: networks, 1", "[golden]")
{
  check_texts("networks-1");
}

TEST_CASE("texts: networks, 2", "[golden]")
{
  check_texts("networks-2");
}

TEST_CASE("texts: networks, 3", "[golden]")
{
  check_texts("networks-3");
}

TEST_CASE("texts: machines, 1", "[golden]")
{
  check_texts("machines-1");
}

TEST_CASE("texts: machines, 2", "[golden]")
{
  check_texts("machines-2");
}

TEST_CASE("texts: machines, 3", "[golden]")
{
  check_texts("machines-3");
}

TEST_CASE("texts: plans of a transformer, 1", "[golden]")
{
  check_texts("plans-1");
}

TEST_CASE("texts: plans of a transformer, 2", "[golden]")
{
  check_texts("plans-2");
}

TEST_CASE("texts: plans of a transformer, 3", "[golden]")
{
  check_texts("plans-3");
}

TEST_CASE("texts: transformers, 1", "[golden]")
{
  check_texts("transformers-1");
}

TEST_CASE("texts: transformers, 2", "[golden]")
{
  check_texts("transformers-2");
}

TEST_CASE("texts: transformers, 3", "[golden]")
{
  check_texts("transformers-3");
}

TEST_CASE("texts: transformers, 4", "[golden]")
{
  check_texts("transformers-4");
}

TEST_CASE("texts: transformers, 5", "[golden]")
{
  check_texts("transformers-5");
}

TEST_CASE("texts: transformers, 6", "[golden]")
{
  check_texts("transformers-6");
}

TEST_CASE("texts: a plan tuned", "[golden]")
{
  check_texts("tuned");
}

TEST_CASE("texts: what logs teach, 1", "[golden]")
{
  check_texts("calibrations-1");
}

TEST_CASE("texts: what logs teach, 2", "[golden]")
{
  check_texts("calibrations-2");
}

TEST_CASE("texts: what logs teach, 3", "[golden]")
{
  check_texts("calibrations-3");
}

TEST_CASE("texts: what logs teach, 4", "[golden]")
{
  check_texts("calibrations-4");
}

TEST_CASE("texts: what logs teach, 5", "[golden]")
{
  check_texts("calibrations-5");
}

TEST_CASE("texts: what logs teach, 6", "[golden]")
{
  check_texts("calibrations-6");
}

TEST_CASE("texts: commands on small experiments, 1", "[golden]")
{
  check_texts("commands-1");
}

TEST_CASE("texts: commands on small experiments, 3", "[golden]")
{
  check_texts("commands-3");
}

TEST_CASE("texts: commands on small experiments, 6", "[golden]")
{
  check_texts("commands-6");
}

TEST_CASE("texts: commands on small experiments, 4", "[golden]")
{
  check_texts("commands-4");
}

TEST_CASE("texts: commands on small experiments, 5", "[golden]")
{
  check_texts("commands-5");
}

TEST_CASE("texts: commands on small experiments, 2", "[golden]")
{
  check_texts("commands-2");
}

} // namespace foretrain::texts_test
