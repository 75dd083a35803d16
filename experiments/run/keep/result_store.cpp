#include "experiments/run/keep/result_store.hpp"

#include "experiments/run/keep/fingerprint.hpp"
#include "experiments/run/keep/result_columns.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

constexpr int kApplication = 0x466f7265; // "Fore", SQLite's application_id
constexpr int kLayout = 5;               // user_version
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

constexpr const char* kPut =
    "INSERT OR REPLACE INTO points (key, experiment, version, seed, fidelity, error, result, "
    "checksum) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
constexpr const char* kFind =
    "SELECT result, checksum FROM points WHERE key = ?1 AND error IS NULL";
constexpr const char* kAll =
    "SELECT key, experiment, version, seed, fidelity, result, checksum FROM points "
    "WHERE error IS NULL ORDER BY finished, rowid";
constexpr const char* kSince = "SELECT count(*) FROM points WHERE error IS NULL AND "
                               "finished >= strftime('%Y-%m-%dT%H:%M:%SZ', ?1, 'unixepoch')";
constexpr const char* kMembers = "SELECT position, points.key, result, checksum, error IS NOT NULL "
                                 "FROM members LEFT JOIN points "
                                 "USING (key) WHERE run = ?1 ORDER BY position";
constexpr const char* kMerge =
    "INSERT OR REPLACE INTO points SELECT * FROM part.points AS theirs WHERE NOT EXISTS "
    "(SELECT 1 FROM points AS own WHERE own.key = theirs.key AND own.error IS NULL)";

// Failures of points that were run again and are done: a process that was killed leaves no key.
constexpr const char* kForgetMadeGood =
    "DELETE FROM points WHERE error IS NOT NULL AND EXISTS (SELECT 1 FROM points AS good WHERE "
    "good.error IS NULL AND good.experiment = points.experiment AND good.seed = points.seed AND "
    "good.fidelity = points.fidelity AND "
    "CASE WHEN json_valid(good.result) AND json_valid(points.result) THEN "
    "json_extract(good.result, '$.settings') = json_extract(points.result, '$.settings') END)";

} // namespace

struct ResultStore::Database {
  std::string path;
  sqlite3* handle = nullptr;

  Database(const std::string& file, StoreUse use) : path(file)
  {
    // Not read-only, that what a killed process left behind is undone; SQLite takes what is
    // protected for read-only itself.
    const int flags = SQLITE_OPEN_READWRITE | (use == StoreUse::write ? SQLITE_OPEN_CREATE : 0);
    if (sqlite3_open_v2(path.c_str(), &handle, flags, nullptr) != SQLITE_OK)
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
  std::string text(const Statement& statement, int at) const
  {
    const auto* const text = sqlite3_column_text(statement.get(), at);
    return text == nullptr ? "" : reinterpret_cast<const char*>(text);
  }
  void put(const StoredPoint& point) const
  {
    const Statement statement = prepare(kPut);
    bind(statement, 1, point.key);
    bind(statement, 2, point.experiment);
    bind(statement, 3, point.version);
    sqlite3_bind_int64(statement.get(), 4, static_cast<sqlite3_int64>(point.seed));
    bind(statement, 5, point.fidelity);
    if (const auto error = point.result.find("error"); error != point.result.end())
      bind(statement, 6, error->get<std::string>());
    const std::string text = point.result.dump();
    bind(statement, 7, text);
    bind(statement, 8, checksum(point.key + text));
    step(statement);
  }
  int number(const char* sql) const
  {
    const Statement statement = prepare(sql);
    return step(statement) ? sqlite3_column_int(statement.get(), 0) : 0;
  }
};

ResultStore::ResultStore(const std::string& path, StoreUse use)
    : database_(std::make_unique<Database>(path, use))
{
  const Database& db = *database_;
  // To write: nobody else makes the tables meanwhile.
  db.run(use == StoreUse::write ? "BEGIN IMMEDIATE" : "BEGIN");
  const int application = db.number("PRAGMA application_id");
  if (application == kApplication) {
    if (db.number("PRAGMA user_version") != kLayout)
      throw UsageError("the result store '" + path + "' was made by another version of foretrain");
    if (db.number("SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name IN "
                  "('points', 'runs', 'members')") != 3)
      throw UsageError("the result store '" + path + "' is damaged: its tables are none");
  } else if (application != 0 || db.number("SELECT count(*) FROM sqlite_master") != 0) {
    throw UsageError("'" + path + "' is a database of something else");
  } else if (use == StoreUse::read) {
    throw UsageError("'" + path + "' holds no results: it is empty");
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
  const std::string text = database_->text(statement, 0);
  Json result = Json::parse(text, nullptr, false);
  if (checksum(key + text) != database_->text(statement, 1) || !result.is_object())
    return std::nullopt; // damaged: to be run again
  return result;
}

std::set<std::string> ResultStore::keys() const
{
  std::set<std::string> keys;
  const Statement statement = database_->prepare("SELECT key FROM points WHERE error IS NULL");
  while (database_->step(statement))
    keys.insert(database_->text(statement, 0));
  return keys;
}

std::vector<StoredPoint> ResultStore::all() const
{
  const Statement statement = database_->prepare(kAll);
  const auto text = [&](int column) { return database_->text(statement, column); };
  std::vector<StoredPoint> points;
  while (database_->step(statement))
    if (checksum(text(0) + text(5)) == text(6))
      points.push_back({text(0), text(1), text(2),
                        static_cast<std::uint64_t>(sqlite3_column_int64(statement.get(), 3)),
                        text(4), Json::parse(text(5))});
  return points;
}

void ResultStore::put(const std::vector<StoredPoint>& points)
{
  database_->run("BEGIN IMMEDIATE");
  for (const StoredPoint& point : points)
    database_->put(point);
  database_->run("COMMIT");
}

std::int64_t ResultStore::begin(const SweepRun& run)
{
  const Statement statement = database_->prepare(
      "INSERT INTO runs (experiment, answer, points, host, process) VALUES (?1, ?2, ?3, ?4, ?5)");
  database_->bind(statement, 1, run.experiment);
  database_->bind(statement, 2, run.answer);
  sqlite3_bind_int64(statement.get(), 3, run.points);
  database_->bind(statement, 4, run.host);
  sqlite3_bind_int64(statement.get(), 5, run.process);
  database_->step(statement);
  return sqlite3_last_insert_rowid(database_->handle);
}

void ResultStore::update(std::int64_t number, const SweepRun& run)
{
  const Statement statement =
      database_->prepare("UPDATE runs SET done = ?2, known = ?3, failed = ?4, ended = ?5, "
                         "answer = ?6, updated = strftime('%s', 'now') WHERE id = ?1");
  int at = 0;
  for (const std::int64_t value :
       {number, run.done, run.known, run.failed, static_cast<std::int64_t>(run.ended)})
    sqlite3_bind_int64(statement.get(), ++at, value);
  database_->bind(statement, ++at, run.answer);
  database_->step(statement);
  if (run.ended)
    database_->run(kForgetMadeGood);
}

void ResultStore::enrol(std::int64_t number,
                        const std::vector<std::pair<std::size_t, std::string>>& members)
{
  database_->run("BEGIN IMMEDIATE");
  for (const auto& [position, key] : members) {
    const Statement statement = database_->prepare(
        "INSERT OR REPLACE INTO members (run, position, key) VALUES (?1, ?2, ?3)");
    sqlite3_bind_int64(statement.get(), 1, number);
    sqlite3_bind_int64(statement.get(), 2, static_cast<sqlite3_int64>(position));
    database_->bind(statement, 3, key);
    database_->step(statement);
  }
  database_->run("COMMIT");
}

std::optional<SweepRun> ResultStore::find_run(const std::string& condition,
                                              const std::string& bound) const
{
  const std::string sql = "SELECT experiment, answer, host, id, points, done, known, failed, "
                          "process, started, updated, ended FROM runs WHERE " +
                          condition + " ORDER BY id DESC LIMIT 1";
  const Statement statement = database_->prepare(sql.c_str());
  if (!bound.empty())
    database_->bind(statement, 1, bound);
  if (!database_->step(statement))
    return std::nullopt;
  const auto number = [&](int at) { return sqlite3_column_int64(statement.get(), at); };
  SweepRun run;
  run.experiment = database_->text(statement, 0);
  run.answer = database_->text(statement, 1);
  run.host = database_->text(statement, 2);
  run.number = number(3);
  run.points = number(4);
  run.done = number(5);
  run.known = number(6);
  run.failed = number(7);
  run.process = number(8);
  run.started = number(9);
  run.updated = number(10);
  run.ended = number(11) != 0;
  if (!run.ended) { // a note is up to a second older than the points, and the last one of a killed
                    // run
    const Statement since = database_->prepare(kSince);
    sqlite3_bind_int64(since.get(), 1, run.started);
    if (database_->step(since))
      run.done = std::max<std::int64_t>(run.done, sqlite3_column_int64(since.get(), 0));
  }
  return run;
}

std::optional<SweepRun> ResultStore::last_run() const
{
  return find_run("1", "");
}

std::optional<SweepRun> ResultStore::last_run_here(const std::string& experiment) const
{
  return find_run(experiment.empty() ? "process != 0" : "process != 0 AND experiment = ?1",
                  experiment);
}

std::vector<std::string> ResultStore::experiments() const
{
  std::vector<std::string> names;
  const Statement statement =
      database_->prepare("SELECT DISTINCT experiment FROM runs ORDER BY experiment");
  while (database_->step(statement))
    names.push_back(database_->text(statement, 0));
  return names;
}

std::vector<RunPoint> ResultStore::points_of(std::int64_t number) const
{
  const Statement statement = database_->prepare(kMembers);
  sqlite3_bind_int64(statement.get(), 1, number);
  std::vector<RunPoint> points;
  while (database_->step(statement)) {
    const std::string text = database_->text(statement, 2);
    RunPoint point;
    point.position = sqlite3_column_int64(statement.get(), 0);
    if (checksum(database_->text(statement, 1) + text) == database_->text(statement, 3))
      point.result = Json::parse(text, nullptr, false);
    point.state = !point.result.is_object()                     ? RunPoint::State::damaged
                  : sqlite3_column_int(statement.get(), 4) != 0 ? RunPoint::State::failed
                                                                : RunPoint::State::done;
    points.push_back(std::move(point));
  }
  return points;
}

std::int64_t ResultStore::failed() const
{
  return database_->number("SELECT count(*) FROM points WHERE error IS NOT NULL");
}

int ResultStore::clean()
{
  std::set<std::string> whole;
  for (const StoredPoint& point : all())
    whole.insert(point.key);
  int forgotten = static_cast<int>(failed());
  database_->run("DELETE FROM points WHERE error IS NOT NULL");
  for (const std::string& key : keys())
    if (whole.count(key) == 0) {
      const Statement statement = database_->prepare("DELETE FROM points WHERE key = ?1");
      database_->bind(statement, 1, key);
      database_->step(statement);
      ++forgotten;
    }
  return forgotten;
}

namespace {

// What a question may do: read what is in the file.
int only_reading(void*, int action, const char*, const char*, const char*, const char*)
{
  const bool reads = action == SQLITE_SELECT || action == SQLITE_READ ||
                     action == SQLITE_FUNCTION || action == SQLITE_RECURSIVE;
  return reads ? SQLITE_OK : SQLITE_DENY;
}

using Clock = std::chrono::steady_clock;

int too_late(void* end)
{
  return Clock::now() > *static_cast<Clock::time_point*>(end) ? 1 : 0;
}

// Rules of a connection while a question is asked.
class Asking {
public:
  Asking(sqlite3* handle, Seconds patience)
      : handle_(handle), end_(Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                                 std::chrono::duration<double>(patience.value())))
  {
    sqlite3_set_authorizer(handle_, &only_reading, nullptr);
    sqlite3_progress_handler(handle_, kStepsBetweenLooks, &too_late, &end_);
    sqlite3_hard_heap_limit64(kMostMemory);
  }
  ~Asking()
  {
    sqlite3_set_authorizer(handle_, nullptr, nullptr);
    sqlite3_progress_handler(handle_, 0, nullptr, nullptr);
    sqlite3_hard_heap_limit64(0);
  }
  Asking(const Asking&) = delete;
  Asking& operator=(const Asking&) = delete;
  bool late() const { return Clock::now() > end_; }

private:
  static constexpr int kStepsBetweenLooks = 10000;
  static constexpr std::int64_t kMostMemory = 512 << 20;
  sqlite3* handle_;
  Clock::time_point end_;
};

constexpr std::size_t kMostText = 256'000'000; // of an answer

} // namespace

std::vector<std::vector<std::string>> ResultStore::ask(const std::string& sql,
                                                       Seconds patience) const
{
  const Asking asking(database_->handle, patience);
  const char* rest = nullptr;
  sqlite3_stmt* raw = nullptr;
  const int code = sqlite3_prepare_v2(database_->handle, sql.c_str(), -1, &raw, &rest);
  const Statement statement(raw);
  if (code == SQLITE_AUTH || (code == SQLITE_OK && (!statement || sqlite3_stmt_readonly(raw) == 0)))
    throw UsageError("a question in SQL must be one SELECT, got '" + excerpt(sql, 200) + "'");
  if (code != SQLITE_OK)
    database_->fail();
  if (std::string(rest).find_first_not_of("; \t\r\n") != std::string::npos)
    throw UsageError("one question at a time: what follows ';' would be left out, '" +
                     excerpt(rest, 200) + "'");
  const int columns = sqlite3_column_count(raw);
  std::vector<std::vector<std::string>> rows(1);
  for (int i = 0; i < columns; ++i)
    rows.front().emplace_back(sqlite3_column_name(raw, i));
  std::size_t size = 0;
  try {
    while (database_->step(statement)) {
      rows.emplace_back();
      for (int i = 0; i < columns; ++i) {
        rows.back().push_back(sqlite3_column_type(raw, i) == SQLITE_FLOAT
                                  ? fmt::format("{}", sqlite3_column_double(raw, i))
                                  : database_->text(statement, i));
        size += rows.back().back().size() + sizeof(std::string);
      }
      if (size > kMostText)
        throw UsageError("the answer is longer than 256 MB: ask for less, with LIMIT");
    }
  } catch (const UsageError&) {
    if (asking.late())
      throw UsageError(
          fmt::format("the question takes longer than {:g} s: it was stopped", patience.value()));
    throw;
  }
  return rows;
}

std::int64_t ResultStore::damaged() const
{
  std::int64_t count = 0;
  const Statement statement = database_->prepare("SELECT key, result, checksum FROM points");
  while (database_->step(statement))
    count += checksum(database_->text(statement, 0) + database_->text(statement, 1)) !=
             database_->text(statement, 2);
  return count;
}

int ResultStore::merge(const std::string& path)
{
  const ResultStore other(path); // checked, with its tables
  const Database& db = *database_;
  const Statement attach = db.prepare("ATTACH ?1 AS part");
  db.bind(attach, 1, path);
  db.step(attach);
  int taken = 0;
  try {
    db.run(kMerge);
    taken = sqlite3_changes(db.handle);
    db.run(kForgetMadeGood);
  } catch (const UsageError&) { // pages that are damaged
    db.run("DETACH part");
    throw;
  }
  db.run("DETACH part");
  return taken;
}

} // namespace foretrain::experiments
