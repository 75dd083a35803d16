// Where training data lies: a disk in every node, or servers behind the network.
#pragma once

#include "platforms/parts.hpp"

#include <optional>
#include <string>
#include <vector>

namespace foretrain::platforms {

inline constexpr PresetKind kStorageKind{"storage", "platforms/data/storage"};

/// The far end of a network file system, all its servers together unless said otherwise.
struct StorageServers {
  int count = 1;
  Value disk;                // type of the data disks; absent: `rate` and `operations`
  int disks = 0;             // that hold data, of one server: parity not counted
  BytesPerSecond rate;       // of the media, when disks are not listed
  BytesPerSecond write_rate; // likewise, in writing; zero: `rate`
  PerSecond operations;      // likewise; zero: no limit
  BytesPerSecond link;       // of one front-end port, line rate
  int links = 1;             // ports of one server
  Value cpu;                 // of one server; absent: never the limit
  int sockets = 1;           // of one server
  Seconds cpu_per_operation; // core time for a read request, beyond the transport's
  Seconds cpu_per_metadata;  // core time for a lookup, an open or a close
  Bytes memory{};            // of one server that caches files
  Bytes media_read{};        // that a server reads from its disks at once, ahead of need
};

struct Storage {
  std::string name;
  bool cloud = false; // rented with machines: no choice for one's own
  Value disk;         // local: type of disk in every node; absent: the node's own
  int stripes = 1;    // local: so many of them as one (RAID 0)
  std::optional<StorageServers> servers; // absent: local
  std::vector<Value> transports;  // how clients reach them: the first that the platform can run
  int connections = 1;            // of one client node
  BytesPerSecond gateway;         // between the nodes' network and the servers; zero: none
  Bytes request{1024.0 * 1024};   // that a client reads at once, ahead of need
  Seconds latency;                // of a request, beyond transport and disk
  double metadata_operations = 2; // requests to open and close one file
  double metadata_reads = 0.125;  // reads of the media for that: a block holds many inodes
  Seconds open_cpu{20e-6};        // core time of the client to open and close one file
  double core_speed = 1;          // of clients, over that of the cores that transports are told of

  // Read from the above.
  Disk disk_type;
  std::optional<Cpu> server_cpu;
  Value origin;
  bool local() const { return !servers; }
};

/// Reads and checks a storage system. Throws ConfigError.
Storage load_storage(const Value& reference);

template <class V>
void describe(V& v, StorageServers& s)
{
  v.optional("count", s.count, "number of servers", at_least(1));
  v.optional("disk", s.disk, "type of the data disks; else 'rate' says what the media deliver",
             preset("disk"));
  v.optional("disks", s.disks, "disks of one server that hold data, parity not counted",
             at_least(1));
  v.optional("rate", s.rate, "read rate of all media together, when disks are not listed",
             positive());
  v.optional("write_rate", s.write_rate,
             "write rate of all media together, when disks are not listed; default 'rate'",
             positive());
  v.optional("operations", s.operations, "read operations of all media together; default no limit",
             positive());
  v.required("link", s.link, "line rate of one front-end port", positive());
  v.optional("links", s.links, "front-end ports of one server", at_least(1));
  v.optional("cpu", s.cpu, "CPU of one server; default: never the limit", preset("cpu"));
  v.optional("sockets", s.sockets, "CPU sockets of one server", between(1, 8));
  v.optional("cpu_per_operation", s.cpu_per_operation,
             "core time for a read request, beyond the transport's", non_negative());
  v.optional("cpu_per_metadata", s.cpu_per_metadata, "core time for a lookup, an open or a close",
             non_negative());
  v.optional("memory", s.memory, "of one server that caches files; default none", non_negative());
  v.optional("media_read", s.media_read,
             "what a server reads from its disks at once of a large file: read-ahead and merging "
             "make more of clients' requests; default one request",
             non_negative());
}

template <class V>
void describe(V& v, Storage& s)
{
  v.format("foretrain.storage/1");
  v.required("name", s.name, "name of the storage system");
  v.optional("cloud", s.cloud, "rented together with machines: no choice for one's own");
  v.optional("disk", s.disk, "local: type of disk in every node; default the node's first disk",
             preset("disk"));
  v.optional("stripes", s.stripes, "local: disks of this type in every node, as RAID 0",
             between(1, 64));
  v.optional("servers", s.servers, "what serves the files; absent: disks in the nodes");
  v.optional("transports", s.transports,
             "how clients reach the servers, the first that the platform can run; default tcp");
  v.optional("connections", s.connections, "connections of one client node", between(1, 256));
  v.optional("gateway", s.gateway, "between the nodes' network and the servers; default none",
             positive());
  v.optional("request", s.request, "what a client reads at once, ahead of need", positive());
  v.optional("latency", s.latency, "of a request, beyond transport and disk", latency());
  v.optional("metadata_operations", s.metadata_operations, "requests to open and close one file",
             non_negative());
  v.optional("metadata_reads", s.metadata_reads,
             "reads of the media to open one file: a block of 4 KiB holds 8 to 16 inodes",
             non_negative());
  v.optional("open_cpu", s.open_cpu, "core time of the client to open and close one file",
             non_negative());
}

} // namespace foretrain::platforms
