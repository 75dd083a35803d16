// Work programs as files: who sends to whom, and keys that an operation's kind does not read.
#include "sim/workload/program_file.hpp"

#include "sim/base/error.hpp"
#include "tests/support/catch.hpp"

#include <string>

namespace foretrain::program_file_test {

using Catch::Matchers::Contains;

namespace {

std::string refusal_of(const std::string& operation)
{
  const auto document = parse_document(
      R"({"format": "foretrain.program/1", "ranks": [{"device": 0}, {"device": 1}],
          "groups": [{"ranks": [0, 1]}, {"ranks": [1, 0]}], "operations": [)" +
          operation + "]}",
      "program.json");
  sim::ProgramSpec spec;
  try {
    sim::read_program(Value(DocumentPtr(document)), spec);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

} // namespace

TEST_CASE("a transfer of a file goes from its rank to another, in its group's order", "[program]")
{
  const std::string send = R"({"kind": "transfer", "size_byte": 8, "rank": 0, )";
  CHECK(refusal_of(send + R"("to": 1})").empty());
  CHECK(refusal_of(send + R"("to": 1, "group": 0})").empty());
  CHECK_THAT(refusal_of(send + R"("to": 1, "group": 1})"),
             Contains("/operations/0/group has the ranks 1, 0"));
  CHECK_THAT(refusal_of(send + R"("to": 0})"), Contains("/operations/0/to is 0, the sender"));
}

TEST_CASE("a key of a file's operation that its kind does not read is refused", "[program]")
{
  const std::string kernel = R"({"kind": "compute", "rank": 0, "time_s": 1)";
  CHECK(refusal_of(kernel + "}").empty());
  CHECK_THAT(refusal_of(kernel + R"(, "calls": 2})"), Contains("/calls has no influence"));
  CHECK_THAT(refusal_of(kernel + R"(, "size_byte": 2})"), Contains("/size_byte has no influence"));
}

} // namespace foretrain::program_file_test
