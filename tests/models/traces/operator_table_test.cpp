// Tables of operators as people and tools write them.
#include "models/traces/operator_table.hpp"
#include "sim/base/error.hpp"

#include "tests/models/traces/kineto_support.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fuzzing.hpp"
#include "tests/support/problem.hpp"

namespace foretrain::test::operator_table_test {
namespace {

using namespace models;

ImportedTable table_of(const std::string& text, std::optional<int> steps = {})
{
  const TemporaryFile file(text, ".csv");
  return import_operator_table(file.path(), {}, steps);
}

std::string table_problem(const std::string& text)
{
  return problem_of([&] { table_of(text); });
}

TEST_CASE("a table's times go by class and phase")
{
  const Json measured = table_of("name,count,time_us,phase\n"
                                 "sgemm,10,100,forward\nrelu,5,10,\nwgrad,20,100,backward\n"
                                 "ncclAllReduce,1,900,backward\n")
                            .measured;
  CHECK(measured["forward"][0]["product"] == "1000 us");
  CHECK(measured["forward"][0]["memory"] == "50 us");
  CHECK(measured["forward"][0]["kernels"] == 15);
  CHECK(measured["backward"][0]["product"] == "2000 us");
  CHECK(measured["step"] == "3050 us"); // the collective is left out
}

TEST_CASE("what nsys stats prints is such a table and units stand in headers or values")
{
  const char* const printed = "Processing report...\n\n"
                              "Time (%),Total Time (ns),Instances,Avg (ns),Name\n"
                              "80.0,\"4,000,000\",4,1000000.0,\"void sgemm<int, 4>(float)\"\n"
                              "20.0,1000000,10,100000.0,elementwise_kernel\n";
  const ImportedTable nsys = table_of(printed);
  CHECK(nsys.measured["step"] == "5000 us");
  CHECK(nsys.measured["forward"][0]["product"] == "4000 us");
  CHECK_THAT(nsys.notes.at(2), Catch::Contains("--steps N"));
  const ImportedTable of_two = table_of(printed, 2);
  CHECK(of_two.measured["step"] == "2500 us");
  CHECK(of_two.measured["forward"][0]["kernels"] == 7);
  CHECK(of_two.notes.size() == nsys.notes.size() - 1);
  const Json json =
      table_of("[{\"name\": \"sgemm\", \"count\": 3, \"time\": \"1.5 ms\"}]").measured;
  CHECK(json["step"] == "4500 us");
}

TEST_CASE("a wrong row is named")
{
  CHECK_THAT(table_problem("name,time\nsgemm,12\n"),
             Catch::Contains("row 2: time is '12', of no unit"));
  CHECK_THAT(table_problem("name,time_us\nsgemm,fast\n"),
             Catch::Contains("must be a number of at least 0"));
  CHECK_THAT(table_problem("name,time_us,class\nsgemm,1,gpu\n"), Catch::Contains("class is 'gpu'"));
  CHECK_THAT(table_problem("name,count,time_us\nsgemm,0,1\n"), Catch::Contains("count is 0"));
  CHECK_THAT(table_problem("name,time_us,total_ms,count\nsgemm,1000,90,2\n"),
             Catch::Contains("row 2: takes 2 times 1000 us, which is not 90000 us"));
  CHECK(table_problem("name,time_us,total_us,count\nrelu,1,148,100\n") == "no error"); // 1.48
  CHECK_THAT(table_problem("name,time_us\nsgemm,1,2\n"),
             Catch::Contains("row 2: has 3 fields, and the header has 2"));
  CHECK(table_problem("name,time_us\nsgemm,1,\n") == "no error");
  CHECK_THAT(table_problem("name,time_us\n"), Catch::Contains("no row below its header"));
  CHECK(looks_like_operator_table("name,count,time_us\n"));
  CHECK(looks_like_operator_table("[{\"name\": \"a\", \"time_ms\": 1}]"));
  for (const char* const nothing : {"", " \n\t\r", "name,count\n", "[]", "[{\"name\": \"a\"}]"})
    CHECK(!looks_like_operator_table(nothing));
  CHECK(looks_like_operator_table("\n {\"ops\": [{\"name\": \"a\", \"total\": 1}]}"));
  CHECK(!looks_like_operator_table("{\"format\": \"foretrain.network/1\", \"name\": \"a\"}"));
}

TEST_CASE("damaged tables never end in anything but a ConfigError", "[fuzz]")
{
  const std::string csv = "name,count,time_us,phase,class\nsgemm,10,100,forward,product\n"
                          "relu,5,10.5,backward,memory\n";
  const std::string json = "[{\"name\": \"sgemm\", \"count\": 3, \"time\": \"1.5 ms\"}]";
  Damage damage;
  const int runs = fuzz_runs(3000);
  int read_anyway = 0;
  for (int i = 0; i < runs; ++i)
    try {
      table_of(damage.to(i % 2 == 0 ? csv : json));
      ++read_anyway;
    } catch (const ConfigError&) {
    }
  CHECK(read_anyway > 0);
  CHECK(read_anyway < runs);
}

} // namespace
} // namespace foretrain::test::operator_table_test
