#include "models/plans/v_schedules.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <limits>
#include <optional>
#include <stdexcept>
#include <tuple>

namespace foretrain::models {

namespace {

int piece_of(int stages, int stage, bool back)
{
  return back ? 2 * stages - 1 - stage : stage;
}

// The passes of one stage in their order; micro-batches of a kind follow each other.
class Listed {
public:
  Listed(int stages, int stage) : stages_(stages), stage_(stage) {}

  void forward(bool back) { add(false, back, false); }
  void backward(bool back, bool split = false) { add(true, back, split); }
  /// A forward pass of one piece and a backward one of the other as one.
  void pair(bool forward_back)
  {
    forward(forward_back);
    passes.back().paired = true;
    backward(!forward_back);
  }
  /// Gradients that were put off, behind the last pass.
  void weights(int passes_of = 1) { passes.back().weights += passes_of; }
  std::vector<PipelineSlice> passes;

private:
  void add(bool backward, bool back, bool split)
  {
    PipelineSlice slice;
    slice.backward = backward;
    slice.piece = piece_of(stages_, stage_, back);
    slice.micro_batch = next_.at((backward ? 2U : 0U) + (back ? 1U : 0U))++;
    slice.split = split;
    passes.push_back(slice);
  }

  int stages_, stage_;
  std::array<int, 4> next_{};
};

// The steps of deepseek-ai/DualPipe, dualpipe/dualpipev.py.
std::vector<PipelineSlice> dualpipe_v_order(int stages, int micro_batches, int stage)
{
  const int behind = stages - stage - 1;
  Listed list(stages, stage);
  for (int i = 0; i < 2 * behind; ++i)
    list.forward(false);
  for (int i = 0; i <= stage; ++i) {
    list.forward(false);
    list.forward(true);
  }
  for (int i = 0; i < behind; ++i) {
    list.backward(true, true);
    list.weights();
    list.forward(true);
  }
  for (int i = 0; i < micro_batches - 2 * stages + stage + 1; ++i) {
    if (i == 0 && behind == 0) { // "we don't overlap these two chunks"
      list.forward(false);
      list.backward(true);
    } else {
      list.pair(false);
    }
    list.pair(true);
  }
  for (int i = 0; i < behind; ++i) {
    list.backward(true);
    list.pair(true);
  }
  // The second half puts gradients of weights off; on odd stages one pass earlier.
  const int half = (stage + 1) / 2;
  for (int i = 0; i <= stage; ++i) {
    list.backward(true, i > half || (i == half && stage % 2 == 1));
    list.backward(false, i >= half);
  }
  for (int i = 0; i < behind; ++i) {
    list.weights();
    list.backward(false, true);
  }
  list.weights(stage + 1);
  return list.passes;
}

constexpr double kNotYet = std::numeric_limits<double>::infinity();

struct Stage {
  double now = 0;
  double wakes = 0; // when it looks for work; kNotYet: for none that is known
  std::array<int, 2> forward{}, backward{}; // passes of both pieces that have begun
  std::deque<Seconds> put_off;              // gradients of weights
  int kept = 0;                             // activations of passes, until these are made
  bool done(int micro_batches) const
  {
    return put_off.empty() && backward[0] == micro_batches && backward[1] == micro_batches;
  }
};

// A pass that a stage may begin.
struct Option {
  bool backward = false;
  int micro_batch = 0;
  bool back = false;

  // Backward passes stand first, the oldest of them; then the way back.
  bool before(const Option& other) const
  {
    const auto rank = [](const Option& o) {
      return std::tuple(!o.backward, o.backward ? o.micro_batch : 0, !o.back);
    };
    return rank(*this) < rank(other);
  }
};

// Runs through a step, each stage taking what is ready and stands first.
class ZbV {
public:
  ZbV(const PipelineSetting& setting, bool keeps_room) : s_(setting), keeps_room_(keeps_room)
  {
    stages_.resize(static_cast<std::size_t>(s_.stages));
    for (int stage = 0; stage < s_.stages; ++stage)
      lists_.emplace_back(s_.stages, stage);
    ends_.assign(2 * s_.pieces.size() * static_cast<std::size_t>(s_.micro_batches), kNotYet);
  }

  StageOrders orders()
  {
    for (int at = first(); at >= 0; at = first()) {
      if (of(at).wakes == kNotYet)
        throw std::logic_error("a pipeline schedule waits for itself");
      of(at).now = of(at).wakes;
      step(at);
    }
    StageOrders all;
    for (Listed& list : lists_)
      all.push_back(std::move(list.passes));
    return all;
  }
  double end() const
  {
    double last = 0;
    for (const Stage& stage : stages_)
      last = std::max(last, stage.now);
    return last;
  }

private:
  // The stage that looks for work first, of those that are not done; -1: none.
  int first() const
  {
    int found = -1;
    for (int i = 0; i < s_.stages; ++i)
      if (!of(i).done(s_.micro_batches) && (found < 0 || of(i).wakes < of(found).wakes))
        found = i;
    return found;
  }
  Stage& of(int stage) { return stages_[static_cast<std::size_t>(stage)]; }
  const Stage& of(int stage) const { return stages_[static_cast<std::size_t>(stage)]; }

  double& ended(bool backward, int piece, int micro_batch)
  {
    return ends_[(2 * static_cast<std::size_t>(piece) + (backward ? 1 : 0)) *
                     static_cast<std::size_t>(s_.micro_batches) +
                 static_cast<std::size_t>(micro_batch)];
  }

  // When what a pass needs is there; kNotYet: not known yet.
  double ready(bool backward, int piece, int micro_batch)
  {
    const int last = static_cast<int>(s_.pieces.size()) - 1;
    if (!backward && piece == 0)
      return 0;
    if (backward && piece == last)
      return ended(false, piece, micro_batch);
    const int before = backward ? piece + 1 : piece - 1;
    PipelineSlice sent;
    sent.backward = backward;
    sent.piece = before;
    return ended(backward, before, micro_batch) + transfer_time(s_, sent).value();
  }

  bool has_room(const Stage& stage, bool back) const
  {
    const int most = 2 * s_.stages;
    if (stage.kept >= most)
      return false;
    return back || (keeps_room_ ? stage.kept : stage.forward[0] - stage.forward[1]) < most - 1;
  }

  void step(int at)
  {
    Stage& stage = of(at);
    double wait = kNotYet;
    std::optional<Option> best;
    for (const bool backward : {true, false})
      for (const std::size_t back : {1U, 0U}) {
        const int next = backward ? stage.backward[back] : stage.forward[back];
        if (next >= s_.micro_batches || (backward && next >= stage.forward[back]))
          continue;
        const double date = ready(backward, piece_of(s_.stages, at, back == 1), next);
        if (date > stage.now)
          wait = std::min(wait, date);
        else if (const Option option{backward, next, back == 1};
                 (backward || has_room(stage, back == 1)) && (!best || option.before(*best)))
          best = option;
      }
    if (best) {
      run(at, best->backward, best->back);
    } else if (!stage.put_off.empty()) {
      --stage.kept;
      stage.wakes = stage.now += stage.put_off.front().value();
      stage.put_off.pop_front();
      lists_[static_cast<std::size_t>(at)].weights();
    } else {
      stage.wakes = wait;
    }
  }

  void run(int at, bool backward, bool back)
  {
    Stage& stage = of(at);
    int& next = (backward ? stage.backward : stage.forward)[back ? 1 : 0];
    const int piece = piece_of(s_.stages, at, back);
    const PieceTime& time = s_.pieces[static_cast<std::size_t>(piece)];
    stage.wakes = stage.now += (backward ? time.backward - time.weights : time.forward).value();
    ended(backward, piece, next) = stage.now;
    wake(backward, backward ? piece - 1 : piece + 1, next++);
    if (backward) {
      stage.put_off.push_back(time.weights);
      lists_[static_cast<std::size_t>(at)].backward(back, true);
    } else {
      ++stage.kept;
      lists_[static_cast<std::size_t>(at)].forward(back);
    }
  }

  // Where a pass stands whose input is known to come now.
  void wake(bool backward, int piece, int micro_batch)
  {
    if (piece < 0 || piece >= static_cast<int>(s_.pieces.size()))
      return;
    Stage& stage = of(stage_of_piece(s_.schedule, s_.stages, piece));
    stage.wakes = std::min(stage.wakes, std::max(stage.now, ready(backward, piece, micro_batch)));
  }

  const PipelineSetting& s_;
  bool keeps_room_;
  std::vector<Stage> stages_;
  std::vector<Listed> lists_;
  std::vector<double> ends_;
};

} // namespace

StageOrders dualpipe_v_orders(int stages, int micro_batches)
{
  StageOrders orders;
  for (int stage = 0; stage < stages; ++stage)
    orders.push_back(dualpipe_v_order(stages, micro_batches, stage));
  return orders;
}

StageOrders zb_v_orders(const PipelineSetting& setting)
{
  ZbV with(setting, true);
  ZbV without(setting, false);
  StageOrders room = with.orders();
  StageOrders full = without.orders();
  return with.end() < without.end() ? room : full;
}

} // namespace foretrain::models
