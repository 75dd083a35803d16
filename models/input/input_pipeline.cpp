#include "models/input/input_pipeline.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace foretrain::models {

namespace {

constexpr double kSteady = 0.002; // of a step: slower or faster than the GPU by less is neither

} // namespace

InputPipeline::InputPipeline(sim::Engine& engine, std::vector<InputStage> stages)
    : engine_(engine), stages_(std::move(stages)), states_(stages_.size())
{
  if (stages_.empty())
    throw std::logic_error("an input pipeline without stages");
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    const InputStage& stage = stages_[i];
    uses_.push_back({&stage, {}, {}});
    if (stage.path)
      engine_.declare(stage.path);
    if (stage.room > 0)
      ahead_ = i;
  }
}

void InputPipeline::start()
{
  running_ = true;
  advance();
}

void InputPipeline::fetch(std::function<void()> ready)
{
  if (waiting_)
    throw std::logic_error("a batch is asked for while one is still being waited for");
  waiting_ = std::move(ready);
  if (++watched_.fetches > 1) {
    watched_.full = full();
    // The batch that follows an empty queue is late for its way through the stages alone.
    watched_.starved = watched_.fetches > 2 && states_[ahead_].ready == 0;
  }
  advance();
}

void InputPipeline::watch()
{
  watched_ = {};
}

bool InputPipeline::full() const
{
  for (std::size_t stage = 0; stage <= ahead_; ++stage)
    if (states_[stage].busy || states_[stage].ready < stages_[stage].room)
      return false;
  return true;
}

int InputPipeline::trend(Seconds step) const
{
  if (steady())
    return 0;
  if (watched_.made < 2)
    return -1;
  const double slower = (watched_.last_made - watched_.first_made) / (watched_.made - 1) / step - 1;
  return std::abs(slower) < kSteady ? 0 : slower > 0 ? -1 : 1;
}

// What a stage is at comes on top of a full queue: else the last part of a batch would take as
// many steps as all others.
void InputPipeline::follow(int trend)
{
  for (std::size_t stage = 0; trend != 0 && stage <= ahead_; ++stage)
    states_[stage].ready = trend < 0 ? 0 : stages_[stage].room;
  if (trend != 0 && ahead_ + 1 == stages_.size())
    copies_.assign(static_cast<std::size_t>(states_[ahead_].ready), {engine_.now(), engine_.now()});
}

void InputPipeline::clear()
{
  for (StageUse& use : uses_) {
    use.busy = Seconds(0);
    use.limits.clear();
  }
}

bool InputPipeline::may_start(std::size_t stage) const
{
  const State& state = states_[stage];
  if (!running_ || state.busy || (stage > 0 && states_[stage - 1].ready == 0))
    return false;
  if (stages_[stage].room == 0)
    return stage + 1 == stages_.size() && waiting_ != nullptr && state.ready == 0;
  return state.ready < stages_[stage].room;
}

// Starts whatever can start, the last stage first, so that a freed place is filled in one pass.
void InputPipeline::advance()
{
  if (advancing_)
    return;
  advancing_ = true;
  for (bool moved = true; moved;) {
    moved = false;
    if (waiting_ && states_.back().ready > 0) {
      --states_.back().ready;
      handed_copy_ = copies_.front();
      copies_.erase(copies_.begin());
      // The consumer goes on when this pass is over: it may ask for the next batch at once.
      engine_.after(Seconds(0), std::exchange(waiting_, nullptr));
      moved = true;
    }
    for (std::size_t stage = stages_.size(); stage-- > 0;)
      if (may_start(stage)) {
        begin(stage);
        moved = true;
      }
  }
  advancing_ = false;
}

void InputPipeline::begin(std::size_t stage)
{
  if (stage > 0)
    --states_[stage - 1].ready;
  states_[stage].busy = true;
  states_[stage].started = engine_.now();
  const InputStage& what = stages_[stage];
  if (what.amount <= 0) {
    end(stage, nullptr);
    return;
  }
  engine_.start({what.path, what.amount, what.priority, what.name},
                [this, stage](const sim::FlowRecord& record) { end(stage, &record); });
}

void InputPipeline::end(std::size_t stage, const sim::FlowRecord* record)
{
  State& state = states_[stage];
  state.busy = false;
  ++state.ready;
  uses_[stage].busy += engine_.now() - state.started;
  if (stage + 1 == stages_.size())
    copies_.emplace_back(state.started, engine_.now());
  if (stage == 0) {
    watched_.last_made = engine_.now();
    if (watched_.made++ == 0)
      watched_.first_made = engine_.now();
  }
  if (record != nullptr)
    for (const sim::LimitedBy& limit : *record->limited_by) {
      auto& limits = uses_[stage].limits;
      const auto known = std::find_if(limits.begin(), limits.end(), [&](const sim::LimitedBy& l) {
        return l.resource == limit.resource;
      });
      if (known == limits.end())
        limits.push_back(limit);
      else
        known->time += limit.time;
    }
  advance();
}

} // namespace foretrain::models
