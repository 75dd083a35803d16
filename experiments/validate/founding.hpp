// What the documents behind the first systems say, claim by claim, against predictions.
#pragma once

#include "experiments/run/keep/result.hpp"
#include "sim/base/catalog.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace foretrain::experiments {

inline constexpr PresetKind kClaimsKind{"claims", "experiments/validation/founding"};

/// One claim. A number of one experiment, or its ratio to that of another, lies where it was
/// published; or numbers of several settings stand in the published order.
struct ClaimSpec {
  std::string id;      // of the published row
  std::string section; // of the document: A, B, C, D
  std::string says;    // what it says, with the published number
  Value experiment;    // a name of the file's experiments, a preset or an object
  Value settings;      // object: JSON pointer -> value
  std::string quantity = "/throughput_samples_per_s/median"; // below the job's results
  int job = 0;
  Value than;            // settings: the number is the ratio to that of this point
  Value than_experiment; // where that is another one
  std::optional<std::string> than_quantity; // the ratio is to this of the same job instead
  Value order;        // list of settings, largest number first; instead of bounds
  double ties = 0.01; // by how much neighbours in an order may miss it
  std::optional<double> published;
  double within = 0.1; // of the published number
  std::optional<double> at_least;
  std::optional<double> at_most;
  std::string cause; // why it comes out so, or what is missing
};

struct ClaimsFile {
  std::string name;
  Value experiments; // object of names
  std::vector<ClaimSpec> claims;
  Value origin;
};

/// Reads and checks a file of claims. Throws ConfigError.
ClaimsFile load_claims(const std::string& name_or_path);

/// A claim and what became of it.
struct ClaimVerdict {
  const ClaimSpec* claim = nullptr;
  std::vector<double> numbers; // one; of an order one for each setting
  bool holds = false;
  std::string error; // instead of numbers
  int status = 0;    // exit code that the error deserves
};

/// Predicts what each claim is about. Empty when interrupted.
std::optional<std::vector<ClaimVerdict>> judge_claims(const ClaimsFile& file,
                                                      const RunOptions& options, int jobs,
                                                      const std::function<void(int, int)>& told);

/// A table for terminals or, with `markdown`, for documents; share of claims that hold at the end.
std::string claims_table(const std::vector<ClaimVerdict>& verdicts, bool markdown);
Json claims_json(const ClaimsFile& file, const std::vector<ClaimVerdict>& verdicts);

template <class V>
void describe(V& v, ClaimSpec& s)
{
  v.required("id", s.id, "of the published row");
  v.optional("section", s.section, "of the document");
  v.required("says", s.says, "what is published, in words");
  v.required("experiment", s.experiment,
             "a name of \"experiments\", a preset, a path or an object");
  v.optional("settings", s.settings, "JSON pointers into the experiment, and values");
  v.optional("quantity", s.quantity, "pointer below the job's results");
  v.optional("job", s.job, "number of the job in the experiment", between(0, 1000));
  v.optional("than", s.than, "settings of the point that the number is divided by");
  v.optional("than_experiment", s.than_experiment, "the experiment of that point, if another one");
  v.optional("than_quantity", s.than_quantity,
             "pointer below the same job's results, to what the number is divided by");
  v.optional("order", s.order, "settings, the one with the largest number first");
  v.optional("ties", s.ties,
             "by how much neighbours in an order may miss it; the first must be above the last",
             between(0, 1));
  v.optional("published", s.published, "the published number");
  v.optional("within", s.within, "how far from it a prediction may be", between(0, 10));
  v.optional("at_least", s.at_least, "published lower bound");
  v.optional("at_most", s.at_most, "published upper bound");
  v.optional("cause", s.cause, "why it comes out so");
}

template <class V>
void describe(V& v, ClaimsFile& s)
{
  v.format("foretrain.claims/1");
  v.optional("name", s.name, "whose claims they are");
  v.optional("experiments", s.experiments, "experiments by name");
  v.required("claims", s.claims, "the claims");
}

} // namespace foretrain::experiments
