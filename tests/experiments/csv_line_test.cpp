// A table that a spreadsheet opens holds text and numbers (RFC 4180), and nothing that it would
// run.
#include "experiments/report/report_csv.hpp"

#include "tests/support/catch.hpp"

namespace foretrain::csv_line_test {

using namespace foretrain::experiments;

TEST_CASE("fields with commas, quotes and line ends are quoted, others as they are", "[report]")
{
  CHECK(csv_line({"a", "", "1.5"}) == "a,,1.5\r\n");
  CHECK(csv_line({"a,b", "say \"no\"", "two\nlines", " a "}) ==
        "\"a,b\",\"say \"\"no\"\"\",\"two\nlines\", a \r\n");
  CHECK(csv_line({}) == "\r\n");
}

TEST_CASE("a cell that a spreadsheet would run is led by an apostrophe, numbers are not",
          "[report]")
{
  CHECK(csv_line({"=1+1", "@SUM(A1)", "+x", "-x", "\tx"}) == "'=1+1,'@SUM(A1),'+x,'-x,'\tx\r\n");
  CHECK(csv_line({"-1.5", "-2e-3", "x=1", "a@b"}) == "-1.5,-2e-3,x=1,a@b\r\n");
  CHECK(csv_line({"-1 x", "=\"a\""}) == "'-1 x,\"'=\"\"a\"\"\"\r\n");
  CHECK(csv_line({"a\x1b[31mb"}) == "a?[31mb\r\n"); // would colour the terminal
}

} // namespace foretrain::csv_line_test
