// Finished points kept in a file.
#include "experiments/run/keep/result_store.hpp"

#include "experiments/run/keep/fingerprint.hpp"
#include "sim/base/error.hpp"
#include "tests/support/catch.hpp"

#include <filesystem>
#include <fstream>

#include <sqlite3.h>
#include <unistd.h>

namespace foretrain::result_store_test {

using namespace foretrain::experiments;
using Catch::Matchers::Contains;

namespace {

// A path for a file that is gone afterwards.
class Scratch {
public:
  explicit Scratch(const std::string& name)
      : path_(std::filesystem::temp_directory_path() /
              ("foretrain-" + std::to_string(getpid()) + "-" + name))
  {
    std::filesystem::remove(path_);
  }
  ~Scratch() { std::filesystem::remove(path_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  std::string path() const { return path_.string(); }

private:
  std::filesystem::path path_;
};

StoredPoint point(const std::string& key, double rate)
{
  return {key, "test", "1", 7, "coupled", Json{{"jobs", {{{"name", "train"}, {"rate", rate}}}}}};
}

double rate(const ResultStore& store, const std::string& key)
{
  const auto found = store.find(key);
  return found ? found->at("/jobs/0/rate"_json_pointer).get<double>() : -1;
}

// What a question is refused with; "" where it is answered.
std::string refused(const ResultStore& store, const std::string& sql, double patience = 60)
{
  try {
    store.ask(sql, Seconds(patience));
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

const char* const kSmall = R"({
  "name": "small",
  "cluster": {"platform": "c4140-v100-sxm2", "nodes": 1},
  "jobs": [{"model": "resnet50", "framework": "pytorch-horovod", "batch_per_gpu": 64}]})";

std::string print_of(const std::vector<std::pair<std::string, std::string>>& settings = {},
                     const RunOptions& options = {})
{
  auto document = parse_document(kSmall, "test");
  for (const auto& [pointer, value] : settings)
    set_value(*document, pointer, value);
  Point it;
  it.document = document;
  return fingerprint(it, options);
}

} // namespace

TEST_CASE("A result that was altered is to be run again")
{
  const Scratch file("altered.db");
  ResultStore store(file.path());
  store.put({point("a", 1)});
  store.put({point("b", 2)});
  sqlite3* handle = nullptr;
  REQUIRE(sqlite3_open(file.path().c_str(), &handle) == SQLITE_OK);
  CHECK(sqlite3_exec(handle, "UPDATE points SET result = replace(result, '1.0', '9.0')", nullptr,
                     nullptr, nullptr) == SQLITE_OK);
  sqlite3_close(handle);
  CHECK(!store.find("a"));
  CHECK(rate(store, "b") == 2);
}

TEST_CASE("A store keeps points over runs, replaces them, and does not count failed ones as done")
{
  const Scratch file("store.db");
  {
    ResultStore store(file.path());
    CHECK(!store.find("a"));
    store.put({point("a", 1.25)});
    store.put({point("b", 2)});
    store.put({point("b", 3)});
    StoredPoint failed = point("c", 0);
    failed.result = {{"error", "no such thing"}};
    store.put({failed});
  }
  const ResultStore again(file.path());
  CHECK(rate(again, "a") == 1.25);
  CHECK(rate(again, "b") == 3);
  CHECK(!again.find("c"));
}

TEST_CASE("Stores are merged: what is done here stays, what failed here is replaced")
{
  const Scratch here("here.db");
  const Scratch there("there's.db");
  ResultStore store(here.path());
  store.put({point("a", 1)});
  StoredPoint failed = point("b", 0);
  failed.result = {{"error", "killed"}};
  store.put({failed});
  {
    ResultStore other(there.path());
    other.put({point("a", 10)});
    other.put({point("b", 20)});
    other.put({point("c", 30)});
  }
  CHECK(store.merge(there.path()) == 2);
  CHECK(rate(store, "a") == 1);
  CHECK(rate(store, "b") == 20);
  CHECK(rate(store, "c") == 30);
  CHECK(store.merge(there.path()) == 0);
}

TEST_CASE("A failure is forgotten once its point is done, by this store or by another")
{
  const auto with = [](const std::string& key, const Json& settings, bool failed) {
    StoredPoint it = point(key, 1);
    it.result["settings"] = settings;
    if (failed)
      it.result["error"] = "killed";
    return it;
  };
  const Json eight = {{"/jobs/0/gpus", 8}};
  const Json four = {{"/jobs/0/gpus", 4}};
  const Scratch here("good.db");
  const Scratch there("part.db");
  ResultStore store(here.path());
  store.put({with("failed: eight", eight, true)});
  store.put({with("failed: four", four, true)});
  store.put({with("eight", eight, false)});
  SweepRun run;
  const std::int64_t number = store.begin(run);
  store.update(number, run);
  CHECK(store.failed() == 2); // it goes on
  run.ended = true;
  store.update(number, run);
  CHECK(store.failed() == 1);
  ResultStore(there.path()).put({with("four", four, false)});
  CHECK(store.merge(there.path()) == 1);
  CHECK(store.failed() == 0);
  CHECK(store.keys() == std::set<std::string>{"eight", "four"});
}

TEST_CASE("What is no result store is left alone")
{
  const Scratch text("text.db");
  std::ofstream(text.path()) << "something else, long enough to be no empty database\n";
  CHECK_THROWS_WITH(ResultStore(text.path()), Contains("not a database"));
  CHECK(std::filesystem::file_size(text.path()) == 52);
  CHECK_THROWS_AS(ResultStore("/nowhere/at/all.db"), UsageError);
}

TEST_CASE("What is only read stays as it is", "[store]")
{
  const Scratch file("read.db");
  CHECK_THROWS_AS(ResultStore(file.path(), StoreUse::read), UsageError);
  CHECK_FALSE(std::filesystem::exists(file.path()));
  std::ofstream(file.path()) << "";
  CHECK_THROWS_WITH(ResultStore(file.path(), StoreUse::read), Contains("holds no results"));
  CHECK(std::filesystem::file_size(file.path()) == 0);
  ResultStore(file.path()).put({point("a", 1)});
  const ResultStore store(file.path(), StoreUse::read);
  CHECK(store.keys() == std::set<std::string>{"a"});
  // Others may write meanwhile.
  ResultStore(file.path()).put({point("b", 2)});
  CHECK(store.keys() == std::set<std::string>{"a", "b"});
}

TEST_CASE("A fingerprint changes with what a result depends on, and with nothing else")
{
  const std::string base = print_of();
  CHECK(base.size() == 36);
  CHECK(print_of() == base);
  CHECK(print_of({{"/name", "\"other\""}, {"/description", "\"words\""}}) == base);
  CHECK(print_of({{"/jobs/0/batch_per_gpu", "65"}}) != base);
  CHECK(print_of({{"/cluster/platform", R"({"extends": "c4140-v100-sxm2", "max_nodes": 7})"}}) !=
        base);
  RunOptions seed;
  seed.seed = 2;
  CHECK(print_of({}, seed) != base);
  RunOptions finer;
  finer.fidelity = models::Fidelity::chunks;
  CHECK(print_of({}, finer) != base);
  RunOptions wider;
  wider.uncertainty.interval = 0.5;
  CHECK(print_of({}, wider) != base);
}

TEST_CASE("A fingerprint holds the presets themselves, not their names alone")
{
  const Scratch file("framework.json");
  const auto with_overhead = [&](const std::string& overhead) {
    std::ofstream(file.path()) << R"({"extends": "pytorch-horovod", "step_overhead": ")" +
                                      overhead + "\"}";
    return print_of({{"/jobs/0/framework", "\"" + file.path() + "\""}});
  };
  const std::string base = with_overhead("1 ms");
  CHECK(with_overhead("2 ms") != base);
  CHECK(with_overhead("1 ms") == base);
}

TEST_CASE("A fingerprint holds profiles with what changes no preset")
{
  const Scratch experiment("experiment.json");
  const Scratch profile("profile.json");
  std::ofstream(experiment.path()) << kSmall;
  const auto with_spread = [&](double spread) {
    Json json;
    json["parameters"].push_back({{"kind", "gpu"},
                                  {"preset", "v100-sxm2-16gb"},
                                  {"pointer", "/memory_efficiency"},
                                  {"value", 0.8},
                                  {"spread", spread}});
    std::ofstream(profile.path()) << json;
    return fingerprint(load_experiment(experiment.path(), {}, {profile.path()}).points[0], {});
  };
  const std::string base = with_spread(0.05);
  CHECK(with_spread(0.06) != base);
  CHECK(with_spread(0.05) == base);
}

TEST_CASE("A question reads one store, once, and comes to an end", "[store]")
{
  const Scratch file("asked.db");
  const Scratch other("other.db");
  const ResultStore store(file.path());
  CHECK(refused(store, "SELECT 1").empty());
  CHECK(refused(store, "SELECT 1 ; ").empty());
  CHECK_THAT(refused(store, "SELECT 1; SELECT 2"), Contains("one question at a time"));
  CHECK_THAT(refused(store, "ATTACH '" + other.path() + "' AS x"), Contains("must be one SELECT"));
  CHECK_FALSE(std::filesystem::exists(other.path()));
  CHECK_THAT(refused(store, "DELETE FROM points"), Contains("must be one SELECT"));
  const std::string endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) ";
  CHECK_THAT(refused(store, endless + "SELECT count(*) FROM n", 0.2),
             Contains("longer than 0.2 s"));
  CHECK_THAT(refused(store, endless + "SELECT printf('%1000000d', i) FROM n"),
             Contains("longer than 256 MB"));
  CHECK(store.ask("SELECT 0.1 + 0.2").back().front() == "0.30000000000000004");
}

TEST_CASE("Damaged points are counted, a store without tables is none", "[store]")
{
  const Scratch file("damaged.db");
  {
    ResultStore store(file.path());
    store.put({point("a", 1), point("b", 2)});
    CHECK(store.damaged() == 0);
  }
  sqlite3* handle = nullptr;
  REQUIRE(sqlite3_open(file.path().c_str(), &handle) == SQLITE_OK);
  const auto run = [&](const char* sql) {
    CHECK(sqlite3_exec(handle, sql, nullptr, nullptr, nullptr) == SQLITE_OK);
  };
  run("UPDATE points SET result = '{}' WHERE key = 'a'");
  CHECK(ResultStore(file.path()).damaged() == 1);
  run("DROP VIEW jobs; DROP VIEW settings; DROP TABLE points; CREATE VIEW points AS "
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS key FROM n");
  sqlite3_close(handle);
  CHECK_THROWS_WITH(ResultStore(file.path()), Contains("is damaged: its tables are none"));
}

} // namespace foretrain::result_store_test
