#include "experiments/run/simulate/input_stages.hpp"

#include <algorithm>
#include <utility>

namespace foretrain::experiments {

namespace {

constexpr int kLateEpoch = 50; // by then the caches hold what they will
constexpr int kBatchesReadAhead = 2;

} // namespace

CacheHits cache_hits(const ResolvedInput& input, int nodes, Bytes page_cache, Bytes server_cache,
                     bool warm)
{
  CacheHits hits;
  if (!warm)
    return hits;
  const Bytes whole = input.dataset.samples * input.stored.size;
  const Bytes part = whole / nodes;
  hits.node = models::hit_ratio(part, whole, page_cache, kLateEpoch, input.spec.fixed_parts);
  hits.server = models::hit_ratio(whole, whole, server_cache, kLateEpoch, true);
  return hits;
}

std::vector<models::InputStage> input_stages(const ResolvedJob& job,
                                             const platforms::Machine& machine,
                                             const platforms::StorageSystem& storage,
                                             platforms::GpuPlace place, const InputShare& share)
{
  const ResolvedInput& input = job.input;
  if (input.synthetic)
    return {};
  const double batch = job.spec.batch_per_gpu;
  const double bytes = input.stored.size.value();
  const double missed = 1 - share.hits.node;
  const double overhead = machine.stack().host.cpu_overhead;

  platforms::ReadPattern pattern;
  pattern.each_opened = input.stored.own_file;
  pattern.file = pattern.each_opened ? input.stored.size : Bytes(1e9);
  pattern.streams = pattern.each_opened ? share.threads : input.settings.read_streams;
  pattern.all_streams =
      pattern.streams *
      static_cast<double>(storage.storage().local() ? share.gpus_on_node : job.spec.gpus);
  pattern.server_hits = share.hits.server;
  const platforms::ReadCost cost = storage.read(machine, place.node, pattern);

  models::InputStage read;
  read.name = "read";
  read.cap_name = cost.cap_name;
  read.path = cost.path;
  read.amount = batch * bytes * missed;
  read.priority = cost.priority;
  read.room = kBatchesReadAhead;

  // Core time of a sample: decoding, the copy out of the page cache, and opening its file.
  const platforms::Cpu& cpu = machine.spec().cpu;
  double core_seconds =
      overhead * (input.stored.cycles / cpu.clock.value() + bytes / cpu.copy_rate.value());
  double thread_seconds = core_seconds;
  if (pattern.each_opened) {
    core_seconds += cost.open_cpu.value();
    thread_seconds = core_seconds + cost.wait_to_open.value() + missed * cost.wait_to_read.value();
  }
  models::InputStage decode;
  decode.name = "decode";
  decode.cap_name =
      pattern.each_opened ? "threads that open, read and decode files" : "decoding threads";
  decode.threads = true;
  const int socket = machine.graph().socket_of(machine.graph().gpu(place.local));
  const double touched = 2 * bytes + 2 * input.copied_sample.value(); // each written and read
  const double memory_rate = touched / core_seconds; // bytes that a thread asks for in a second
  // A thread that has no file yet sleeps: it holds its core for those handed out alone.
  sim::Held work = machine.thread_work(place.node, 1.0, share.threads);
  if (pattern.each_opened && share.file_thread.value >= 0)
    work.uses.push_back(
        {share.file_thread.value, overhead * input.settings.file_time.value() / core_seconds});
  decode.path = sim::make_path({{machine.dram(place.node, socket).value, memory_rate}}, {},
                               share.threads * core_seconds / thread_seconds, std::move(work));
  decode.amount = batch * core_seconds;
  // Assumed: a memory controller serves those who wait in turn, a thread as much as a copy engine.
  decode.priority = share.threads / memory_rate;
  decode.room = input.settings.prefetch_batches;

  models::InputStage copy;
  copy.name = "copy";
  copy.cap_name = "copy from pageable memory";
  copy.path = machine.host_to_device(place, input.settings.pinned);
  copy.amount = batch * input.copied_sample.value();
  copy.room = input.settings.copy_ahead ? 1 : 0;
  return {read, decode, copy};
}

} // namespace foretrain::experiments
