// The CPU twin's training run: data-parallel SGD with bucketed ring all-reduce.
#include "realrun/cpu/train.hpp"

#include "realrun/common/buckets.hpp"
#include "realrun/common/clock.hpp"
#include "realrun/common/input.hpp"
#include "realrun/common/machine.hpp"
#include "realrun/common/training_run.hpp"
#include "realrun/cpu/network.hpp"
#include "realrun/cpu/reducer.hpp"
#include "sim/base/error.hpp"

#include <Eigen/Core>

#include <cmath>
#include <memory>
#include <optional>
#include <stdexcept>

#ifdef __SSE__
#include <xmmintrin.h>
#endif

namespace foretrain::realrun {

namespace {

constexpr double kGradientTolerance = 1e-4; // fp32 sums in another order

void use_threads(int threads)
{
  Eigen::setNbThreads(threads);
  if (Eigen::nbThreads() != threads)
    throw UsageError("this build has no OpenMP: --threads must be 1");
}

/// Numbers too small for fp32 count as zero, as on a GPU; else a trained net would slow down.
void flush_tiny_numbers()
{
#ifdef __SSE__
  constexpr unsigned flush_and_treat_as_zero = 0x8040;
  _mm_setcsr(_mm_getcsr() | flush_and_treat_as_zero);
#endif
}

class Trainer {
public:
  Trainer(const CommandLine& line, const Program& program, World& world)
      : settings_(line.settings), program_(program), world_(world), ring_(world),
        buckets_(make_buckets(program, settings_.bucket.value())), shape_{settings_.batch,
                                                                          program.image,
                                                                          program.channels,
                                                                          program.classes}
  {
    Slots slots;
    for (std::size_t i = 0; i < slots_needed(settings_); ++i)
      slots.push_back(memory_.emplace_back(shape_.batch_size()).data());
    input_ = make_input(settings_, shape_, slots);
    if (world.size() > 1)
      reducer_.emplace(ring_);
  }

  void repeat(Recorder& recorder)
  {
    network_ = std::make_unique<Network<float>>(program_, settings_.batch, settings_.seed);
    run_repetition(world_, settings_, recorder, [this](Recorder* into) {
      const double seconds = step(into);
      return StepDone{seconds, loss_};
    });
  }

  /// Gradients of this rank's share, reduced over all ranks.
  std::span<const float> reduced_gradients()
  {
    network_ = std::make_unique<Network<float>>(program_, settings_.batch, settings_.seed);
    std::vector<float> pixels(shape_.batch_size());
    std::vector<int> labels;
    fill_batch(shape_, settings_.seed, 0, world_.rank(), world_.size(), pixels.data(), labels);
    network_->forward(pixels.data(), labels.data(), divisor());
    backward();
    reduce();
    return network_->gradients();
  }

private:
  double divisor() const { return static_cast<double>(settings_.batch) * world_.size(); }

  void backward()
  {
    std::size_t next = 0;
    const bool overlap = reducer_ && settings_.overlap == "on";
    network_->backward([&](std::size_t op) {
      if (overlap && next < buckets_.size() && buckets_[next].ready_op == op)
        submit(buckets_[next++]);
    });
  }

  std::vector<ReduceTimes> reduce()
  {
    if (!reducer_)
      return {};
    if (settings_.overlap == "off")
      for (const Bucket& bucket : buckets_)
        submit(bucket);
    return reducer_->wait();
  }

  void submit(const Bucket& bucket)
  {
    reducer_->submit(network_->gradients().subspan(bucket.offset, bucket.count));
  }

  /// One step; returns its seconds. `recorder` may be null (warm-up).
  double step(Recorder* recorder)
  {
    const double start = now_s();
    const Batch batch = input_->next();
    const double fed = now_s();
    loss_ = network_->forward(batch.pixels, batch.labels, divisor()) / settings_.batch;
    if (!std::isfinite(loss_))
      throw std::runtime_error("the loss is no longer finite: try a smaller --learning-rate");
    const double forward = now_s();
    backward();
    const double backward_end = now_s();
    const auto reduced = reduce();
    const double reduce_end = now_s();
    network_->update(settings_.learning_rate, settings_.momentum);
    input_->release();
    const double end = now_s();
    if (recorder != nullptr) {
      Recorder& r = *recorder;
      r.add("step_time", "s", end - start);
      r.add("input_wait", "s", fed - start);
      r.add("forward", "s", forward - fed);
      r.add("backward", "s", backward_end - forward);
      r.add("exposed_communication", "s", reduce_end - backward_end);
      r.add("optimizer", "s", end - reduce_end);
      r.add("loss", "1", loss_);
      record_details(r, batch, reduced, start);
    }
    return end - start;
  }

  void record_details(Recorder& r, const Batch& batch, const std::vector<ReduceTimes>& reduced,
                      double start) const
  {
    if (settings_.input != "synthetic") {
      r.add("input_read", "s", batch.read_s);
      r.add("input_decode", "s", batch.decode_s);
      r.add("input_bytes", "byte", batch.bytes);
    }
    if (!world_.is_root())
      return;
    for (std::size_t i = 0; i < program_.ops.size(); ++i) {
      const Op& op = program_.ops[i];
      const Json layer = {{"layer", op.name}, {"kind", name_of(op.kind)}};
      r.add("layer_forward", "s", network_->forward_s()[i], layer);
      r.add("layer_backward", "s", network_->backward_s()[i], layer);
    }
    for (std::size_t i = 0; i < reduced.size(); ++i) {
      const Json bucket = {{"bucket", i}, {"bytes", buckets_[i].count * sizeof(float)}};
      r.add("bucket_ready_at", "s", reduced[i].ready - start, bucket);
      r.add("bucket_waited", "s", reduced[i].start - reduced[i].ready, bucket);
      r.add("bucket_reduce", "s", reduced[i].end - reduced[i].start, bucket);
    }
  }

  const Settings& settings_;
  const Program& program_;
  World& world_;
  Ring ring_;
  std::vector<Bucket> buckets_;
  InputShape shape_;
  double loss_ = 0.0; // of the last step, mean over this rank's samples
  std::vector<std::vector<float>> memory_;
  std::unique_ptr<Network<float>> network_;
  std::unique_ptr<Input> input_;
  std::optional<Reducer> reducer_; // last: its thread uses ring_ and network_
};

/// Gradients of one rank on the batch of all ranks together.
std::vector<float> gradients_alone(const Settings& settings, const Program& program, int world)
{
  const InputShape whole{settings.batch * world, program.image, program.channels, program.classes};
  Network<float> network(program, whole.batch, settings.seed);
  std::vector<float> pixels(whole.batch_size());
  std::vector<int> labels;
  fill_batch(whole, settings.seed, 0, 0, 1, pixels.data(), labels);
  network.forward(pixels.data(), labels.data(), whole.batch);
  network.backward([](std::size_t) {});
  return {network.gradients().begin(), network.gradients().end()};
}

} // namespace

int train_on_cpu(const CommandLine& line)
{
  const double started = now_s();
  const Model model = load_model(only_argument(line, "a model file"), line.model_overrides);
  if (model.precision != "fp32")
    throw UsageError("the CPU twin computes in fp32 only, the model says " + model.precision +
                     " (pass --set precision=fp32)");
  const Program program = build_program(model);
  use_threads(line.settings.threads);
  flush_tiny_numbers();
  Record record = begin_training_record(line, model, program, "realrun-cpu");
  World world(meeting_of(line.settings));
  Trainer trainer(line, program, world);
  if (line.check_gradients)
    return compare_gradients(world, trainer.reduced_gradients(),
                             gradients_alone(line.settings, program, world.size()),
                             kGradientTolerance);
  wait_until(line.settings.start_at);
  Recorder recorder;
  for (int i = 0; i < line.settings.repetitions; ++i)
    trainer.repeat(recorder);
  finish_training_record(world, line, std::move(record), recorder, started);
  return 0;
}

} // namespace foretrain::realrun
