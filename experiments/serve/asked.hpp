// What a page asks for, as words of the command line.
#pragma once

#include "sim/base/schema.hpp"

#include <optional>
#include <string>
#include <vector>

namespace foretrain::serve {

/// What may be asked; stored: the store of results that the page was started with.
enum class Question { predict, explain, plan, tune, fleet, stored };
constexpr auto choices(Question)
{
  return std::to_array<Choice<Question>>({{Question::predict, "predict"},
                                          {Question::explain, "explain"},
                                          {Question::plan, "plan"},
                                          {Question::tune, "tune"},
                                          {Question::fleet, "fleet"},
                                          {Question::stored, "stored"}});
}

struct Asked {
  Question command = Question::predict;
  std::string page; // which tab asks
  std::string run;  // what it calls this request, to stop it
  std::string text; // the file: JSON or YAML
  std::string beside;
  std::string before;
  std::optional<int> seed, point, seeds, top;
  std::string fidelity, uncertainty;
  std::string experiment; // of a store
};

template <class V>
void describe(V& v, Asked& s)
{
  v.required("command", s.command, "what is asked");
  v.required("page", s.page, "which tab asks");
  v.required("run", s.run, "name of this request");
  v.optional("text", s.text, "the file: JSON or YAML");
  v.optional("beside", s.beside, "name of a bundled file: paths in the text are beside it");
  v.optional("before", s.before, "answer to draw beside this one");
  v.optional("seed", s.seed, "of random streams", between(0, 2147483647));
  v.optional("point", s.point, "of explain", between(0, 100000));
  v.optional("seeds", s.seeds, "of fleet", between(1, 200));
  v.optional("top", s.top, "of tune", between(1, 100));
  v.optional("fidelity", s.fidelity, "how finely collectives run",
             one_of({"", "coupled", "edges", "chunks"}));
  v.optional("uncertainty", s.uncertainty, "what intervals hold",
             one_of({"", "auto", "steps", "linear", "monte-carlo"}));
  v.optional("experiment", s.experiment, "of a store: whose points; default: the last run into it");
}

/// Most points of a sweep, and of one that is answered beside long work.
constexpr std::size_t kMostPoints = 2000;
constexpr std::size_t kFewPoints = 24;

/// Throws ConfigError for a text that is larger than a request's may be.
void check_length(const std::string& text);

/// Throws ConfigError where the request is none, or asks for more than is allowed.
Asked read_asked(const std::string& body);

/// How many points the text's sweep has by itself; 1 without one or where the text cannot be read.
std::size_t points_in(const std::string& text);

/// Whether others should not have to wait for it.
bool is_long(const Asked& asked);

/// The command's words, "-" for its file; `out`: where it may write, `store`: the file of results.
std::vector<std::string> words_of(const Asked& asked, const std::string& out,
                                  const std::string& store, int jobs);

} // namespace foretrain::serve
