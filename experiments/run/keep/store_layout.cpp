#include "experiments/run/keep/store_layout.hpp"

#include "experiments/run/keep/result_columns.hpp"
#include "sim/base/error.hpp"

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

constexpr int kApplication = 0x466f7265; // "Fore", SQLite's application_id
constexpr int kLayout = 5;               // user_version

// "/a/b" as SQLite's "$.a.b".
std::string json_path(std::string pointer)
{
  for (char& c : pointer)
    c = c == '/' ? '.' : c;
  return "$" + pointer;
}

std::string layout()
{
  std::string jobs = R"(
CREATE VIEW jobs AS SELECT
  points.key AS point, points.experiment AS experiment, points.version AS version, points.seed AS seed,
  points.fidelity AS fidelity, points.result ->> '$.settings' AS settings,
  job.value ->> '$.name' AS job)";
  for (const Column& column : result_columns())
    jobs += fmt::format(",\n  json_extract(job.value, '{}') AS {}", json_path(column.pointer),
                        column.name);
  jobs += "\nFROM points, json_each(points.result, '$.jobs') AS job;";
  return R"(
CREATE TABLE points (
  key TEXT PRIMARY KEY,
  experiment TEXT NOT NULL,
  version TEXT NOT NULL,
  seed INTEGER NOT NULL,
  fidelity TEXT NOT NULL,
  finished TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ', 'now')),
  error TEXT,
  result TEXT NOT NULL,
  checksum TEXT NOT NULL
);
CREATE TABLE runs (
  id INTEGER PRIMARY KEY,
  experiment TEXT NOT NULL,
  answer TEXT NOT NULL,
  points INTEGER NOT NULL,
  done INTEGER NOT NULL DEFAULT 0,
  known INTEGER NOT NULL DEFAULT 0,
  failed INTEGER NOT NULL DEFAULT 0,
  host TEXT NOT NULL,
  process INTEGER NOT NULL,
  started INTEGER NOT NULL DEFAULT (strftime('%s', 'now')),
  updated INTEGER NOT NULL DEFAULT (strftime('%s', 'now')),
  ended INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE members (
  run INTEGER NOT NULL,
  position INTEGER NOT NULL,
  key TEXT NOT NULL,
  PRIMARY KEY (run, position)
) WITHOUT ROWID;
CREATE VIEW settings AS SELECT
  points.key AS point, points.experiment AS experiment, setting.key AS pointer,
  setting.value AS value
FROM points, json_each(points.result, '$.settings') AS setting;)" +
         jobs +
         fmt::format("\nPRAGMA application_id = {}; PRAGMA user_version = {};", kApplication,
                     kLayout);
}

} // namespace

void lay_out(const SqliteFile& file, StoreUse use)
{
  // To write: nobody else makes the tables meanwhile.
  file.run(use == StoreUse::write ? "BEGIN IMMEDIATE" : "BEGIN");
  const std::int64_t application = file.number("PRAGMA application_id");
  if (application == kApplication) {
    if (file.number("PRAGMA user_version") != kLayout)
      throw UsageError("the result store '" + file.path() +
                       "' was made by another version of foretrain");
    if (file.number("SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name IN "
                    "('points', 'runs', 'members')") != 3)
      throw UsageError("the result store '" + file.path() + "' is damaged: its tables are none");
  } else if (application != 0 || file.number("SELECT count(*) FROM sqlite_master") != 0) {
    throw UsageError("'" + file.path() + "' is a database of something else");
  } else if (use == StoreUse::read) {
    throw UsageError("'" + file.path() + "' holds no results: it is empty");
  } else {
    file.run(layout());
  }
  file.run("COMMIT");
}

} // namespace foretrain::experiments
