// Finished points in an SQLite file, so that a sweep can be stopped and taken up again, grow, and
// be asked questions with SQL.
//
// Table `points`: one row for each point, with its result as the JSON of docs/results.md. Views
// made from that JSON: `settings` (point, pointer, value) and `jobs` (the columns of the CSV).
#pragma once

#include "sim/base/document.hpp"

#include <memory>
#include <optional>
#include <string>

namespace foretrain::experiments {

struct StoredPoint {
  std::string key; // fingerprint of everything that the result depends on
  std::string experiment;
  std::string version;
  std::uint64_t seed = 0;
  std::string fidelity;
  Json result; // a point as in docs/results.md; with "error" it counts as not done
};

class ResultStore {
public:
  /// Opens the file, or makes it. Throws UsageError when it cannot be written, or is a database of
  /// something else or of a later version.
  explicit ResultStore(const std::string& path);
  ~ResultStore();
  ResultStore(const ResultStore&) = delete;
  ResultStore& operator=(const ResultStore&) = delete;

  /// The result of a point that is done.
  std::optional<Json> find(const std::string& key) const;
  /// On disk when this returns. Replaces what was there for the key.
  void put(const StoredPoint& point);
  /// Takes over the finished points of another store that are not here yet; says how many.
  int merge(const std::string& path);

private:
  struct Database;
  std::unique_ptr<Database> database_;
};

} // namespace foretrain::experiments
