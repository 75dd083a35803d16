// A profile: parameters learnt from measurements, each for one value of one preset, with spread,
// source and what they were learnt from. `foretrain calibrate` writes it, `--profile` lays it over
// the presets that an experiment names.
#pragma once

#include "sim/base/schema.hpp"

#include <optional>
#include <string>
#include <vector>

namespace foretrain::calibration {

/// A log that a profile was learnt from.
struct ProfileLog {
  std::string file;   // as it was called then
  std::string kind;   // "nccl-tests", "iperf3", ...
  std::string digest; // of its bytes: "fnv1a64:..."
  std::string taught; // what was learnt from it, in words
};

/// What is left after the fit, of the measurements that a parameter was learnt from.
struct ProfileResiduals {
  int measurements = 0;
  double mean = 0;    // of |predicted / measured - 1|
  double maximum = 0; // of the same
};

/// Ground on which a parameter was measured; outside it, using it is extrapolation.
struct ProfileRange {
  std::string of; // "message size", "GPUs", "connections"
  Value from;
  Value to;
};

struct ProfileParameter {
  std::string kind;    // of preset: "gpu", "library", ...
  std::string preset;  // its name, or "*" for all of the kind
  std::string pointer; // into it
  Value value;         // as the preset's file would hold it
  Value spread;        // one standard deviation, in the same form; absent: not known
  std::string source;
  std::optional<ProfileResiduals> residuals;
  std::vector<ProfileRange> valid;
};

/// Correlation of two parameters of one fit, by their places in the list.
struct ProfileCorrelation {
  int a = 0;
  int b = 0;
  double value = 0;
};

/// A parameter that the logs cannot tell, and what would.
struct ProfileRefusal {
  std::string parameter; // "library nccl /protocols/0/ring_base"
  std::string reason;
  std::string measurement; // that would help
};

/// A measurement that the fit could not follow. It was used with little weight, not dropped.
struct ProfileOutlier {
  std::string where; // "p2p.log:17"
  std::string what;
};

struct Profile {
  std::string name;
  std::string made_by; // program and version
  std::vector<ProfileLog> logs;
  std::vector<ProfileParameter> parameters;
  std::vector<ProfileCorrelation> correlations;
  std::vector<ProfileRefusal> refused;
  std::vector<ProfileOutlier> outliers;
  Value origin; // the document it was read from
};

/// Reads and checks a profile. Throws ConfigError: unknown keys, a spread whose unit is not that of
/// its value, correlations that are none.
Profile read_profile(const Value& root);

/// The profile as its file.
Json to_json(const Profile& profile);

/// One standard deviation of a parameter over its value; 0 when no spread is given.
double relative_spread(const ProfileParameter& parameter);

template <class V>
void describe(V& v, ProfileLog& s)
{
  v.required("file", s.file, "name of the log");
  v.required("kind", s.kind, "what wrote it");
  v.optional("digest", s.digest, "of its bytes");
  v.optional("taught", s.taught, "what was learnt from it");
}

template <class V>
void describe(V& v, ProfileResiduals& s)
{
  v.required("measurements", s.measurements, "how many measurements were fitted", non_negative());
  v.required("mean", s.mean, "of |predicted / measured - 1|", non_negative());
  v.required("maximum", s.maximum, "of the same", non_negative());
}

template <class V>
void describe(V& v, ProfileRange& s)
{
  v.required("of", s.of, "what is bounded, like message size");
  v.required("from", s.from, "least value that was measured");
  v.required("to", s.to, "greatest value that was measured");
}

template <class V>
void describe(V& v, ProfileParameter& s)
{
  v.required("kind", s.kind, "kind of preset that it belongs to");
  v.required("preset", s.preset, "the preset's name, or * for every one of the kind");
  v.required("pointer", s.pointer, "JSON pointer into the preset");
  v.required("value", s.value, "as the preset's file would hold it, with its unit");
  v.optional("spread", s.spread, "one standard deviation, in the unit of the value");
  v.optional("source", s.source, "the measurement that it comes from");
  v.optional("residuals", s.residuals, "what the fit left over");
  v.optional("valid", s.valid, "ranges in which it was measured");
}

template <class V>
void describe(V& v, ProfileCorrelation& s)
{
  v.required("a", s.a, "place of a parameter in the list, from 0", non_negative());
  v.required("b", s.b, "place of the other one", non_negative());
  v.required("value", s.value, "correlation of the two", between(-1, 1));
}

template <class V>
void describe(V& v, ProfileRefusal& s)
{
  v.required("parameter", s.parameter, "what was not learnt");
  v.required("reason", s.reason, "why the logs cannot tell it");
  v.optional("measurement", s.measurement, "what would tell it");
}

template <class V>
void describe(V& v, ProfileOutlier& s)
{
  v.required("where", s.where, "file and line of the measurement");
  v.required("what", s.what, "measured and fitted value");
}

template <class V>
void describe(V& v, Profile& s)
{
  v.format("foretrain.profile/1");
  v.optional("name", s.name, "name of the profile");
  v.optional("made_by", s.made_by, "program and version that wrote it");
  v.optional("logs", s.logs, "what it was learnt from");
  v.required("parameters", s.parameters, "what was learnt");
  v.optional("correlations", s.correlations, "of parameters that were fitted together");
  v.optional("refused", s.refused, "what the logs cannot tell");
  v.optional("outliers", s.outliers, "measurements that the fit could not follow");
}

} // namespace foretrain::calibration
