// A storage system brought to life beside a machine: its resources, and what reading from it and
// writing to it take.
#pragma once

#include "platforms/machine.hpp"
#include "platforms/storage.hpp"

#include <string>

namespace foretrain::platforms {

/// How a job reads.
struct ReadPattern {
  Bytes file;               // sample in a file of its own, or a record file read in order
  bool each_opened = false; // every file is one sample: opened, read whole, closed
  double streams = 1;       // files read at the same time by one rank
  double all_streams = 1;   // and by all ranks that read from the same disks
  double server_hits = 0;   // share of reads that a server answers from memory
};

/// What reading takes on one node.
struct ReadCost {
  sim::PathPtr path;    // of one byte that is not in the node's page cache
  std::string cap_name; // what stands behind the path's cap
  Seconds wait_to_open; // that a thread is blocked for when it opens a file
  Seconds wait_to_read; // and when it reads the file itself, unless the page cache has it
  Seconds open_cpu;     // core time to open and close one file
  double priority = 1;  // beside other reads: bytes that are asked for at a time, of kUsuallyAsked
};

/// How nodes reach file servers.
struct StorageWay {
  Transport transport;
  Network network; // none (index -1) where none leads there
};

/// The first of the storage's transports that the platform can run, else TCP.
StorageWay way_to_servers(const Storage& storage, const PlatformSpec& spec);

class StorageSystem {
public:
  /// Creates the resources. Throws ConfigError at `at` when the platform cannot reach the servers
  /// or a node has no disk.
  StorageSystem(sim::Engine& engine, const Machine& machine, Storage storage, const Value& at);

  const Storage& storage() const { return storage_; }
  /// Memory of the servers that caches files.
  Bytes server_cache() const;
  /// What a job reads with, whose view of the machine is `machine` (its stack, its cores).
  ReadCost read(const Machine& machine, int node, const ReadPattern& pattern) const;
  /// Of one byte that a thread writes to a large file, in order: the thread copies it into the page
  /// cache, from which it goes on while the next one is copied, as fast as the media take it.
  sim::PathPtr write(const Machine& machine, int node) const;

private:
  void build_local(sim::Engine& engine, const Value& at);
  void build_servers(sim::Engine& engine, const Machine& machine, const Value& at);
  ReadCost read_local(const Machine& machine, int node, const ReadPattern& pattern) const;
  ReadCost read_servers(const Machine& machine, int node, const ReadPattern& pattern) const;
  double seeks_per_byte(const ReadPattern& pattern) const;
  double seeks_of_request(const ReadPattern& pattern) const;
  void add_written_local(const Machine& machine, int node, std::vector<sim::Use>& uses) const;
  void add_written_servers(const Machine& machine, int node, std::vector<sim::Use>& uses) const;
  void add_client_work(const Machine& machine, int node, const Stack& stack,
                       std::vector<sim::Use>& uses) const;

  Storage storage_;
  const Machine* machine_; // for the node's parts
  Disk disk_;              // local
  int first_disk_ = -1;    // local: of node 0, one per node
  StorageWay way_;
  int media_ = -1, operations_ = -1, cpu_ = -1;
  int link_ = -1, link_in_ = -1, gateway_ = -1, gateway_in_ = -1;
  int first_mount_ = -1; // connections of each client node, in cores they can keep busy
};

} // namespace foretrain::platforms
