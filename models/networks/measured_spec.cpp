#include "models/networks/measured_spec.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace foretrain::models {

namespace {

constexpr long kMostRanks = 65536;

// Starts of one line, which go through the exchanges.
class LineCheck {
public:
  LineCheck(const MeasuredSpec& measured, std::size_t line)
      : measured_(measured), line_(static_cast<int>(line)), count_(measured.exchanges.size()),
        started_(count_, false)
  {
    find_next();
  }

  std::string problem_with_wait(int exchange) const
  {
    return started(exchange)
               ? ""
               : fmt::format("names exchange {}, which no piece before it starts", exchange);
  }

  std::string problem_with_start(int exchange)
  {
    const auto e = static_cast<std::size_t>(exchange);
    const bool known = e < count_ && measured_.exchanges[e].takes_part(line_) && !started_[e];
    if (!known || (!measured_.exchanges[e].sends() && e != next_))
      return fmt::format("names exchange {} of {}; the next one here is {}", exchange, count_,
                         next_);
    started_[e] = true;
    find_next();
    return "";
  }

  std::optional<std::size_t> left() const
  {
    for (std::size_t e = 0; e < count_; ++e)
      if (measured_.exchanges[e].takes_part(line_) && !started_[e])
        return e;
    return std::nullopt;
  }

private:
  bool started(int exchange) const
  {
    return static_cast<std::size_t>(exchange) < count_ &&
           started_[static_cast<std::size_t>(exchange)];
  }
  void find_next() // collective
  {
    while (next_ < count_ && (measured_.exchanges[next_].sends() || started_[next_] ||
                              !measured_.exchanges[next_].takes_part(line_)))
      ++next_;
  }

  const MeasuredSpec& measured_;
  int line_;
  std::size_t count_;
  std::vector<bool> started_;
  std::size_t next_ = 0;
};

void check_line(const MeasuredSpec& measured, std::size_t line, const Value& at)
{
  LineCheck check(measured, line);
  const auto& pieces = measured.lines[line].pieces;
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    const auto place = [&] { return at.at("lines").at(line).at("pieces").at(p); };
    for (const int exchange : pieces[p].after)
      if (const auto problem = check.problem_with_wait(exchange); !problem.empty())
        place().fail_at("after", problem);
    for (const int exchange : pieces[p].starts)
      if (const auto problem = check.problem_with_start(exchange); !problem.empty())
        place().fail_at("starts", problem,
                        "every line starts every exchange of its own once, collectives in their "
                        "order");
  }
  if (const auto left = check.left())
    at.at("lines").at(line).fail_at("pieces", fmt::format("do not start exchange {}", *left));
}

void check_exchange(const MeasuredSpec& measured, std::size_t e, const Value& at)
{
  const MeasuredExchange& exchange = measured.exchanges[e];
  const auto place = [&] { return at.at("exchanges").at(e); };
  const auto lines = static_cast<int>(measured.lines.size());
  if (static_cast<long>(exchange.group) * exchange.stride > kMostRanks)
    place().fail_at("stride", fmt::format("is {}: {} ranks so far apart are more than {}",
                                          exchange.stride, exchange.group, kMostRanks));
  for (const int line : exchange.lines)
    if (line >= lines)
      place().fail_at("lines", fmt::format("names line {} of {}", line, lines));
  if (exchange.sends() && (exchange.lines.size() != 2 || exchange.lines[0] == exchange.lines[1]))
    place().fail_at("lines", "of a send are two: from, to");
  if (!exchange.sends() && exchange.buffered)
    place().fail_at("buffered", "belongs to sends alone");
  for (const bool received : {false, true}) {
    const char* const key = received ? "receives_behind" : "behind";
    const auto& before = received ? exchange.receives_behind : exchange.behind;
    if (!exchange.sends() && !before.empty())
      place().fail_at(key, "belongs to sends alone");
    for (const int other : before)
      if (const auto o = static_cast<std::size_t>(other);
          o >= measured.exchanges.size() || o == e ||
          !measured.exchanges[o].takes_part(exchange.lines[received ? 1 : 0]))
        place().fail_at(key, fmt::format("names exchange {}, which is no other one of line {}",
                                         other, exchange.lines[received ? 1 : 0]));
  }
}

// Blocks of neighbouring ranks take the lines, as far as exchanges name lines.
void check_blocks(const MeasuredSpec& measured, const Value& at)
{
  const auto lines = static_cast<int>(measured.lines.size());
  if (!names_lines(measured))
    return;
  for (int line = 0; line < lines; ++line)
    if (const int rank = measured.lines[static_cast<std::size_t>(line)].rank;
        measured.ranks % lines != 0 || rank != line * (measured.ranks / lines))
      at.at("lines")
          .at(static_cast<std::size_t>(line))
          .fail_at("rank",
                   fmt::format("is {}: exchanges name lines, which are then of ranks at equal "
                               "distances, from 0 on, of {}",
                               rank, measured.ranks));
}

} // namespace

void check_exchanges(const MeasuredSpec& measured, const Value& at)
{
  if (measured.exchanges.empty() != measured.lines.empty())
    at.fail_at(measured.lines.empty() ? "exchanges" : "lines",
               measured.lines.empty() ? "stand without \"lines\", which say when they begin"
                                      : "stand without \"exchanges\"");
  for (std::size_t e = 0; e < measured.exchanges.size(); ++e)
    check_exchange(measured, e, at);
  for (std::size_t line = 0; line < measured.lines.size(); ++line)
    check_line(measured, line, at);
  check_blocks(measured, at);
  if (waits_in_circle(measured))
    at.fail_at("exchanges", "wait for one another in a circle",
               "of two ranks one must send before it waits for the other's send");
}

bool MeasuredExchange::takes_part(int line) const
{
  return lines.empty() || std::find(lines.begin(), lines.end(), line) != lines.end();
}

bool names_lines(const MeasuredSpec& measured)
{
  return std::any_of(measured.exchanges.begin(), measured.exchanges.end(),
                     [](const MeasuredExchange& exchange) { return !exchange.lines.empty(); });
}

std::vector<Layer> measured_layers(const MeasuredSpec& measured)
{
  std::vector<Layer> layers;
  for (std::size_t i = measured.backward.size(); i-- > 0;) {
    const MeasuredStretch& stretch = measured.backward[i];
    Layer layer;
    layer.name = stretch.name.empty() ? fmt::format("backward{}", i) : stretch.name;
    layer.op = "measured";
    layer.kind = stretch.product > stretch.memory ? LayerKind::linear : LayerKind::elementwise;
    layer.output = Shape::vector(1);
    for (std::size_t g = stretch.gradients.size(); g-- > 0;) {
      layer.gradient_tensors.push_back(stretch.gradients[g]);
      layer.parameters += stretch.gradients[g];
    }
    layers.push_back(std::move(layer));
  }
  return layers;
}

} // namespace foretrain::models
