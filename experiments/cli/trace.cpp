#include "experiments/api/model_import.hpp"
#include "experiments/cli/command.hpp"
#include "experiments/cli/files.hpp"
#include "experiments/cli/model_import.hpp"
#include "experiments/report/report_trace.hpp"

#include <iostream>

namespace foretrain::cli {

namespace {

struct TraceArguments {
  std::string file, other, format = "text", html;
};

models::TraceSummary summary_of(const std::string& file)
{
  return models::summarise(experiments::read_trace(file, &tell_progress));
}

int show_trace(const TraceArguments& a)
{
  const auto summary = summary_of(a.file);
  if (!a.html.empty()) {
    write_file(a.html, experiments::trace_html(summary));
    std::cerr << "written to " << a.html << "\n";
  }
  if (a.html.empty() || a.format == "json")
    std::cout << (a.format == "json" ? experiments::trace_json(summary).dump(2) + "\n"
                                     : experiments::trace_text(summary));
  return done;
}

int diff_traces(const TraceArguments& a)
{
  const auto first = summary_of(a.file);
  const auto second = summary_of(a.other);
  std::cout << (a.format == "json" ? experiments::trace_diff_json(first, second).dump(2) + "\n"
                                   : experiments::trace_diff_text(first, second));
  return done;
}

} // namespace

std::function<int()> trace(CLI::App& app)
{
  const auto a = std::make_shared<TraceArguments>();
  const auto action = std::make_shared<std::function<int()>>();
  app.require_subcommand(1);
  CLI::App* shown = app.add_subcommand("show", "where the time of a recorded step went");
  shown->add_option("FILE", a->file, "a profiler's trace, plain or gzipped")->required();
  shown->add_option("--html", a->html, "write a page here");
  CLI::App* differ = app.add_subcommand("diff", "two recordings, or one and a prediction");
  differ->add_option("A", a->file, "a trace")->required();
  differ->add_option("B", a->other, "another, or one that predict --trace wrote")->required();
  for (CLI::App* sub : {shown, differ})
    sub->add_option("--format", a->format, "text or json")->check(CLI::IsMember({"text", "json"}));
  shown->callback([a, action] { *action = [a] { return show_trace(*a); }; });
  differ->callback([a, action] { *action = [a] { return diff_traces(*a); }; });
  return [action] { return (*action)(); };
}

} // namespace foretrain::cli
