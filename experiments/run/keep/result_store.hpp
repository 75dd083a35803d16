// Finished points in an SQLite file, so that a sweep can be stopped and taken up again, grow, and
// be asked questions with SQL.
//
// Table `points`: one row for each point, with its result as the JSON of docs/results.md. Views
// made from that JSON: `settings` (point, pointer, value) and `jobs` (the columns of the CSV).
// Table `runs`: each run of a sweep into the file; `members`: which points it is about, in its
// order.
#pragma once

#include "experiments/run/keep/sqlite_file.hpp"
#include "sim/base/document.hpp"
#include "sim/base/units.hpp"

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace foretrain::experiments {

struct StoredPoint {
  std::string key; // fingerprint of everything that the result depends on
  std::string experiment;
  std::string version;
  std::uint64_t seed = 0;
  std::string fidelity;
  Json result; // a point as in docs/results.md; with "error" it counts as not done
};

/// One run of a sweep into a store, for those who wait for it.
struct SweepRun {
  std::int64_t number = 0;
  std::string experiment;
  std::string answer; // as JSON: the answer without its points (docs/results.md)
  std::int64_t points = 0;
  std::int64_t done = 0; // by this run
  std::int64_t known = 0;
  std::int64_t failed = 0;
  std::string host;
  std::int64_t process = 0;
  std::int64_t started = 0; // seconds since 1970
  std::int64_t updated = 0;
  bool ended = false; // with all points
};

/// A point of a run as the file holds it now.
struct RunPoint {
  enum class State { done, failed, damaged };
  std::int64_t position = 0; // in the order of the sweep
  State state = State::done;
  Json result; // null where it is damaged or gone
};

class ResultStore {
public:
  /// Opens the file, to `write` makes it where it is not there or empty; what is only read is left
  /// as it is, and may be protected. Throws UsageError when it cannot be opened so, or is a
  /// database of something else or of a later version.
  explicit ResultStore(const std::string& path, StoreUse use = StoreUse::write);

  /// The result of a point that is done; none where the row is damaged: its checksum, which is of
  /// key and result, is wrong.
  std::optional<Json> find(const std::string& key) const;
  /// All finished points, the oldest first.
  std::vector<StoredPoint> all() const;
  /// Keys of all points that are done.
  std::set<std::string> keys() const;
  /// Notes a run that begins (or was queued, where `process` is 0); its number.
  std::int64_t begin(const SweepRun& run);
  /// How far it is, and its answer. At its end failures of points that are done by now are
  /// forgotten.
  void update(std::int64_t number, const SweepRun& run);
  /// Notes that points (position in the sweep, key) belong to a run.
  void enrol(std::int64_t number, const std::vector<std::pair<std::size_t, std::string>>& members);
  /// The run that began last.
  std::optional<SweepRun> last_run() const;
  /// The run of this experiment (empty: of any) that began last, those queued left out.
  std::optional<SweepRun> last_run_here(const std::string& experiment) const;
  /// Experiments of all runs.
  std::vector<std::string> experiments() const;
  /// The points that a run came to, by position.
  std::vector<RunPoint> points_of(std::int64_t number) const;
  /// Points that failed.
  std::int64_t failed() const;
  /// Forgets points that failed or are damaged; how many.
  int clean();
  /// Rows of a question in SQL, names of the columns first; numbers with all their digits. Throws
  /// UsageError when it is none, or several, would change anything or read another file, takes
  /// longer than `patience`, or has an answer of more than 256 MB.
  std::vector<std::vector<std::string>> ask(const std::string& sql,
                                            Seconds patience = Seconds(60)) const;
  /// Points whose checksum is wrong.
  std::int64_t damaged() const;
  /// All of them on disk when this returns, or none. Replaces what was there for the keys.
  void put(const std::vector<StoredPoint>& points);
  /// Takes over the finished points of another store that are not here yet; says how many.
  int merge(const std::string& path);

private:
  std::optional<SweepRun> find_run(const std::string& condition, const std::string& bound) const;

  SqliteFile file_;
};

} // namespace foretrain::experiments
