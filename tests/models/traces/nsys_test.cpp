// Nsight Systems exports, made here with the tables that nsys writes.
#include "models/traces/nsys.hpp"
#include "models/traces/recorded_model.hpp"
#include "models/traces/trace_summary.hpp"
#include "sim/base/error.hpp"

#include "tests/models/traces/kineto_support.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fuzzing.hpp"
#include "tests/support/problem.hpp"

#include <sstream>

#include <sqlite3.h>

namespace foretrain::test::nsys_test {
namespace {

using namespace models;

// A file of its own, made by statements; its bytes.
std::string made_by(const std::string& sql)
{
  const TemporaryFile file("", ".sqlite");
  sqlite3* database = nullptr;
  REQUIRE(sqlite3_open(file.path().c_str(), &database) == SQLITE_OK);
  char* problem = nullptr;
  const int code = sqlite3_exec(database, sql.c_str(), nullptr, nullptr, &problem);
  INFO((problem == nullptr ? "" : problem));
  REQUIRE(code == SQLITE_OK);
  sqlite3_close(database);
  std::ifstream in(file.path(), std::ios::binary);
  std::ostringstream bytes;
  bytes << in.rdbuf();
  return bytes.str();
}

Trace read_bytes(const std::string& bytes)
{
  const TemporaryFile file(bytes, ".sqlite");
  return read_nsys(file.path());
}

// Steps of 1 ms: a product of 200 us in "forward", an element-wise kernel of 100 us, a copy.
std::string exported(int steps)
{
  std::ostringstream sql;
  sql << "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
         "CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT);"
         "INSERT INTO TARGET_INFO_GPU VALUES (0, 'NVIDIA H100 80GB HBM3');"
         "INSERT INTO StringIds VALUES (1, 'sm90_xmma_gemm_bf16bf16'), (2, 'elementwise_kernel'),"
         " (3, 'cudaLaunchKernel_v7000'), (4, 'forward');"
         "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, deviceId INT, contextId INT,"
         " streamId INT, correlationId INT, globalPid INT, demangledName INT, shortName INT,"
         " gridX INT, gridY INT, gridZ INT, blockX INT, blockY INT, blockZ INT);"
         "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INT, end INT, deviceId INT, streamId INT,"
         " correlationId INT, globalPid INT, bytes INT, copyKind INT);"
         "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT, end INT, globalTid INT,"
         " correlationId INT, nameId INT);"
         "CREATE TABLE NVTX_EVENTS (start INT, end INT, eventType INT, text TEXT, textId INT,"
         " globalTid INT);";
  constexpr long kPid = 77L << 24;
  int correlation = 0;
  for (int s = 0; s < steps; ++s) {
    const long t = 5000000000L + 1000000L * s; // ns
    sql << "INSERT INTO NVTX_EVENTS VALUES (" << t << "," << t + 990000 << ",59,'iteration " << s
        << "',NULL," << kPid + 1 << ");";
    sql << "INSERT INTO NVTX_EVENTS VALUES (" << t << "," << t + 100000 << ",59,NULL,4," << kPid + 1
        << ");";
    const auto launch = [&](long at) {
      sql << "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (" << at << "," << at + 3000 << ","
          << kPid + 1 << "," << ++correlation << ",3);";
    };
    const auto kernel = [&](int name, long at, long lasts) {
      launch(at - 10000);
      sql << "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (" << at << "," << at + lasts
          << ",0,1,7," << correlation << "," << kPid << "," << name << ",2,80,1,1,128,1,1);";
    };
    kernel(1, t + 20000, 200000);
    kernel(2, t + 250000, 100000);
    launch(t + 380000);
    sql << "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (" << t + 400000 << "," << t + 450000
        << ",0,7," << correlation << "," << kPid << ",1000000,1);";
  }
  return sql.str();
}

std::string nsys_problem(const std::string& bytes)
{
  return problem_of([&] { read_bytes(bytes); });
}

TEST_CASE("an export tells steps, kernels, copies and the device")
{
  const Trace trace = read_bytes(made_by(exported(4)));
  CHECK(trace.work.size() == 12);
  CHECK(trace.calls.size() == 12);
  REQUIRE(trace.device_names.size() == 1);
  CHECK(trace.device_names[0] == "NVIDIA H100 80GB HBM3");
  const Steps steps = find_steps(trace);
  CHECK(steps.found_by == "NVTX ranges");
  REQUIRE(steps.list.size() == 4);
  CHECK(steps.list[steps.typical].period() == Approx(1e-3).epsilon(1e-6));
  const TraceSummary sum = summarise(trace);
  CHECK(sum.compute == Approx(300e-6).epsilon(1e-6));
  CHECK(sum.copies == Approx(50e-6).epsilon(1e-6));
  const auto model = recorded_model(trace, steps, {.name = "nsys"});
  CHECK(model.json["measured"]["precision"] == "bf16");
}

TEST_CASE("processes that number their calls alike are told apart")
{
  const long other = 78L << 24;
  std::ostringstream more;
  more << exported(2) << "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1,2," << other + 1
       << ",1,3);";
  const Trace trace = read_bytes(made_by(more.str()));
  const Call* call = call_of(trace, trace.work[0]);
  REQUIRE(call != nullptr);
  CHECK(call->start > -1); // not the other process's call 1, seconds before
}

TEST_CASE("what is no export ends in one clear line")
{
  CHECK_THAT(nsys_problem(made_by("CREATE TABLE a (b INT);")),
             Catch::Contains("CUPTI_ACTIVITY_KIND_KERNEL"));
  CHECK_THAT(nsys_problem(made_by("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT);")),
             Catch::Contains("has no column 'end'"));
  const std::string whole = made_by(exported(200));
  CHECK_THAT(nsys_problem(whole.substr(0, whole.size() / 2)), Catch::Contains("damaged SQLite"));
}

TEST_CASE("damaged exports never end in anything but a ConfigError", "[fuzz]")
{
  const std::string whole = made_by(exported(3));
  Damage damage;
  const int runs = fuzz_runs(300);
  int read_anyway = 0;
  for (int i = 0; i < runs; ++i) {
    const std::string damaged = damage.to(whole, 100);
    try {
      const Trace trace = read_bytes(damaged);
      recorded_model(trace, find_steps(trace), {.name = "damaged"});
      ++read_anyway;
    } catch (const ConfigError&) {
    }
  }
  CHECK(read_anyway > 0);
  CHECK(read_anyway < runs);
}

} // namespace
} // namespace foretrain::test::nsys_test
