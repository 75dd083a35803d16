// The settings of a run: one description, read from the command line (--batch 32), from a settings
// file (--settings FILE) or both, the command line winning. Shared by the CPU twin and CUDA.
#pragma once

#include "realrun/common/world.hpp"
#include "sim/base/schema.hpp"

#include <string>
#include <vector>

namespace foretrain::realrun {

struct Settings {
  std::string name = "unnamed";
  std::string out;
  int rank = -1;
  int world = -1;
  std::string root = "127.0.0.1:29400";
  std::string meet;
  Seconds timeout{30.0};
  int batch = 32;
  Bytes bucket{1048576.0};
  std::string overlap = "on";
  std::string input = "synthetic";
  std::string data;
  std::string cold = "off";
  int decode_threads = 1;
  int prefetch = 2;
  int threads = 1;
  int repetitions = 3;
  int warmup = 3;
  int steps = 0;
  Seconds seconds{1.0};
  double learning_rate = 0.01;
  double momentum = 0.9;
  int seed = 1;
  double start_at = 0.0;
  int device = -1;
};

template <class V>
void describe(V& v, Settings& s)
{
  v.optional("name", s.name, "name of the record");
  v.optional("out", s.out, "file the record is written to by rank 0 (default: stdout)");
  v.optional("rank", s.rank,
             "this process's rank; else RANK, OMPI_COMM_WORLD_RANK, PMI_RANK or "
             "SLURM_PROCID",
             between(-1, 65535));
  v.optional("world", s.world,
             "number of ranks; else WORLD_SIZE, OMPI_COMM_WORLD_SIZE, PMI_SIZE or "
             "SLURM_NTASKS",
             between(-1, 65536));
  v.optional("root", s.root, "HOST:PORT where rank 0 listens");
  v.optional("meet", s.meet, "meet through this file instead: rank 0 writes its address to it");
  v.optional("timeout", s.timeout, "give up on a silent peer after this time", positive());
  v.optional("batch", s.batch, "samples per rank and step", between(1, 1048576));
  v.optional("bucket", s.bucket, "gradients are reduced in pieces of at least this size",
             non_negative());
  v.optional("overlap", s.overlap, "reduce during backward, or after it", one_of({"on", "off"}));
  v.optional("input", s.input, "where samples come from", one_of({"synthetic", "raw", "jpeg"}));
  v.optional("data", s.data, "folder made by make-data (input raw or jpeg)");
  v.optional("cold", s.cold, "ask the kernel to forget each file after reading it",
             one_of({"on", "off"}));
  v.optional("decode_threads", s.decode_threads, "threads that read and decode", between(1, 256));
  v.optional("prefetch", s.prefetch, "batches kept ready", between(1, 64));
  v.optional("threads", s.threads, "threads of each GEMM (CPU twin)", between(1, 1024));
  v.optional("repetitions", s.repetitions, "measured repetitions", between(1, 1000));
  v.optional("warmup", s.warmup, "steps before each repetition that are not counted",
             between(1, 1000));
  v.optional("steps", s.steps, "steps per repetition; 0: as many as fit into 'seconds'",
             between(0, 1000000));
  v.optional("seconds", s.seconds, "target length of a repetition", positive());
  v.optional("learning_rate", s.learning_rate, "SGD step size", between(0, 1000));
  v.optional("momentum", s.momentum, "SGD momentum", between(0, 0.9999));
  v.optional("seed", s.seed, "seed of parameters and samples", at_least(0));
  v.optional("start_at", s.start_at, "wait until this Unix time before measuring (several tenants)",
             at_least(0));
  v.optional("device", s.device, "CUDA device; -1: rank modulo number of devices", at_least(-1));
}

/// A parsed command line: verb, positional arguments, settings.
struct CommandLine {
  std::string verb;
  std::vector<std::string> arguments;
  Settings settings;
  std::vector<std::string> model_overrides; // --set key=value
  Json labels = Json::object();             // --label key=value, copied into the record
  bool check_gradients = false;
  bool help = false;
  std::vector<std::string> words; // the whole line, for the record
};

/// Reads argv and, for rank and world, the environment. Throws UsageError or ConfigError.
CommandLine parse_command_line(int argc, const char* const* argv);

/// The flags as a help text.
std::string settings_help();

/// Settings that a record keeps.
Json to_json(const Settings& settings);

/// Where the ranks of this run meet. Throws UsageError when `root` is not HOST:PORT.
Meeting meeting_of(const Settings& settings);

} // namespace foretrain::realrun
