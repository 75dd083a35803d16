// Lines, tables and times of traces, beside other implementations of the same.
#include "experiments/fleet/trace_text.hpp"

#include "sim/base/error.hpp"
#include "tests/experiments/fleet/text_file.hpp"
#include "tests/support/catch.hpp"

#include <chrono>
#include <fstream>
#include <iterator>
#include <random>

#include <zlib.h>

#include <fmt/format.h>

namespace foretrain::trace_text_test {

using namespace foretrain::experiments;

namespace {

// A line as RFC 4180 writes it: cells that need it, and some that do not, in quotes.
std::string line_of(const std::vector<std::string>& cells, std::mt19937& random)
{
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    line += i == 0 ? "" : ",";
    if (cells[i].find_first_of(",\"") == std::string::npos && random() % 2 == 0) {
      line += cells[i];
      continue;
    }
    line += '"';
    for (const char c : cells[i])
      line += c == '"' ? "\"\"" : std::string(1, c);
    line += '"';
  }
  return line;
}

std::string packed(const std::string& text)
{
  const test::TextFile file("packed.gz", "");
  const gzFile out = gzopen(file.path().c_str(), "wb");
  gzwrite(out, text.data(), static_cast<unsigned>(text.size()));
  gzclose(out);
  std::ifstream in(file.path(), std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

} // namespace

TEST_CASE("times are those of the calendar of std::chrono", "[fleet][trace]")
{
  std::mt19937 random(5);
  const auto days_to = [](int year) {
    return std::chrono::sys_days(std::chrono::year(year) / 1 / 1).time_since_epoch().count();
  };
  const int first = static_cast<int>(days_to(1)), last = static_cast<int>(days_to(10000));
  std::uniform_int_distribution<int> day(first, last - 1), second(0, 86399);
  for (int i = 0; i < 2000; ++i) {
    const int days = day(random), seconds = second(random);
    const std::chrono::year_month_day date{std::chrono::sys_days(std::chrono::days(days))};
    const std::string text =
        fmt::format("{:04}-{:02}-{:02}{}{:02}:{:02}:{:02}", static_cast<int>(date.year()),
                    static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                    i % 2 == 0 ? ' ' : 'T', seconds / 3600, seconds / 60 % 60, seconds % 60);
    CAPTURE(text);
    REQUIRE(time_of(text) == days * 86400.0 + seconds);
    REQUIRE(time_of(text + ".25Z") == days * 86400.0 + seconds);
  }
}

TEST_CASE("what no clock shows is no time", "[fleet][trace]")
{
  CHECK(time_of("2026-11-24T24:00:00") == time_of("2026-11-25T00:00:00")); // as some write midnight
  CHECK(time_of("2016-12-31T23:59:60") == time_of("2017-01-01T00:00:00")); // leap second
  for (const char* const wrong :
       {"", "None", "Unknown", "2026-11-24", "2026-00-24T10:00:00", "2026-13-24T10:00:00",
        "2026-11-00T10:00:00", "2026-11-32T10:00:00", "2026-11-24T25:00:00", "2026-11-24T10:60:00",
        "2026-11-24T10:00:61", "2026-11-24T10:00:6", "2026-1x-24T10:00:00", "26-11-24T10:00:00"}) {
    CAPTURE(wrong);
    CHECK_FALSE(time_of(wrong));
  }
}

TEST_CASE("lengths of time in Slurm's form", "[fleet][trace]")
{
  std::mt19937 random(6);
  for (int i = 0; i < 200; ++i) {
    const int days = static_cast<int>(random() % 40), seconds = static_cast<int>(random() % 86400);
    const std::string clock =
        fmt::format("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    CHECK(elapsed_of(clock) == seconds);
    CHECK(elapsed_of(fmt::format("{}-{}", days, clock)) == days * 86400.0 + seconds);
    CHECK(elapsed_of(fmt::format("{}:{:02}", seconds / 60, seconds % 60)) == seconds);
  }
  for (const char* const wrong : {"", "UNLIMITED", "Partition_Limit", "30", "1:2:3:4", "x-1:00",
                                  "1-", "-1:30", "1:-2", "1:x"}) {
    CAPTURE(wrong);
    CHECK_FALSE(elapsed_of(wrong));
  }
}

TEST_CASE("cells of a line are those that it was written from", "[fleet][trace]")
{
  std::mt19937 random(8);
  const std::string letters = "a, \"|é";
  for (int i = 0; i < 500; ++i) {
    std::vector<std::string> cells(1 + random() % 5);
    for (std::string& cell : cells)
      for (std::size_t length = random() % 6; cell.size() < length;)
        cell += letters[random() % letters.size()];
    const std::string line = line_of(cells, random);
    CAPTURE(line);
    REQUIRE(cells_of(line, ',') == cells);
  }
  CHECK(cells_of("a|\"b,c|d\"|", '|') == std::vector<std::string>{"a", "\"b,c", "d\"", ""});
}

TEST_CASE("numbers are whole words, and as many as an integer holds", "[fleet][trace]")
{
  CHECK(number_of("-2.5e1") == -25);
  for (const char* const wrong : {"", "x", "1x", " 1", "1 ", "inf", "nan", "1e999"}) {
    CAPTURE(wrong);
    CHECK_FALSE(number_of(wrong));
  }
  CHECK(whole_of(7.9) == 7);
  CHECK(whole_of(1e30) == 1'000'000'000);
  CHECK(whole_of(-1e30) == -1'000'000'000);
}

TEST_CASE("a table has its head in its first line, after comments and empty lines",
          "[fleet][trace]")
{
  const test::TextFile file("table.csv", "# of a site\n\na,b,c\r\n1,2,3\r\n\n# a remark\n4,5\n");
  const TraceTable table(file.path(), ',');
  CHECK(table.has("b"));
  CHECK_FALSE(table.has("d"));
  CHECK(table.need({"d", "c", "a"}) == "c"); // the first that is there
  std::string rows;
  table.each([&](const TraceTable::Row& row) {
    rows += row.where() + ": " + row.at("a") + " " + row.at("c") + row.at("d") +
            (row.whole() ? "\n" : " short\n");
  });
  CHECK(rows == "line 4: 1 3\nline 7: 4  short\n");
}

TEST_CASE("a file that is no table is refused", "[fleet][trace]")
{
  const auto refused = [](const std::string& text, const std::string& why) {
    const test::TextFile file("odd.csv", text);
    CHECK_THROWS_WITH(TraceTable(file.path(), ','), Catch::Contains(why));
  };
  const std::string packed_text = packed("a,b\n1,2\n3,4\n5,6\n");
  const test::TextFile whole("whole.csv.gz", packed_text);
  CHECK(TraceTable(whole.path(), ',').has("b"));
  const std::string longest(std::size_t{1} << 20, 'x');
  const test::TextFile file("long.csv", "a\n" + longest + "\n");
  CHECK(TraceTable(file.path(), ',').has("a"));
  refused("a\n" + longest + "x\n", "is no table: line 2 is longer than a megabyte");
  for (const std::string& damaged : {packed_text.substr(0, packed_text.size() - 9),
                                     packed_text.substr(0, 12) + packed_text.substr(20)})
    refused(damaged, "is damaged: it cannot be unpacked");
  CHECK_THROWS_WITH(TraceTable(std::filesystem::temp_directory_path(), ','),
                    Catch::Contains("cannot be read"));
}

} // namespace foretrain::trace_text_test
