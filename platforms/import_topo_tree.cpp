// From the classes of `nvidia-smi topo -m` to sockets and PCIe switches.
//
// PIX joins devices to one switch; PXB joins such groups below an upper switch; PHB and NODE keep
// them on one socket; SYS parts sockets. Where GPUs are joined by NVLink the matrix hides their
// PCIe distance: it follows from the adapters next to them and from NUMA or CPU affinity.
#include "platforms/import_topo.hpp"

#include "sim/base/text.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

namespace foretrain::platforms {

namespace {

using Group = std::vector<std::size_t>;

// Groups of devices joined by classes from pix to `widest`, in the order of their first device.
std::vector<Group> groups(const TopoMatrix& m, TopoClass widest)
{
  const std::size_t n = m.names.size();
  std::vector<std::size_t> root(n);
  std::iota(root.begin(), root.end(), std::size_t{0});
  for (std::size_t a = 0; a < n; ++a)
    for (std::size_t b = 0; b < a; ++b) {
      const TopoClass kind = m.at(a, b).kind;
      if (kind < TopoClass::pix || kind > widest || root[a] == root[b])
        continue;
      const std::size_t from = std::max(root[a], root[b]);
      const std::size_t to = std::min(root[a], root[b]);
      std::replace(root.begin(), root.end(), from, to);
    }
  std::vector<Group> found;
  for (std::size_t first = 0; first < n; ++first) {
    Group group;
    for (std::size_t i = 0; i < n; ++i)
      if (root[i] == first)
        group.push_back(i);
    if (!group.empty())
      found.push_back(std::move(group));
  }
  // A group is a matter of the tree, so no two of its members may be further apart.
  for (const Group& group : found)
    for (const std::size_t a : group)
      for (const std::size_t b : group)
        if (a < b && m.at(a, b).kind > widest)
          m.fail(b, fmt::format("{} and {} are {}, but both are joined by {} or nearer to others "
                                "that put them together",
                                m.names[a], m.names[b], word(m.at(a, b).kind), word(widest)));
  return found;
}

bool holds_gpu(const TopoMatrix& m, const Group& group)
{
  return group.front() < m.gpus;
}

struct Socket {
  std::string label; // NUMA node or CPU list, "" when unknown
  Group members;
};

class Tree {
public:
  Tree(const TopoMatrix& matrix, int numa_per_socket)
      : m_(matrix), numa_per_socket_(numa_per_socket)
  {
    found_.kind = "nvidia-smi topo -m";
    found_.file = matrix.file;
    on_.resize(matrix.names.size());
  }

  FoundNode build()
  {
    sockets();
    switches();
    devices();
    return std::move(found_);
  }

private:
  // NUMA affinity where it is one number, else the CPU list.
  std::string label_of(std::size_t device) const
  {
    const std::string& numa = m_.numa[device];
    const bool number = !numa.empty() && numa.size() < 5 &&
                        numa.find_first_not_of("0123456789") == std::string::npos;
    if (number)
      return fmt::format("numa {:05d}", std::stoi(numa) / numa_per_socket_);
    return m_.cpus[device].empty() ? "" : "cpus " + m_.cpus[device];
  }

  std::string label_of(const Group& group) const
  {
    std::string label;
    for (const std::size_t device : group) {
      const std::string own = label_of(device);
      if (own.starts_with("numa") && label.starts_with("numa") && own != label)
        m_.fail(device, fmt::format("{} is near {}, but their NUMA affinity differs",
                                    m_.names[device], m_.names[group.front()]));
      if (label.empty() || own.starts_with("numa"))
        label = own.empty() ? label : own;
    }
    return label;
  }

  bool apart(const Group& a, const Group& b) const
  {
    for (const std::size_t i : a)
      for (const std::size_t j : b)
        if (m_.at(i, j).kind == TopoClass::sys)
          return true;
    return false;
  }

  void place(const Group& group, const std::string& label)
  {
    for (Socket& socket : sockets_) {
      const bool same = !label.empty() && label == socket.label;
      const bool separate = apart(group, socket.members);
      if (!same && ((!label.empty() && !socket.label.empty()) || separate))
        continue;
      if (same && separate)
        found_.notes.insert("the matrix says SYS between devices of one NUMA affinity (as virtual "
                            "machines do): they were put on one socket");
      if (!same)
        found_.notes.insert("devices without affinity were put on a socket by the matrix alone");
      if (socket.label.empty())
        socket.label = label;
      socket.members.insert(socket.members.end(), group.begin(), group.end());
      return;
    }
    sockets_.push_back({label, group});
  }

  void sockets()
  {
    if (numa_per_socket_ > 1)
      for (std::size_t g = 0; g < m_.gpus; ++g)
        if (!label_of(g).starts_with("numa"))
          m_.fail(g, m_.names[g] + " has no NUMA number, so NUMA nodes cannot be grouped",
                  "leave out --numa-per-socket");
    const auto near = groups(m_, TopoClass::node);
    for (const bool labelled : {true, false})
      for (const Group& group : near)
        if (holds_gpu(m_, group) && label_of(group).empty() != labelled)
          place(group, label_of(group));
    Group strays;
    for (const Group& group : near)
      if (!holds_gpu(m_, group))
        strays.insert(strays.end(), group.begin(), group.end());
    if (!strays.empty())
      place_strays(strays);
    const bool all_numa = std::all_of(sockets_.begin(), sockets_.end(), [](const Socket& s) {
      return s.label.starts_with("numa") || s.label.empty();
    });
    if (all_numa) // by NUMA number, those without one last
      std::stable_sort(sockets_.begin(), sockets_.end(), [](const Socket& a, const Socket& b) {
        return a.label.empty() != b.label.empty() ? b.label.empty() : a.label < b.label;
      });
    if (static_cast<int>(sockets_.size()) > kMostSockets)
      m_.fail(0, fmt::format("the matrix needs {} sockets, a platform can have {}", sockets_.size(),
                             kMostSockets));
    for (std::size_t s = 0; s < sockets_.size(); ++s) {
      found_.sockets.emplace_back();
      for (const std::size_t device : sockets_[s].members)
        on_[device] = fmt::format("socket{}", s);
    }
    if (sockets_.size() > 2)
      found_.notes.insert(
          fmt::format("{} NUMA nodes were taken as {} sockets; if several belong to "
                      "one socket, give --numa-per-socket",
                      sockets_.size(), sockets_.size()));
  }

  // Adapters that are SYS to every GPU: some other NUMA node, it is not said which.
  void place_strays(const Group& strays)
  {
    if (numa_per_socket_ > 1) {
      found_.notes.insert("adapters that are SYS to every GPU were put on socket0");
      sockets_.front().members.insert(sockets_.front().members.end(), strays.begin(), strays.end());
      return;
    }
    found_.notes.insert("adapters that are SYS to every GPU were put together on a socket of "
                        "their own");
    sockets_.push_back({"", strays});
  }

  void switches()
  {
    const auto near = groups(m_, TopoClass::pix);
    for (const Group& cluster : groups(m_, TopoClass::pxb)) {
      std::vector<Group> parts;
      for (const Group& group : near)
        if (std::find(cluster.begin(), cluster.end(), group.front()) != cluster.end())
          parts.push_back(group);
      const bool gpus = holds_gpu(m_, cluster);
      if (parts.size() == 1 && (cluster.size() == 1 || !gpus)) {
        if (cluster.size() > 1)
          found_.notes.insert("adapters that are PIX only to each other were taken as ports on the "
                              "socket, each with a link of its own");
        continue;
      }
      std::string upper = on_[cluster.front()];
      if (parts.size() > 1)
        upper = add_switch(upper);
      for (const Group& part : parts) {
        const std::string lower = add_switch(upper);
        for (const std::size_t device : part)
          on_[device] = lower;
      }
    }
  }

  std::string add_switch(const std::string& on)
  {
    std::string name = fmt::format("pcie{}", found_.switches.size());
    found_.switches.push_back({name, on, {}});
    return name;
  }

  void devices()
  {
    const std::size_t n = m_.names.size();
    for (std::size_t g = 0; g < m_.gpus; ++g) {
      FoundGpu gpu;
      gpu.on = on_[g];
      found_.gpus.push_back(gpu);
      std::vector<int> row;
      for (std::size_t other = 0; other < m_.gpus; ++other)
        row.push_back(m_.at(g, other).bricks);
      found_.bricks.push_back(std::move(row));
    }
    for (std::size_t i = m_.gpus; i < n; ++i) {
      FoundNic nic;
      nic.name = m_.names[i];
      nic.on = on_[i];
      found_.nics.push_back(std::move(nic));
    }
    static constexpr PathClass kPaths[] = {PathClass::self, PathClass::nvlink, PathClass::pix,
                                           PathClass::pxb,  PathClass::phb,    PathClass::phb,
                                           PathClass::sys};
    for (std::size_t a = 0; a < n; ++a) {
      std::vector<PathClass> row;
      for (std::size_t b = 0; b < n; ++b)
        row.push_back(kPaths[static_cast<std::size_t>(m_.at(a, b).kind)]);
      found_.paths.push_back(std::move(row));
    }
  }

  const TopoMatrix& m_;
  int numa_per_socket_;
  FoundNode found_;
  std::vector<Socket> sockets_;
  std::vector<std::string> on_; // of each device
};

} // namespace

FoundNode topo_tree(const TopoMatrix& matrix, int numa_per_socket)
{
  return Tree(matrix, numa_per_socket).build();
}

} // namespace foretrain::platforms
