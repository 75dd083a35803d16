#include "experiments/run/keep/result_store.hpp"

#include "experiments/run/keep/fingerprint.hpp"
#include "experiments/run/keep/sql_question.hpp"
#include "experiments/run/keep/store_layout.hpp"
#include "sim/base/error.hpp"

#include <algorithm>

namespace foretrain::experiments {

namespace {

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

void put_point(const SqliteFile& file, const StoredPoint& point)
{
  Statement statement = file.prepare(kPut);
  statement.bind(1, point.key).bind(2, point.experiment).bind(3, point.version);
  statement.bind(4, static_cast<std::int64_t>(point.seed)).bind(5, point.fidelity);
  if (const auto error = point.result.find("error"); error != point.result.end())
    statement.bind(6, error->get<std::string>());
  const std::string text = point.result.dump();
  statement.bind(7, text).bind(8, checksum(point.key + text));
  statement.step();
}

} // namespace

ResultStore::ResultStore(const std::string& path, StoreUse use) : file_(path, use)
{
  lay_out(file_, use);
}

std::optional<Json> ResultStore::find(const std::string& key) const
{
  Statement statement = file_.prepare(kFind);
  statement.bind(1, key);
  if (!statement.step())
    return std::nullopt;
  const std::string text = statement.text(0);
  Json result = Json::parse(text, nullptr, false);
  if (checksum(key + text) != statement.text(1) || !result.is_object())
    return std::nullopt; // damaged: to be run again
  return result;
}

std::set<std::string> ResultStore::keys() const
{
  std::set<std::string> keys;
  Statement statement = file_.prepare("SELECT key FROM points WHERE error IS NULL");
  while (statement.step())
    keys.insert(statement.text(0));
  return keys;
}

std::vector<StoredPoint> ResultStore::all() const
{
  Statement statement = file_.prepare(kAll);
  const auto text = [&](int column) { return statement.text(column); };
  std::vector<StoredPoint> points;
  while (statement.step())
    if (checksum(text(0) + text(5)) == text(6))
      points.push_back({text(0), text(1), text(2), static_cast<std::uint64_t>(statement.number(3)),
                        text(4), Json::parse(text(5))});
  return points;
}

void ResultStore::put(const std::vector<StoredPoint>& points)
{
  file_.run("BEGIN IMMEDIATE");
  for (const StoredPoint& point : points)
    put_point(file_, point);
  file_.run("COMMIT");
}

std::int64_t ResultStore::begin(const SweepRun& run)
{
  Statement statement = file_.prepare(
      "INSERT INTO runs (experiment, answer, points, host, process) VALUES (?1, ?2, ?3, ?4, ?5)");
  statement.bind(1, run.experiment);
  statement.bind(2, run.answer);
  statement.bind(3, run.points);
  statement.bind(4, run.host);
  statement.bind(5, run.process);
  statement.step();
  return file_.last_row();
}

void ResultStore::update(std::int64_t number, const SweepRun& run)
{
  Statement statement =
      file_.prepare("UPDATE runs SET done = ?2, known = ?3, failed = ?4, ended = ?5, "
                    "answer = ?6, updated = strftime('%s', 'now') WHERE id = ?1");
  int at = 0;
  for (const std::int64_t value :
       {number, run.done, run.known, run.failed, static_cast<std::int64_t>(run.ended)})
    statement.bind(++at, value);
  statement.bind(++at, run.answer);
  statement.step();
  if (run.ended)
    file_.run(kForgetMadeGood);
}

void ResultStore::enrol(std::int64_t number,
                        const std::vector<std::pair<std::size_t, std::string>>& members)
{
  file_.run("BEGIN IMMEDIATE");
  for (const auto& [position, key] : members) {
    Statement statement =
        file_.prepare("INSERT OR REPLACE INTO members (run, position, key) VALUES (?1, ?2, ?3)");
    statement.bind(1, number);
    statement.bind(2, static_cast<std::int64_t>(position));
    statement.bind(3, key);
    statement.step();
  }
  file_.run("COMMIT");
}

std::optional<SweepRun> ResultStore::find_run(const std::string& condition,
                                              const std::string& bound) const
{
  Statement statement =
      file_.prepare("SELECT experiment, answer, host, id, points, done, known, failed, "
                    "process, started, updated, ended FROM runs WHERE " +
                    condition + " ORDER BY id DESC LIMIT 1");
  if (!bound.empty())
    statement.bind(1, bound);
  if (!statement.step())
    return std::nullopt;
  const auto number = [&](int at) { return statement.number(at); };
  SweepRun run;
  run.experiment = statement.text(0);
  run.answer = statement.text(1);
  run.host = statement.text(2);
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
    Statement since = file_.prepare(kSince);
    since.bind(1, run.started);
    if (since.step())
      run.done = std::max<std::int64_t>(run.done, since.number(0));
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
  Statement statement = file_.prepare("SELECT DISTINCT experiment FROM runs ORDER BY experiment");
  while (statement.step())
    names.push_back(statement.text(0));
  return names;
}

std::vector<RunPoint> ResultStore::points_of(std::int64_t number) const
{
  Statement statement = file_.prepare(kMembers);
  statement.bind(1, number);
  std::vector<RunPoint> points;
  while (statement.step()) {
    const std::string text = statement.text(2);
    RunPoint point;
    point.position = statement.number(0);
    if (checksum(statement.text(1) + text) == statement.text(3))
      point.result = Json::parse(text, nullptr, false);
    point.state = !point.result.is_object()  ? RunPoint::State::damaged
                  : statement.number(4) != 0 ? RunPoint::State::failed
                                             : RunPoint::State::done;
    points.push_back(std::move(point));
  }
  return points;
}

std::int64_t ResultStore::failed() const
{
  return file_.number("SELECT count(*) FROM points WHERE error IS NOT NULL");
}

int ResultStore::clean()
{
  std::set<std::string> whole;
  for (const StoredPoint& point : all())
    whole.insert(point.key);
  int forgotten = static_cast<int>(failed());
  file_.run("DELETE FROM points WHERE error IS NOT NULL");
  for (const std::string& key : keys())
    if (whole.count(key) == 0) {
      Statement statement = file_.prepare("DELETE FROM points WHERE key = ?1");
      statement.bind(1, key);
      statement.step();
      ++forgotten;
    }
  return forgotten;
}

std::vector<std::vector<std::string>> ResultStore::ask(const std::string& sql,
                                                       Seconds patience) const
{
  return ask_file(file_, sql, patience);
}

std::int64_t ResultStore::damaged() const
{
  std::int64_t count = 0;
  Statement statement = file_.prepare("SELECT key, result, checksum FROM points");
  while (statement.step())
    count += checksum(statement.text(0) + statement.text(1)) != statement.text(2);
  return count;
}

int ResultStore::merge(const std::string& path)
{
  const ResultStore other(path); // checked, with its tables
  file_.prepare("ATTACH ?1 AS part").bind(1, path).step();
  int taken = 0;
  try {
    file_.run(kMerge);
    taken = file_.changed();
    file_.run(kForgetMadeGood);
  } catch (const UsageError&) { // pages that are damaged
    file_.run("DETACH part");
    throw;
  }
  file_.run("DETACH part");
  return taken;
}

} // namespace foretrain::experiments
