// Columns of flat tables of results: CSV, and the view "jobs" of a result store.
#pragma once

namespace foretrain::experiments {

struct Column {
  const char* name;
  const char* pointer; // below the job's result; a range stands for its median
};

inline constexpr Column kColumnsBeforeParts[] = {
    {"gpus", "/gpus"},
    {"nodes", "/nodes"},
    {"throughput_samples_per_s", "/throughput_samples_per_s"},
    {"throughput_low_samples_per_s", "/throughput_samples_per_s/low"},
    {"throughput_high_samples_per_s", "/throughput_samples_per_s/high"},
    {"step_time_s", "/step_time_s"},
    {"step_time_low_s", "/step_time_s/low"},
    {"step_time_high_s", "/step_time_s/high"},
    {"interval_fraction", "/throughput_samples_per_s/interval"},
    {"speedup", "/speedup"},
    {"efficiency", "/efficiency"},
    {"alone_throughput_samples_per_s", "/alone/throughput_samples_per_s"},
    {"alone_step_time_s", "/alone/step_time_s"},
    {"slowdown", "/slowdown"},
    {"training_total_s", "/training_s/total"},
    {"tokens_per_s", "/tokens_per_s"},
    {"mfu_fraction", "/mfu/full"},
    {"training_days", "/training_days"},
    {"training_cost", "/training_cost"}};

/// Keys of "time_s", each a column "time_KEY_s".
inline constexpr const char* kPartColumns[] = {"compute",        "exposed_communication",
                                               "input_stall",    "host_to_device",
                                               "straggler_wait", "framework"};

inline constexpr Column kColumnsAfterParts[] = {
    {"bottleneck_resource", "/bottleneck/resource"},
    {"bottleneck_utilisation", "/bottleneck/utilisation"},
    {"bottleneck_why", "/bottleneck/why"},
    {"all_reduce", "/all_reduce"}};

} // namespace foretrain::experiments
