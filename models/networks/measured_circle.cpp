#include "models/networks/measured_spec.hpp"

#include <map>
#include <utility>

namespace foretrain::models {

namespace {

// Pieces and exchanges, and what must have come before each.
class Waits {
public:
  explicit Waits(const MeasuredSpec& measured) : measured_(measured)
  {
    for (const MeasuredExchange& exchange : measured.exchanges) {
      const int begin = add();
      begins_.push_back(begin);
      // The receiver of a buffered send comes to it later than the sender.
      receipts_.push_back(exchange.buffered ? add() : begin);
      if (exchange.buffered)
        edge(begin, receipts_.back());
    }
    for (int e = 0; e < static_cast<int>(measured.exchanges.size()); ++e) {
      const MeasuredExchange& exchange = measured.exchanges[static_cast<std::size_t>(e)];
      for (const int before : exchange.behind)
        edge(node_of(before, exchange.lines[0]), node_of(e, exchange.lines[0]));
      for (const int before : exchange.receives_behind)
        edge(node_of(before, exchange.lines[1]), node_of(e, exchange.lines[1]));
    }
    for (std::size_t line = 0; line < measured.lines.size(); ++line)
      add_line(static_cast<int>(line));
  }

  bool in_circle()
  {
    std::vector<int> ready;
    for (int node = 0; node < static_cast<int>(before_.size()); ++node)
      if (before_[static_cast<std::size_t>(node)] == 0)
        ready.push_back(node);
    std::size_t done = 0;
    for (; !ready.empty(); ++done) {
      const auto node = static_cast<std::size_t>(ready.back());
      ready.pop_back();
      for (const int next : after_[node])
        if (--before_[static_cast<std::size_t>(next)] == 0)
          ready.push_back(next);
    }
    return done < before_.size();
  }

private:
  int add()
  {
    before_.push_back(0);
    after_.emplace_back();
    return static_cast<int>(before_.size()) - 1;
  }

  void edge(int first, int second)
  {
    after_[static_cast<std::size_t>(first)].push_back(second);
    ++before_[static_cast<std::size_t>(second)];
  }

  // Where the line comes to the exchange, and where it is done with it.
  int node_of(int exchange, int line) const
  {
    const auto e = static_cast<std::size_t>(exchange);
    const MeasuredExchange& it = measured_.exchanges[e];
    return it.sends() && it.lines[1] == line ? receipts_[e] : begins_[e];
  }

  void add_line(int line)
  {
    std::map<std::pair<int, int>, int> streams; // last collective of each layout
    int last = -1;
    for (const MeasuredPiece& piece : measured_.lines[static_cast<std::size_t>(line)].pieces) {
      const int begin = add();
      if (last >= 0)
        edge(last, begin);
      for (const int exchange : piece.after)
        edge(node_of(exchange, line), begin);
      for (const int exchange : piece.starts) {
        const int node = node_of(exchange, line);
        edge(begin, node);
        const MeasuredExchange& it = measured_.exchanges[static_cast<std::size_t>(exchange)];
        if (it.sends())
          continue;
        const auto [before, first] = streams.try_emplace({it.group, it.stride}, node);
        if (!first)
          edge(std::exchange(before->second, node), node);
      }
      last = begin;
    }
  }

  const MeasuredSpec& measured_;
  std::vector<int> begins_, receipts_; // of each exchange
  std::vector<int> before_;            // of each node: how many must have come
  std::vector<std::vector<int>> after_;
};

} // namespace

bool waits_in_circle(const MeasuredSpec& measured)
{
  return Waits(measured).in_circle();
}

} // namespace foretrain::models
