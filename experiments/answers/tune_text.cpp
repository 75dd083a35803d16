// What tune says.
#include "experiments/answers/parallel_words.hpp"
#include "experiments/answers/tune.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

std::string training_header(const TuneAnswer& a)
{
  const bool days = !a.best.empty() && a.best.front().days;
  const bool cost = days && a.best.front().cost;
  const std::string currency = cost ? a.best.front().currency : "";
  return (days ? fmt::format("{:>8}  ", "days") : "") +
         (cost ? fmt::format("{:>12}  ", currency.empty() ? "cost" : "cost, " + currency) : "");
}

// With three digits where there are few.
std::string rounded(double value, double tenths_below)
{
  return value < 1              ? fmt::format("{:.3g}", value)
         : value < tenths_below ? fmt::format("{:.1f}", value)
                                : fmt::format("{:.0f}", value);
}

std::string training_cells(const TunedPlan& p)
{
  return (p.days ? fmt::format("{:>8}  ", rounded(p.days->median, 1e6)) : "") +
         (p.cost ? fmt::format("{:>12}  ", rounded(p.cost->median, 100)) : "");
}

// A key of plans in the table.
struct PlanColumn {
  std::string_view name;
  std::string (*cell)(const TunedPlan&);
};

constexpr PlanColumn kPlanColumns[] = {
    {"tensor", [](const TunedPlan& p) { return std::to_string(p.plan.tensor); }},
    {"context", [](const TunedPlan& p) { return std::to_string(p.plan.context); }},
    {"pipeline", [](const TunedPlan& p) { return std::to_string(p.plan.pipeline); }},
    {"virtual", [](const TunedPlan& p) { return std::to_string(p.plan.virtual_stages); }},
    {"expert", [](const TunedPlan& p) { return std::to_string(p.plan.expert); }},
    {"expert tensor", [](const TunedPlan& p) { return std::to_string(p.plan.expert_tensor); }},
    {"zero", [](const TunedPlan& p) { return zero_text(p.plan); }},
    {"micro", [](const TunedPlan& p) { return std::to_string(p.micro_batch); }},
    {"recompute",
     [](const TunedPlan& p) { return recompute_text(p.recompute, p.recompute_layers); }},
};

// Zero where no plan divides anything that way.
std::size_t column_width(const PlanColumn& column, const std::vector<TunedPlan>& plans)
{
  std::size_t width = column.name.size();
  bool any = false;
  for (const TunedPlan& plan : plans) {
    const std::string cell = column.cell(plan);
    width = std::max(width, cell.size());
    any = any || cell != "1";
  }
  return any || column.name == "zero" || column.name == "micro" ? width : 0;
}

} // namespace

std::string tune_text(const TuneAnswer& a)
{
  std::string text =
      fmt::format("{} on {} GPUs: {} plans simulated, {} do not fit, {} cannot reach "
                  "the best\n\n",
                  a.name, a.gpus, a.tried, a.too_large, a.hopeless);
  const auto row = [&](const std::string& rank, const auto& cell_of) {
    text += fmt::format("{:>3}", rank);
    for (const PlanColumn& column : kPlanColumns)
      if (const std::size_t width = column_width(column, a.best); width > 0)
        text += fmt::format(" {:>{}}", cell_of(column), width);
  };
  row("", [](const PlanColumn& column) { return std::string(column.name); });
  text += fmt::format("  {:>12} {:>21}  {:>5}  {:>8}  {}{}\n", "tokens/s", "interval", "MFU",
                      "memory", training_header(a), "loses by");
  int rank = 0;
  for (const TunedPlan& p : a.best) {
    row(std::to_string(++rank), [&p](const PlanColumn& column) { return column.cell(p); });
    text += fmt::format("  {:>12.0f} {:>10.0f}-{:<10.0f}  {:>4.1f}%  {:>5.1f} GB  {}{}\n",
                        p.tokens_per_s.median, p.tokens_per_s.low, p.tokens_per_s.high, 100 * p.mfu,
                        p.memory.value() / 1e9, training_cells(p), p.loses);
  }
  if (a.best.empty())
    text += "no plan fits: more GPUs, offloading or a smaller sequence would help\n";
  return text + "\nnot tried: " + a.not_tried + "\n";
}

} // namespace foretrain::experiments
