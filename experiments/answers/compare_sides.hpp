// What can be compared: predictions made just now, result files and result stores.
#pragma once

#include "experiments/run/keep/result_json.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace foretrain::experiments {

struct ComparedPoint {
  std::string experiment;
  Json settings = Json::object();
  Json input; // the experiment with the settings made; null where a store holds none
  std::vector<JobResult> jobs{};
  std::vector<std::string> warnings{}; // about the point
  std::shared_ptr<const Profiles> profiles{};
  std::optional<Point> point{}; // with which it can be run again
  std::size_t place = 0;        // of a fleet: among its runs
  Json chosen = Json::object(); // settings that all points of the side have, by keep_where
};

struct CompareSide {
  std::string name;
  std::vector<ComparedPoint> points; // those that have results
  std::vector<std::string> warnings{};
};

/// What an answer tells of a side.
struct SideSize {
  std::string name;
  std::size_t points = 0;
};

/// How many points have no counterpart.
struct Unmatched {
  std::size_t a = 0, b = 0;
};

/// Whether the path is a result file, a result store or a fleet rather than an experiment. Throws
/// UsageError for a store that is not there, and for the answer of a fleet.
enum class SideKind { experiment, result, store, fleet };
SideKind kind_of_side(const std::string& path);

/// Reads result.json, or the directory that holds it. Throws ConfigError.
CompareSide side_of_result(const std::string& path);
/// Reads a store that `sweep --db` wrote; of points run several times the latest. Several
/// experiments of one store are told apart by a setting "experiment". Throws UsageError.
CompareSide side_of_store(const std::string& path);
/// A prediction of an experiment.
CompareSide side_of_prediction(const LoadedExperiment& experiment, const ExperimentResult& result,
                               std::string name);

/// Keeps the points with these settings ("POINTER=VALUE"), which then no longer tell points apart.
/// Throws UsageError when there is none.
void keep_where(CompareSide& side, const std::vector<std::string>& where);

/// Points of two sides that belong together: those that agree in the settings that either side
/// varies; one point is compared with one, whatever they are.
struct ComparedPair {
  const ComparedPoint* a;
  const ComparedPoint* b;
};
/// Throws UsageError when no point of A has a counterpart in B.
std::vector<ComparedPair> pairs_of(const CompareSide& a, const CompareSide& b);

/// The value of a setting at a point: its own, else that of the experiment's file; null if unknown.
const Json& value_at_point(const ComparedPoint& point, const std::string& pointer);

template <class V>
void describe(V& v, SideSize& s)
{
  v.required("name", s.name, "file or bundled name");
  v.required("points", s.points, "of its sweep", at_least(0));
}

template <class V>
void describe(V& v, Unmatched& s)
{
  v.required("a", s.a, "of A", at_least(0));
  v.required("b", s.b, "of B", at_least(0));
}

} // namespace foretrain::experiments
