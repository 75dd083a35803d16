// The CUDA training run: data-parallel SGD, NCCL all-reduce on its own stream, overlapped with
// backward bucket by bucket.
#include "realrun/cuda/train.hpp"

#include "realrun/common/buckets.hpp"
#include "realrun/common/clock.hpp"
#include "realrun/common/machine.hpp"
#include "realrun/common/training_run.hpp"
#include "realrun/cuda/communicator.hpp"
#include "realrun/cuda/feeder.hpp"
#include "realrun/cuda/network.hpp"
#include "sim/base/error.hpp"

#include <algorithm>
#include <cmath>

namespace foretrain::realrun {

namespace {

/// Relative difference that sums in another order and the precision's rounding explain.
double gradient_tolerance(const std::string& precision)
{
  return precision == "fp32"   ? 1e-4
         : precision == "tf32" ? 1e-2
         : precision == "fp16" ? 2e-2
                               : 5e-2;
}

void check_precision(const std::string& precision, int device)
{
  if ((precision == "bf16" || precision == "tf32") && compute_capability(device) < 80)
    throw UsageError("this GPU has no " + precision + " (compute capability " +
                     std::to_string(compute_capability(device)) +
                     ", 80 needed); use --set precision=fp16 or fp32");
}

class Trainer {
public:
  Trainer(const CommandLine& line, const Model& model, const Program& program, World& world)
      : settings_(line.settings), model_(model), program_(program), world_(world), comm_(world),
        buckets_(make_buckets(program, settings_.bucket.value())), shape_{settings_.batch,
                                                                          program.image,
                                                                          program.channels,
                                                                          program.classes},
        feeder_(settings_, shape_), losses_(static_cast<std::size_t>(settings_.batch)),
        ready_(buckets_.size()), started_(buckets_.size()), reduced_(buckets_.size())
  {
    feeder_.send(next_);
  }

  void repeat(Recorder& recorder)
  {
    network_ = make_network(program_, model_.precision, settings_.batch, settings_.seed, compute_);
    run_repetition(world_, settings_, recorder, [this](Recorder* into) {
      const double seconds = step(into);
      return StepDone{seconds, loss_};
    });
  }

  /// Gradients of this rank's share, reduced over all ranks.
  std::vector<float> reduced_gradients()
  {
    network_ = make_network(program_, model_.precision, settings_.batch, settings_.seed, compute_);
    std::vector<float> pixels(shape_.batch_size());
    std::vector<int> labels;
    fill_batch(shape_, settings_.seed, 0, world_.rank(), world_.size(), pixels.data(), labels);
    DeviceBuffer<float> device_pixels(pixels.size());
    DeviceBuffer<int> device_labels(labels.size());
    upload(pixels, device_pixels);
    upload(labels, device_labels);
    network_->forward(device_pixels.data(), device_labels.data(), divisor());
    backward();
    reduce();
    comm_.wait(compute_);
    return download_gradients(*network_, program_);
  }

  template <class T>
  static void upload(const std::vector<T>& from, const DeviceBuffer<T>& to)
  {
    REALRUN_CHECK(
        cudaMemcpy(to.data(), from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice));
    REALRUN_CHECK(cudaDeviceSynchronize()); // a copy from pageable memory may return before it ends
  }

  static std::vector<float> download_gradients(const DeviceNetwork& network, const Program& program)
  {
    std::vector<float> gradients(program.parameter_count);
    REALRUN_CHECK(cudaMemcpy(gradients.data(), network.gradients(),
                             gradients.size() * sizeof(float), cudaMemcpyDeviceToHost));
    for (float& g : gradients)
      g /= network.loss_scale();
    return gradients;
  }

private:
  double divisor() const { return static_cast<double>(settings_.batch) * world_.size(); }
  bool reduces() const { return world_.size() > 1; }

  void backward()
  {
    std::size_t next = 0;
    network_->backward([&](std::size_t op) {
      if (reduces() && next < buckets_.size() && buckets_[next].ready_op == op) {
        ready_[next].record(compute_);
        if (settings_.overlap == "on")
          submit(next);
        ++next;
      }
    });
    backward_end_.record(compute_);
  }

  void submit(std::size_t bucket)
  {
    const Range range("all-reduce");
    ready_[bucket].hold(communication_);
    if (settings_.overlap == "off")
      backward_end_.hold(communication_);
    started_[bucket].record(communication_);
    comm_.all_reduce(network_->gradients() + buckets_[bucket].offset, buckets_[bucket].count,
                     communication_);
    reduced_[bucket].record(communication_);
  }

  /// Queues what is left to reduce; the compute stream waits for all of it.
  void reduce()
  {
    if (!reduces())
      return;
    if (settings_.overlap == "off")
      for (std::size_t i = 0; i < buckets_.size(); ++i)
        submit(i);
    reduced_.back().hold(compute_);
  }

  /// One step; returns its seconds. `recorder` may be null (warm-up). The next batch is sent while
  /// the device computes this one.
  double step(Recorder* recorder)
  {
    const double start = now_s();
    const std::size_t here = next_++;
    feeder_.hold(here, compute_);
    begin_.record(compute_);
    network_->forward(feeder_.pixels(here), feeder_.labels(here), divisor());
    forward_end_.record(compute_);
    backward();
    feeder_.consumed(here, compute_);
    reduce();
    reduce_end_.record(compute_);
    network_->update(settings_.learning_rate, settings_.momentum);
    end_.record(compute_);
    REALRUN_CHECK(cudaMemcpyAsync(losses_.data(), network_->losses(),
                                  losses_.size() * sizeof(float), cudaMemcpyDeviceToHost,
                                  compute_.get()));
    const double queued = now_s();
    const Batch batch = feeder_.batch(here); // of this step; the next send uses the other slot
    feeder_.release(here);
    feeder_.send(next_);
    const double sent = now_s();
    comm_.wait(compute_);
    const double end = now_s();
    take_loss();
    if (recorder != nullptr) {
      recorder->add("step_time", "s", end - start);
      recorder->add("launch", "s", queued - start);
      recorder->add("input_wait", "s", batch.wait_s);
      recorder->add("send_next", "s", sent - queued);
      record_device_times(*recorder, here);
      record_input(*recorder, batch);
    }
    return end - start;
  }

  void take_loss()
  {
    double sum = 0.0;
    for (std::size_t i = 0; i < losses_.size(); ++i)
      sum += static_cast<double>(losses_.data()[i]);
    loss_ = sum / settings_.batch;
    if (!std::isfinite(loss_))
      throw std::runtime_error("the loss is no longer finite: try a smaller --learning-rate");
  }

  void record_device_times(Recorder& r, std::size_t step) const
  {
    r.add("forward", "s", seconds_between(begin_, forward_end_));
    r.add("backward", "s", seconds_between(forward_end_, backward_end_));
    r.add("exposed_communication", "s", seconds_between(backward_end_, reduce_end_));
    r.add("optimizer", "s", seconds_between(reduce_end_, end_));
    r.add("device_step", "s", seconds_between(begin_, end_));
    r.add("host_to_device", "s", feeder_.copy_s(step));
    r.add("loss", "1", loss_);
    if (!world_.is_root())
      return;
    for (std::size_t i = 0; i < program_.ops.size(); ++i) {
      const Op& op = program_.ops[i];
      const Json layer = {{"layer", op.name}, {"kind", name_of(op.kind)}};
      r.add("layer_forward", "s", network_->forward_times()[i], layer);
      r.add("layer_backward", "s", network_->backward_times()[program_.ops.size() - 1 - i], layer);
    }
    for (std::size_t i = 0; reduces() && i < buckets_.size(); ++i) {
      const Json bucket = {{"bucket", i}, {"bytes", buckets_[i].count * sizeof(float)}};
      r.add("bucket_ready_at", "s", seconds_between(begin_, ready_[i]), bucket);
      r.add("bucket_waited", "s", seconds_between(ready_[i], started_[i]), bucket);
      r.add("bucket_reduce", "s", seconds_between(started_[i], reduced_[i]), bucket);
    }
  }

  void record_input(Recorder& r, const Batch& batch) const
  {
    if (settings_.input == "synthetic")
      return;
    r.add("input_read", "s", batch.read_s);
    r.add("input_decode", "s", batch.decode_s);
    r.add("input_bytes", "byte", batch.bytes);
  }

  const Settings& settings_;
  const Model& model_;
  const Program& program_;
  World& world_;
  Stream compute_, communication_;
  Communicator comm_;
  std::vector<Bucket> buckets_;
  InputShape shape_;
  Feeder feeder_;
  PinnedBuffer<float> losses_;
  std::vector<Event> ready_, started_, reduced_; // per bucket
  Event begin_, forward_end_, backward_end_, reduce_end_, end_;
  std::unique_ptr<DeviceNetwork> network_;
  std::size_t next_ = 0;
  double loss_ = 0.0;
};

/// Gradients of one rank on the batch of all ranks together.
std::vector<float> gradients_alone(const Settings& settings, const Model& model,
                                   const Program& program, int world)
{
  const InputShape whole{settings.batch * world, program.image, program.channels, program.classes};
  const Stream stream;
  const auto network = make_network(program, model.precision, whole.batch, settings.seed, stream);
  std::vector<float> pixels(whole.batch_size());
  std::vector<int> labels;
  fill_batch(whole, settings.seed, 0, 0, 1, pixels.data(), labels);
  DeviceBuffer<float> device_pixels(pixels.size());
  DeviceBuffer<int> device_labels(labels.size());
  Trainer::upload(pixels, device_pixels);
  Trainer::upload(labels, device_labels);
  network->forward(device_pixels.data(), device_labels.data(), whole.batch);
  network->backward([](std::size_t) {});
  REALRUN_CHECK(cudaStreamSynchronize(stream.get()));
  return Trainer::download_gradients(*network, program);
}

} // namespace

int train_on_cuda(const CommandLine& line)
{
  const double started = now_s();
  const Model model = load_model(only_argument(line, "a model file"), line.model_overrides);
  const Program program = build_program(model);
  const int device = choose_device(line.settings);
  check_precision(model.precision, device);
  Record record = begin_training_record(line, model, program, "realrun-cuda");
  record.machine["gpus"].push_back(describe_device(device));
  World world(meeting_of(line.settings));
  Trainer trainer(line, model, program, world);
  if (line.check_gradients)
    return compare_gradients(world, trainer.reduced_gradients(),
                             gradients_alone(line.settings, model, program, world.size()),
                             gradient_tolerance(model.precision));
  wait_until(line.settings.start_at);
  Recorder recorder;
  for (int i = 0; i < line.settings.repetitions; ++i)
    trainer.repeat(recorder);
  finish_training_record(world, line, std::move(record), recorder, started);
  return 0;
}

} // namespace foretrain::realrun
