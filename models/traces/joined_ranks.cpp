#include "models/traces/joined_ranks.hpp"

#include "sim/base/error.hpp"

#include <algorithm>
#include <map>
#include <queue>
#include <tuple>

#include <fmt/format.h>

namespace foretrain::models {

namespace {

constexpr double kTimesAgree = 2e-6; // resolution of traces and what comes between two kernels
constexpr const char* kHint = "record the same step on all ranks, or import one of them alone";

const RecordedLine& line_of(const RecordedRank& rank, Sends sends)
{
  return sends == Sends::taken ? rank.with_sends : rank.alone;
}

bool is_send(const RecordedExchange& exchange)
{
  return exchange.from >= 0;
}

bool told(const RecordedExchange& exchange)
{
  return static_cast<int>(exchange.members.size()) == exchange.group;
}

// The exchange of one rank: both are indices.
struct Part {
  std::size_t rank;
  std::size_t exchange;
};

// An exchange of all that took part in it.
struct Joined {
  std::vector<Part> parts; // of a send: sender, receiver
  double at = 0;           // when the last of them came to it, by the first rank's clock
};

class Joiner {
public:
  Joiner(const std::vector<RecordedRank>& ranks, Sends sends, int world)
      : ranks_(ranks), sends_(sends), world_(world)
  {
    bool all_told = true;
    bool alike = true;
    for (const RecordedRank& rank : ranks) {
      for (const RecordedExchange& exchange : list(rank))
        all_told = all_told && (is_send(exchange) || told(exchange));
      alike = alike && rank.alone.exchanges.size() == ranks.front().alone.exchanges.size();
    }
    by_members_ = all_told && (sends == Sends::taken || !alike);
  }

  JoinedRanks join()
  {
    match();
    set_clocks();
    for (Joined& joined : joined_)
      for (const Part& part : joined.parts)
        joined.at = std::max(joined.at, of(part).released - clocks_[part.rank]);
    set_order();
    return result();
  }

private:
  using Key = std::tuple<int, int, std::string, std::vector<int>>; // from, to, kind, members

  const std::vector<RecordedExchange>& list(const RecordedRank& rank) const
  {
    return line_of(rank, sends_).exchanges;
  }
  const RecordedExchange& of(const Part& part) const
  {
    return list(ranks_[part.rank])[part.exchange];
  }
  Key key_of(const RecordedExchange& exchange) const
  {
    if (is_send(exchange))
      return {exchange.from, exchange.to, "", {}};
    return by_members_ ? Key{-1, -1, exchange.kind, exchange.members} : Key{-1, -1, "", {}};
  }
  bool takes_part(const RecordedRank& rank, const Key& key) const
  {
    const auto& [from, to, kind, members] = key;
    if (from >= 0)
      return rank.rank == from || rank.rank == to;
    return members.empty() || std::find(members.begin(), members.end(), rank.rank) != members.end();
  }

  void match()
  {
    std::map<Key, std::map<std::size_t, std::vector<Part>>> seen;
    for (std::size_t r = 0; r < ranks_.size(); ++r)
      for (std::size_t e = 0; e < list(ranks_[r]).size(); ++e)
        seen[key_of(list(ranks_[r])[e])][r].push_back({r, e});
    of_rank_.resize(ranks_.size());
    for (std::size_t r = 0; r < ranks_.size(); ++r)
      of_rank_[r].resize(list(ranks_[r]).size());
    for (auto& [key, of_ranks] : seen)
      match(key, of_ranks);
  }

  void match(const Key& key, std::map<std::size_t, std::vector<Part>>& of_ranks)
  {
    const std::size_t first = of_ranks.begin()->first;
    const std::size_t count = of_ranks.begin()->second.size();
    const std::size_t begin = joined_.size();
    joined_.resize(begin + count);
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      if (!takes_part(ranks_[r], key))
        continue;
      const std::vector<Part>& parts = of_ranks[r];
      if (parts.size() != count)
        fail_at_count(ranks_[r], parts.size(), ranks_[first], count, key);
      for (std::size_t i = 0; i < count; ++i) {
        check_same(i, parts[i], of_ranks[first][i]);
        joined_[begin + i].parts.push_back(parts[i]);
        of_rank_[r][parts[i].exchange] = begin + i;
      }
    }
    for (std::size_t i = begin; i < joined_.size(); ++i) {
      auto& parts = joined_[i].parts;
      if (is_send(of(parts[0])) && ranks_[parts[0].rank].rank != of(parts[0]).from)
        std::swap(parts[0], parts[1]);
    }
  }

  [[noreturn]] static void fail_at_count(const RecordedRank& rank, std::size_t count,
                                         const RecordedRank& other, std::size_t others,
                                         const Key& key)
  {
    const auto& [from, to, kind, members] = key;
    const std::string what =
        from >= 0 ? fmt::format("sends from rank {} to rank {}", from, to) : "exchanges";
    throw ConfigError(rank.file, "",
                      fmt::format("holds {} {} in {}, {} holds {} in {}", count, what, rank.step,
                                  other.file, others, other.step),
                      kHint);
  }

  void check_same(std::size_t place, const Part& part, const Part& first) const
  {
    const RecordedExchange& a = of(part);
    const RecordedExchange& b = of(first);
    const bool sums = a.kind == "all-reduce" && b.kind == a.kind; // of as much on each rank
    const bool sizes = is_send(a) || sums;
    if ((sizes && a.bytes != b.bytes) ||
        (!is_send(a) && (a.kind != b.kind || a.group != b.group))) {
      const auto text = [&](const RecordedExchange& it) {
        return is_send(it)
                   ? fmt::format("{:.0f} bytes from rank {} to rank {}", it.bytes, it.from, it.to)
               : sums ? fmt::format("{} of {:.0f} bytes on {} ranks", it.kind, it.bytes, it.group)
                      : fmt::format("{} of {} ranks", it.kind, it.group);
      };
      throw ConfigError(ranks_[part.rank].file, "",
                        fmt::format("has {} as exchange {}, {} has {}", text(a), place,
                                    ranks_[first.rank].file, text(b)),
                        kHint);
    }
  }

  // From one rank to those that exchanged something with it: an exchange ends for all at once. A
  // collective that tells its ranks ends so for these alone.
  void set_clocks()
  {
    clocks_.assign(ranks_.size(), 0);
    std::vector<bool> known(ranks_.size(), false);
    std::queue<std::size_t> next;
    for (std::size_t first = 0; first < ranks_.size(); ++first) {
      if (!known[first])
        next.push(first);
      known[first] = true;
      for (; !next.empty(); next.pop())
        for (std::size_t r = 0; r < ranks_.size(); ++r)
          if (auto ends = known[r] ? std::vector<double>() : differences(r, next.front());
              !ends.empty()) {
            const auto middle = ends.begin() + static_cast<std::ptrdiff_t>(ends.size() / 2);
            std::nth_element(ends.begin(), middle, ends.end());
            clocks_[r] = clocks_[next.front()] + *middle;
            known[r] = true;
            next.push(r);
          }
    }
  }

  std::vector<double> differences(std::size_t rank, std::size_t from) const
  {
    std::vector<double> ends;
    for (const Joined& joined : joined_) {
      const RecordedExchange* a = nullptr;
      const RecordedExchange* b = nullptr;
      for (const Part& part : joined.parts) {
        a = part.rank == rank ? &of(part) : a;
        b = part.rank == from ? &of(part) : b;
      }
      if (a != nullptr && b != nullptr &&
          (is_send(*a) || !told(*a) || !told(*b) || a->members == b->members))
        ends.push_back(a->finish - b->finish);
    }
    return ends;
  }

  // Places of the exchanges that held the stream of a send until it could begin.
  std::vector<int> behind(const Part& send, const std::vector<int>& place) const
  {
    const auto& exchanges = list(ranks_[send.rank]);
    const RecordedExchange& it = of(send);
    const auto held = [&](const RecordedExchange& other) {
      return other.stream == it.stream && other.start < it.start &&
             other.finish <= it.start + kTimesAgree;
    };
    double last = -1e300; // start of the one before, or of the kernel with several of them
    for (const RecordedExchange& other : exchanges)
      if (held(other))
        last = std::max(last, other.start);
    std::vector<int> places;
    for (std::size_t o = 0; o < exchanges.size(); ++o)
      if (held(exchanges[o]) && exchanges[o].start == last)
        places.push_back(place[of_rank_[send.rank][o]]);
    std::sort(places.begin(), places.end());
    return places;
  }

  // By time, but collectives of a rank in their order.
  void set_order()
  {
    std::vector<std::vector<std::size_t>> after(joined_.size());
    std::vector<std::size_t> waits(joined_.size(), 0);
    const auto edge = [&](std::size_t first, std::size_t second) {
      after[first].push_back(second);
      ++waits[second];
    };
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      const auto& exchanges = list(ranks_[r]);
      std::size_t last = joined_.size();
      for (std::size_t e = 0; e < exchanges.size(); ++e)
        if (!is_send(exchanges[e])) {
          if (last < joined_.size())
            edge(last, of_rank_[r][e]);
          last = of_rank_[r][e];
        }
    }
    using Dated = std::pair<double, std::size_t>;
    std::priority_queue<Dated, std::vector<Dated>, std::greater<>> ready;
    for (std::size_t j = 0; j < joined_.size(); ++j)
      if (waits[j] == 0)
        ready.emplace(joined_[j].at, j);
    while (!ready.empty()) {
      const std::size_t j = ready.top().second;
      ready.pop();
      order_.push_back(j);
      for (const std::size_t next : after[j])
        if (--waits[next] == 0)
          ready.emplace(joined_[next].at, next);
    }
    if (order_.size() < joined_.size())
      throw ConfigError(ranks_.front().file, "",
                        "and the other recordings hold exchanges in different orders", kHint);
  }

  MeasuredExchange measured(const Joined& joined, const std::vector<int>& place) const
  {
    RecordedExchange mean = of(joined.parts.front());
    mean.waited = 0;
    mean.bytes = 0;
    for (const Part& part : joined.parts)
      mean.bytes += of(part).bytes / static_cast<double>(joined.parts.size());
    if (!is_send(mean)) {
      MeasuredExchange exchange = measured_exchanges({mean}, world_).front();
      if (joined.parts.size() < ranks_.size())
        for (const Part& part : joined.parts)
          exchange.lines.push_back(static_cast<int>(part.rank));
      return exchange;
    }
    const Part& sender = joined.parts[0];
    const Part& receiver = joined.parts[1];
    MeasuredExchange send{.kind = "send", .size = Bytes(mean.bytes)};
    send.lines = {static_cast<int>(sender.rank), static_cast<int>(receiver.rank)};
    send.behind = behind(sender, place);
    send.receives_behind = behind(receiver, place);
    send.buffered = of(sender).finish - clocks_[sender.rank] + kTimesAgree <
                    of(receiver).start - clocks_[receiver.rank];
    return send;
  }

  JoinedRanks result() const
  {
    JoinedRanks all;
    std::vector<int> place(joined_.size());
    for (std::size_t i = 0; i < order_.size(); ++i)
      place[order_[i]] = static_cast<int>(i);
    for (const std::size_t j : order_)
      all.exchanges.push_back(measured(joined_[j], place));
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      MeasuredLine line = line_of(ranks_[r], sends_).line;
      for (MeasuredPiece& piece : line.pieces)
        for (auto* names : {&piece.after, &piece.starts}) {
          for (int& name : *names)
            name = place[of_rank_[r][static_cast<std::size_t>(name)]];
          std::sort(names->begin(), names->end());
        }
      all.lines.push_back(std::move(line));
    }
    all.clocks = clocks_;
    all.notes = line_of(ranks_.front(), sends_).notes;
    return all;
  }

  const std::vector<RecordedRank>& ranks_;
  Sends sends_;
  int world_;
  bool by_members_ = false;
  std::vector<Joined> joined_;
  std::vector<std::vector<std::size_t>> of_rank_; // of each rank's exchanges: into joined_
  std::vector<double> clocks_;
  std::vector<std::size_t> order_; // of joined_
};

// Why sends cannot be taken; "" where they can.
std::string problem_with_sends(const std::vector<RecordedRank>& ranks, int world)
{
  const auto count = static_cast<int>(ranks.size());
  for (int r = 0; r < count; ++r) {
    const RecordedRank& rank = ranks[static_cast<std::size_t>(r)];
    for (const RecordedExchange& exchange : rank.with_sends.exchanges) {
      const int peer = exchange.from == rank.rank ? exchange.to : exchange.from;
      if (is_send(exchange) && std::none_of(ranks.begin(), ranks.end(),
                                            [&](const auto& other) { return other.rank == peer; }))
        return fmt::format("the recording of rank {}, with which rank {} exchanges, is not here",
                           peer, rank.rank);
    }
    if (world % count != 0 || rank.rank != r * (world / count))
      return fmt::format("of {} ranks the {} recorded ones are not at equal distances from 0 on",
                         world, count);
  }
  return "";
}

} // namespace

JoinedRanks join_ranks(const std::vector<RecordedRank>& ranks, int world)
{
  if (std::none_of(ranks.begin(), ranks.end(), [](const auto& rank) { return rank.sends; }))
    return Joiner(ranks, Sends::left_out, world).join();
  std::string problem = problem_with_sends(ranks, world);
  if (problem.empty()) {
    JoinedRanks joined = Joiner(ranks, Sends::taken, world).join();
    MeasuredSpec spec;
    spec.exchanges = joined.exchanges;
    spec.lines = joined.lines;
    if (!waits_in_circle(spec))
      return joined;
    problem = "by their times they wait for one another in a circle";
  }
  JoinedRanks joined = Joiner(ranks, Sends::left_out, world).join();
  joined.notes.push_back("sends between ranks are not simulated: " + problem);
  return joined;
}

} // namespace foretrain::models
