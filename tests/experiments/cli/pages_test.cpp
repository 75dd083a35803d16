// Pages are what a browser can show as meant, whatever they show.
#include "sim/base/catalog.hpp"
#include "sim/base/files.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/markup.hpp"
#include "tests/support/program.hpp"

namespace foretrain::pages_test {

namespace {

using Words = std::vector<std::string>;

std::filesystem::path inputs()
{
  return data_root() / "tests/golden/texts";
}

// No problem of the page is a problem of the program.
void check_page(const std::string& page)
{
  CHECK(page.starts_with("<!doctype html>"));
  CHECK(page.find("</html>") != std::string::npos);
  CHECK(test::Markup::problems(page) == std::vector<std::string>{});
  for (const char* number : {"nan", "inf", "null"})
    for (const std::string around : {"=\"", ">"})
      CHECK(page.find(around + number + (around == ">" ? "<" : "\"")) == std::string::npos);
}

// The page that a command writes into the folder.
std::string written(Words words, const std::string& name)
{
  const auto folder =
      std::filesystem::temp_directory_path() / ("foretrain-pages-" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  for (std::string& word : words)
    if (const auto at = word.find("TMP"); at != std::string::npos)
      word.replace(at, 3, folder.string());
  const test::Told told = test::told_by(words, inputs());
  INFO(told.err);
  CHECK(told.code <= 1);
  const std::string page = read_file((folder / name).string());
  std::filesystem::remove_all(folder);
  return page;
}

} // namespace

TEST_CASE("pages of answers are well formed and draw within their pictures", "[report][property]")
{
  const std::string answer =
      GENERATE("small", "shared", "large", "failing", "explain", "explain-large");
  CAPTURE(answer);
  check_page(
      test::told_by({"report", "answer-" + answer + ".json", "--format", "html"}, inputs()).out);
}

TEST_CASE("pages of predictions are well formed and draw within their pictures",
          "[report][property][long]")
{
  const std::string file = GENERATE("shared.json", "job.json", "transformer.json");
  CAPTURE(file);
  check_page(written({"predict", file, "--uncertainty", "steps", "--out", "TMP"}, "report.html"));
}

TEST_CASE("pages of fleets are well formed and draw within their pictures", "[report][property]")
{
  const std::string file = GENERATE("queue.json", "policies.json");
  CAPTURE(file);
  check_page(written({"fleet", file, "--seeds", "2", "--out", "TMP"}, "report.html"));
}

TEST_CASE("pages of plans are well formed and draw within their pictures", "[report][property]")
{
  check_page(written({"plan", "grow.json", "--seeds", "1", "--out", "TMP"}, "report.html"));
}

TEST_CASE("pages of recorded steps and of validation are well formed", "[report][property]")
{
  check_page(
      written({"trace", "show", "../../fuzz/seeds/kineto/steps.json", "--html", "TMP/page.html"},
              "page.html"));
  check_page(test::told_by({"validate", "copies", "--only", "*bi-enabled-1*", "--format", "html"},
                           inputs())
                 .out);
}

} // namespace foretrain::pages_test
