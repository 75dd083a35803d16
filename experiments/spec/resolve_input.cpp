#include "experiments/spec/resolve_input.hpp"

namespace foretrain::experiments {

InputSpec read_input(const Value& input)
{
  InputSpec spec;
  if (!input)
    return spec;
  if (input.json().is_object())
    return read_as<InputSpec>(input);
  Reader::read(input, spec.format, {});
  return spec;
}

ResolvedInput resolve_input(const JobSpec& job, const models::Network& network,
                            const models::Framework& framework)
{
  ResolvedInput input;
  input.spec = read_input(job.input);
  input.synthetic = input.spec.format == InputFormat::synthetic;
  if (input.synthetic && !job.epochs && !input.spec.dataset)
    return input;
  input.dataset = models::load_dataset(
      input.spec.dataset
          ? resolve_preset(input.spec.dataset, models::kDatasetKind)
          : resolve_preset(preset_reference(network.dataset, job.model), models::kDatasetKind));
  input.storing = input.spec.format == InputFormat::jpeg  ? models::Storing::jpeg
                  : input.spec.format == InputFormat::raw ? models::Storing::raw
                                                          : models::Storing::tfrecord;
  input.stored = models::stored_sample(input.dataset, input.storing);
  input.settings = framework.input;
  if (input.spec.threads) {
    input.settings.threads_per_node = input.spec.threads;
    input.settings.threads_per_gpu.reset();
  }
  if (input.spec.prefetch_batches)
    input.settings.prefetch_batches = *input.spec.prefetch_batches;
  if (input.spec.pinned)
    input.settings.pinned = *input.spec.pinned;
  const bool half = sixteen_bits(job.precision);
  const double element = network.input.form == models::Shape::Form::ids                     ? 4
                         : input.settings.element == models::SampleElement::uint8           ? 1
                         : input.settings.element == models::SampleElement::compute && half ? 2
                                                                                            : 4;
  const double values = static_cast<double>(network.input.form == models::Shape::Form::ids
                                                ? network.input.positions()
                                                : network.input.elements());
  input.copied_sample = Bytes(element * values);
  return input;
}

} // namespace foretrain::experiments
