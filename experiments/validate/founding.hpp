// What the documents behind the first systems say, claim by claim, against predictions: the file.
#pragma once

#include "sim/base/catalog.hpp"
#include "sim/base/schema.hpp"

#include <optional>
#include <string>
#include <vector>

namespace foretrain::experiments {

inline constexpr PresetKind kClaimsKind{"claims", "experiments/validation/founding"};

/// What a number of several cases is. spread: the least over the most.
enum class Take { least, most, mean, spread };
constexpr auto choices(Take)
{
  return std::to_array<Choice<Take>>({{Take::least, "least"},
                                      {Take::most, "most"},
                                      {Take::mean, "mean"},
                                      {Take::spread, "spread"}});
}

/// How neighbours in an order stand to each other.
enum class Relation { above, equal };
constexpr auto choices(Relation)
{
  return std::to_array<Choice<Relation>>({{Relation::above, ">"}, {Relation::equal, "="}});
}

/// One of several cases of a number: laid over it, the settings over those of both its sides.
struct ClaimCase {
  Value experiment;
  Value than_experiment;
  Value settings;
};

/// A number of one prediction, or its ratio to that of another one.
struct ClaimNumber {
  Value experiment; // a name of the file's experiments, a preset or an object
  Value settings;   // object: JSON pointer -> value
  std::optional<int> job;
  std::optional<std::string> quantity; // below the job's results, or the point's
  Value than;                          // settings: the number is the ratio to that of this point
  Value than_experiment;               // where that is another one
  std::optional<std::string> than_quantity; // where that is another one
  std::optional<double> times;              // a constant that the number is multiplied by
  std::vector<ClaimCase> each;
  std::optional<Take> take;
};

/// One claim: the number, or its difference to another one, lies where it was published; or numbers
/// stand in the published order; or a text names what is published.
struct ClaimSpec {
  std::string id;
  std::string document; // a name of the file's documents
  std::string quote;    // word for word
  std::string says;     // what is asked of it
  ClaimNumber number;
  std::optional<ClaimNumber> minus; // what it leaves out is as in `number`, as in the next
  std::vector<ClaimNumber> order;   // the largest first; instead of bounds
  std::vector<Relation> relations;  // of neighbours in it; empty: each above the next
  std::vector<std::string> names;   // one of which the text must contain; instead of bounds
  std::optional<double> published;
  std::optional<double> within;        // of the published number
  std::optional<double> within_points; // percentage points of it: 5 are 0.05
  std::optional<double> at_least;
  std::optional<double> at_most;
  std::string missing; // what a missed claim lacks
};

/// What a document says and nobody simulates.
struct NotAsked {
  std::string document;
  std::string quote;
  std::string says;
  std::string reason;
};

struct ClaimsFile {
  std::string name;
  std::vector<std::pair<std::string, std::string>> documents; // title of each
  Value experiments;                                          // object of names
  std::vector<ClaimSpec> claims;
  std::vector<NotAsked> not_asked;
  Value origin;
};

/// Reads and checks a file of claims. Throws ConfigError.
ClaimsFile load_claims(const std::string& name_or_path);

template <class V>
void describe(V& v, ClaimCase& s)
{
  v.optional("experiment", s.experiment, "instead of the number's");
  v.optional("than_experiment", s.than_experiment, "instead of the number's");
  v.optional("settings", s.settings, "over those of both sides of the number");
}

template <class V>
void describe(V& v, ClaimNumber& s)
{
  v.optional("experiment", s.experiment,
             "a name of \"experiments\", a preset, a path or an object");
  v.optional("settings", s.settings, "JSON pointers into the experiment, and values");
  v.optional("job", s.job, "number of the job in the experiment", between(0, 1000));
  v.optional(
      "quantity", s.quantity,
      "pointer below the job's results, or the point's; default: median of throughput. "
      "/peer_copies/PEER_ACCESS/QUANTITY (true, false; one_way_GB_per_s, both_ways_GB_per_s, "
      "latency_us): median over pairs of GPUs");
  v.optional("than", s.than, "settings of the point that the number is divided by");
  v.optional("than_experiment", s.than_experiment, "the experiment of that point, if another one");
  v.optional("than_quantity", s.than_quantity,
             "what of that point (without one: of the same) the number is divided by, if not the "
             "quantity");
  v.optional("times", s.times, "a constant that the number is multiplied by");
  v.optional("each", s.each, "cases that the number is taken from");
  v.optional("take", s.take, "what it is of them; spread: the least over the most");
}

template <class V>
void describe(V& v, ClaimSpec& s)
{
  v.required("id", s.id, "of the claim");
  v.required("document", s.document, "a name of \"documents\"");
  v.required("quote", s.quote, "what it says, word for word");
  v.required("says", s.says, "what is asked of it");
  describe(v, s.number);
  v.optional("minus", s.minus,
             "a number that is taken from it; what this leaves out is as in the claim");
  v.optional("order", s.order,
             "numbers, the largest first, instead of bounds; what they leave out is as in the "
             "claim");
  v.optional("relations", s.relations,
             "how neighbours in the order stand; empty: each above the next, by half a percent of "
             "the larger at least; equal ones differ by less");
  v.optional("names", s.names,
             "texts, one of which the quantity of each case has to contain; instead of bounds");
  v.optional("published", s.published, "the published number");
  v.optional("within", s.within, "how far from it a prediction may be, of the number",
             between(0, 10));
  v.optional("within_points", s.within_points, "the same in percentage points of it: 5 are 0.05",
             between(0, 100));
  v.optional("at_least", s.at_least, "published lower bound");
  v.optional("at_most", s.at_most, "published upper bound");
  v.optional("missing", s.missing, "of a missed claim: the mechanism that is missing");
}

template <class V>
void describe(V& v, NotAsked& s)
{
  v.required("document", s.document, "a name of \"documents\"");
  v.optional("quote", s.quote, "what it says, where the words are at hand");
  v.required("says", s.says, "what it says, in short");
  v.required("reason", s.reason, "why it is not asked");
}

template <class V>
void describe(V& v, ClaimsFile& s)
{
  v.format("foretrain.claims/1");
  v.optional("name", s.name, "whose claims they are");
  v.required("documents", s.documents, "titles by name");
  v.optional("experiments", s.experiments, "experiments by name");
  v.required("claims", s.claims, "the claims");
  v.optional("not_asked", s.not_asked, "what the documents also say");
}

} // namespace foretrain::experiments
