// A sweep in parts of its own files, and what is said of it while it runs.
#include "experiments/run/keep/result_store.hpp"
#include "sim/base/catalog.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/program.hpp"

#include <unistd.h>

namespace foretrain::sweep_parts_test {

using experiments::ResultStore;
using experiments::SweepRun;

namespace {

struct Folder : test::Folder {
  Folder() : test::Folder("sweep-parts") {}
};

test::Told foretrain(std::vector<std::string> words)
{
  return test::told_by(std::move(words), data_root() / "tests/golden/texts");
}

test::Told sweep(const std::string& store, std::vector<std::string> more)
{
  std::vector<std::string> words{"sweep",         "small.json",
                                 "--set",         R"(/sweep={"/jobs/0/gpus":[1,2,4,8]})",
                                 "--set",         "/jobs/0/input=synthetic",
                                 "--jobs",        "1",
                                 "--uncertainty", "steps",
                                 "--db",          store};
  words.insert(words.end(), more.begin(), more.end());
  return foretrain(words);
}

std::set<int> gpus_in(const std::string& store)
{
  std::set<int> gpus;
  for (const auto& point : ResultStore(store, experiments::StoreUse::read).all())
    gpus.insert(point.result.at("settings").at("/jobs/0/gpus").get<int>());
  return gpus;
}

} // namespace

TEST_CASE("parts of a sweep cost alike, hold each point once, and are collected", "[sweep][long]")
{
  const Folder folder;
  const std::string store = folder.file("a.db");
  for (const char* part : {"0/2", "1/2"})
    CHECK(sweep(store, {"--part", part}).code == 0);
  // Steps of all GPUs: 8 outweigh 4, 2 and 1 together.
  CHECK(gpus_in(store + ".part-0-of-2") == std::set<int>{8});
  CHECK(gpus_in(store + ".part-1-of-2") == std::set<int>{1, 2, 4});
  CHECK(foretrain({"sweep", "--status", store}).out ==
        "4 points done, 0 failed\n"
        "  a.db.part-0-of-2: 1 of 1 points, ended\n"
        "  a.db.part-1-of-2: 3 of 3 points, ended\n");
  CHECK_FALSE(std::filesystem::exists(store));
  const test::Told whole = sweep(store, {});
  CHECK(whole.err.find("collected 4 points from " + store + ".part-*\n4 of 4 points are in") == 0);
  CHECK(gpus_in(store) == std::set<int>{1, 2, 4, 8});
  CHECK(sweep(folder.file("b.db"), {}).out == whole.out); // as if it had been run in one piece
  // A part of a sweep that grew runs what the whole has not.
  const test::Told again = sweep(store, {"--part", "0/3"});
  CHECK(again.err.find("1 of 1 points are in") == 0);
  CHECK(sweep(store, {"--part", "0/3", "--anew"}).err.find("points are in") ==
        std::string("1 ").size());
  CHECK(foretrain({"sweep", "--clean", store}).out ==
        "3 files removed, 0 points forgotten, 4 points kept\n");
  CHECK(foretrain({"sweep", "--status", store}).out.starts_with("4 points done, 0 failed\n"));
}

TEST_CASE("a sweep under way says how far it is, and a run that is gone that it stopped", "[sweep]")
{
  const Folder folder;
  const std::string store = folder.file("a.db");
  char host[256] = {};
  REQUIRE(gethostname(host, sizeof host - 1) == 0);
  const auto line = [&](SweepRun run) {
    ResultStore file(store);
    run.experiment = "e";
    run.answer = "{}";
    const std::int64_t number = file.begin(run);
    file.update(number, run);
    const std::string told = foretrain({"sweep", "--status", store}).out;
    return told.substr(told.find("\n  ") + 3 + store.size());
  };
  SweepRun run;
  run.points = 10;
  CHECK(line(run) == ": 0 of 10 points, queued\n");
  run.host = host;
  run.process = getpid();
  const std::string where =
      ", running on " + run.host + " (process " + std::to_string(getpid()) + ")";
  CHECK(line(run) == ": 0 of 10 points" + where + "\n");
  run.done = 2; // in a second at least
  run.known = 3;
  run.failed = 1;
  CHECK(line(run) == ": 6 of 10 points, 1 failed" + where + ", 2 s left\n");
  run.known = run.failed = 0;
  run.done = 1;
  for (const auto& [left, text] : {std::pair(89, "89 s"),
                                   {120, "2 min"},
                                   {5399, "90 min"},
                                   {5400, "1.5 h"},
                                   {90000, "25.0 h"}}) {
    run.points = 1 + left;
    CHECK(line(run).ends_with(where + ", " + text + " left\n"));
  }
  run.points = 10;
  run.process = 1 << 30; // there is none
  CHECK(line(run) == ": 1 of 10 points, stopped\n");
  run.host = "another"; // which may still be at it: it wrote just now
  CHECK(line(run).find(", running on another (process ") != std::string::npos);
  run.done = 20; // points that are gone since
  run.ended = true;
  CHECK(line(run) == ": 10 of 10 points, ended\n");
}

TEST_CASE("a sweep of which there is no file has no status", "[sweep][errors]")
{
  const Folder folder;
  for (const char* option : {"--status", "--clean"}) {
    const test::Told told = foretrain({"sweep", option, folder.file("none.db")});
    CHECK(told.code == 2);
    CHECK(told.err.find("there is no file") != std::string::npos);
  }
}

} // namespace foretrain::sweep_parts_test
