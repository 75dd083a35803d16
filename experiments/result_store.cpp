#include "experiments/result_store.hpp"

#include "experiments/report_columns.hpp"
#include "sim/base/error.hpp"

#include <sqlite3.h>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

constexpr int kApplication = 0x466f7265; // "Fore", SQLite's application_id
constexpr int kLayout = 1;               // user_version
constexpr int kPatienceMs = 60'000;      // for others that write

struct Finalize {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, Finalize>;

// "/a/b" as SQLite's "$.a.b".
std::string json_path(std::string pointer)
{
  for (char& c : pointer)
    c = c == '/' ? '.' : c;
  return "$" + pointer;
}

std::string column(const std::string& name, const std::string& pointer)
{
  const std::string path = json_path(pointer);
  return fmt::format(",\n  coalesce(json_extract(job.value, '{0}.median'), "
                     "json_extract(job.value, '{0}')) AS {1}",
                     path, name);
}

std::string layout()
{
  std::string jobs = R"(
CREATE VIEW jobs AS SELECT
  points.key AS point, points.experiment AS experiment, points.version AS version, points.seed AS seed,
  points.fidelity AS fidelity, points.result ->> '$.settings' AS settings,
  job.value ->> '$.name' AS job)";
  for (const Column& it : kColumnsBeforeParts)
    jobs += column(it.name, it.pointer);
  for (const char* part : kPartColumns)
    jobs += column(fmt::format("time_{}_s", part), fmt::format("/time_s/{}", part));
  for (const Column& it : kColumnsAfterParts)
    jobs += column(it.name, it.pointer);
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
  result TEXT NOT NULL
);
CREATE VIEW settings AS SELECT
  points.key AS point, points.experiment AS experiment, setting.key AS pointer,
  setting.value AS value
FROM points, json_each(points.result, '$.settings') AS setting;)" +
         jobs +
         fmt::format("\nPRAGMA application_id = {}; PRAGMA user_version = {};", kApplication,
                     kLayout);
}

constexpr const char* kPut =
    "INSERT OR REPLACE INTO points (key, experiment, version, seed, fidelity, error, result) "
    "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
constexpr const char* kFind = "SELECT result FROM points WHERE key = ?1 AND error IS NULL";
constexpr const char* kMerge =
    "INSERT OR REPLACE INTO points SELECT * FROM part.points AS theirs WHERE NOT EXISTS "
    "(SELECT 1 FROM points AS own WHERE own.key = theirs.key AND own.error IS NULL)";

} // namespace

struct ResultStore::Database {
  std::string path;
  sqlite3* handle = nullptr;

  explicit Database(const std::string& file) : path(file)
  {
    if (sqlite3_open(path.c_str(), &handle) != SQLITE_OK)
      fail();
    sqlite3_busy_timeout(handle, kPatienceMs);
  }
  ~Database() { sqlite3_close(handle); }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  [[noreturn]] void fail() const
  {
    throw UsageError("the result store '" + path + "': " + sqlite3_errmsg(handle));
  }
  void run(const std::string& sql) const
  {
    if (sqlite3_exec(handle, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
      fail();
  }
  Statement prepare(const char* sql) const
  {
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(handle, sql, -1, &statement, nullptr) != SQLITE_OK)
      fail();
    return Statement(statement);
  }
  void bind(const Statement& statement, int at, const std::string& text) const
  {
    if (sqlite3_bind_text(statement.get(), at, text.data(), static_cast<int>(text.size()),
                          SQLITE_TRANSIENT) != SQLITE_OK)
      fail();
  }
  /// Whether there is a row.
  bool step(const Statement& statement) const
  {
    const int code = sqlite3_step(statement.get());
    if (code != SQLITE_ROW && code != SQLITE_DONE)
      fail();
    return code == SQLITE_ROW;
  }
  int number(const char* sql) const
  {
    const Statement statement = prepare(sql);
    return step(statement) ? sqlite3_column_int(statement.get(), 0) : 0;
  }
};

ResultStore::ResultStore(const std::string& path) : database_(std::make_unique<Database>(path))
{
  const Database& db = *database_;
  db.run("BEGIN IMMEDIATE"); // nobody else makes the tables meanwhile
  const int application = db.number("PRAGMA application_id");
  if (application == kApplication) {
    if (db.number("PRAGMA user_version") != kLayout)
      throw UsageError("the result store '" + path + "' was made by another version of foretrain");
  } else if (application != 0 || db.number("SELECT count(*) FROM sqlite_master") != 0) {
    throw UsageError("'" + path + "' is a database of something else");
  } else {
    db.run(layout());
  }
  db.run("COMMIT");
}

ResultStore::~ResultStore() = default;

std::optional<Json> ResultStore::find(const std::string& key) const
{
  const Statement statement = database_->prepare(kFind);
  database_->bind(statement, 1, key);
  if (!database_->step(statement))
    return std::nullopt;
  return Json::parse(reinterpret_cast<const char*>(sqlite3_column_text(statement.get(), 0)));
}

void ResultStore::put(const StoredPoint& point)
{
  const Statement statement = database_->prepare(kPut);
  database_->bind(statement, 1, point.key);
  database_->bind(statement, 2, point.experiment);
  database_->bind(statement, 3, point.version);
  sqlite3_bind_int64(statement.get(), 4, static_cast<sqlite3_int64>(point.seed));
  database_->bind(statement, 5, point.fidelity);
  if (const auto error = point.result.find("error"); error != point.result.end())
    database_->bind(statement, 6, error->get<std::string>());
  database_->bind(statement, 7, point.result.dump());
  database_->step(statement);
}

int ResultStore::merge(const std::string& path)
{
  const ResultStore other(path); // checked, with its tables
  const Database& db = *database_;
  const Statement attach = db.prepare("ATTACH ?1 AS part");
  db.bind(attach, 1, path);
  db.step(attach);
  db.run(kMerge);
  const int taken = sqlite3_changes(db.handle);
  db.run("DETACH part");
  return taken;
}

} // namespace foretrain::experiments
