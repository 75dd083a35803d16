#include "platforms/search_system.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

namespace foretrain::platforms {

namespace {

constexpr double kLocal = 5000; // LOC_BW

// One NVLink, by architecture (SM60_NVLINK_BW ...; VOLTA_NVLINK_WIDTH until 2.7); one xGMI link by
// RCCL (GFX94X_XGMI_WIDTH, GFX95X_XGMI_WIDTH).
double nvlink_bandwidth(const Gpu& gpu, const SearchRules& rules)
{
  const double capability = gpu.compute_capability;
  if (gpu.vendor == sim::GpuVendor::amd)
    return 48;
  if (capability < 7)
    return 18;
  if (rules.version < 2800)
    return 21;
  return capability >= 10 ? 40.1 : capability >= 9 ? 20.6 : capability == 8.6 ? 12 : 20;
}

// PCI_BW scaled by generation. Until 2.7 "16.0 GT/s PCIe", as kernels from 5.x on spell it, was not
// known and taken for generation 3.
double pcie_bandwidth_assumed(int generation, int lanes, const SearchRules& rules)
{
  static constexpr double kPerLane[] = {0, 15, 30, 60, 120, 240, 480};
  const int known = rules.version < 2800 ? std::min(generation, 3) : generation;
  return kPerLane[known] * lanes / 80;
}

// QPI_BW, SKL_QPI_BW, AMD_BW ...: platforms hold the value of 2.7.
double socket_bandwidth(const Cpu& cpu, const SearchRules& rules)
{
  const double held = std::round(cpu.socket_link.value() / 1e9);
  return held == 9 && rules.version >= 2800 ? 10 : held;
}

// GB/s. The library reads a port's speed, whatever the adapter attains: 100 Gb/s where 94 are told,
// 56 where the data of FDR are 54.3. Near is less than half way between those next to each other.
double port_speed(double rate)
{
  constexpr double kNear = 1.15;
  for (const double gigabits : {1.0, 2.5, 5.0, 10.0, 25.0, 40.0, 56.0, 100.0, 200.0, 400.0, 800.0})
    if (const double told = gigabits / 8; rate < kNear * told && told < kNear * rate)
      return told;
  return rate;
}

double round_to_mega(double x) // >= 0
{
  return std::floor(x * 1000 + 0.5) / 1000;
}

} // namespace

const char* short_name(PathReach reach)
{
  static constexpr const char* kNames[] = {"LOC", "NVL", "NVB", "PIX", "PXB",
                                           "PXN", "PHB", "SYS", "NET", "DIS"};
  return kNames[static_cast<std::size_t>(reach)];
}

SearchSystem::SearchSystem(const PlatformSpec& spec, const NodeGraph& node, const Stack& stack,
                           const std::vector<int>& gpus, const std::vector<int>& nics,
                           const SearchRules& rules)
    : compute_capability_(spec.gpu.compute_capability), intel_(spec.cpu.vendor == CpuVendor::intel),
      amd_(spec.cpu.vendor == CpuVendor::amd),
      peer_overhead_(rules.version < 2800 ? 12.0 / 9 : 6.0 / 5)
{
  std::map<int, int> device_of; // part -> device
  for (std::size_t p = 0; p < node.parts().size(); ++p) {
    const Part& part = node.parts()[p];
    const int at = static_cast<int>(p);
    if (part.kind == PartKind::socket)
      device_of[at] = add(Kind::cpu, part.number);
    if (part.kind == PartKind::pcie_switch)
      device_of[at] = add(Kind::pcie_switch, part.number);
  }
  for (const int g : gpus) {
    gpus_.push_back(add(Kind::gpu, g));
    device_of[node.gpu(g)] = gpus_.back();
  }
  const double brick = nvlink_bandwidth(spec.gpu, rules);
  if (stack.host.nvlink && node.nvswitch()) {
    switch_ = add(Kind::switch_fabric, 0);
    for (const int g : gpus_)
      join(g, switch_, LinkKind::nvlink, brick * spec.gpu.nvlink_bricks);
  } else if (stack.host.nvlink) {
    for (std::size_t a = 0; a < gpus.size(); ++a)
      for (std::size_t b = 0; b < a; ++b)
        if (const int bricks = node.bricks(gpus[a], gpus[b]); bricks > 0)
          join(gpus_[a], gpus_[b], LinkKind::nvlink, brick * bricks);
  }
  for (const int n : nics) {
    const int nic = add(Kind::nic, n);
    device_of[node.nic(n)] = nic;
    nets_.push_back(add(Kind::net, n));
    const double rate = port_speed(spec.nics[static_cast<std::size_t>(n)].rate.value() / 1e9);
    devices_.back().net_bandwidth = rate;
    join(nic, nets_.back(), LinkKind::net, rate);
  }
  for (const Join& it : node.joins()) {
    const auto lower = device_of.find(it.lower);
    const auto upper = device_of.find(it.upper);
    if (lower == device_of.end() || upper == device_of.end())
      continue;
    if (it.between_sockets) {
      join(lower->second, upper->second, LinkKind::sys, socket_bandwidth(spec.cpu, rules));
      continue;
    }
    const Part& part = node.parts()[static_cast<std::size_t>(it.lower)];
    const auto at = static_cast<std::size_t>(part.number);
    int generation = spec.gpu.pcie_generation;
    int lanes = spec.gpu.pcie_lanes;
    if (part.kind == PartKind::pcie_switch) {
      generation = spec.node.pcie_switches[at].generation;
      lanes = spec.node.pcie_switches[at].lanes;
    } else if (part.kind == PartKind::nic) {
      generation = spec.nics[at].pcie_generation;
      lanes = spec.nics[at].pcie_lanes;
    }
    join(lower->second, upper->second, LinkKind::pcie,
         pcie_bandwidth_assumed(generation, lanes, rules));
  }
  diverted_ = rules.diverts() && !uses_gpudirect(stack);
  for (Device& it : devices_)
    std::stable_sort(it.links.begin(), it.links.end(), [this](int a, int b) {
      return links_[static_cast<std::size_t>(a)].bandwidth >
             links_[static_cast<std::size_t>(b)].bandwidth;
    });
}

void SearchSystem::find_paths(const SearchRules& rules)
{
  paths_.assign(devices_.size(), {});
  for (const int g : gpus_)
    compute_paths(g, rules);
  for (const int n : nets_)
    compute_paths(n, rules);
  if (switch_ >= 0)
    compute_paths(switch_, rules);
  if (rules.proxies())
    allow_proxies();
  if (diverted_)
    divert_through_hosts(rules);
  compute_limits();
  for (int g = -1; g < gpus(); ++g)
    for (PathReach t = PathReach::local; t <= PathReach::sys;
         t = static_cast<PathReach>(static_cast<int>(t) + 1))
      nets_of_.push_back(find_nets(g, t));
}

int SearchSystem::add(Kind kind, int number)
{
  devices_.push_back({kind, number, {}, 0});
  return static_cast<int>(devices_.size()) - 1;
}

void SearchSystem::join(int a, int b, LinkKind kind, double bandwidth)
{
  for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)}) {
    devices_[static_cast<std::size_t>(from)].links.push_back(static_cast<int>(links_.size()));
    links_.push_back({from, to, kind, bandwidth});
  }
}

std::string SearchSystem::fingerprint() const
{
  std::string bytes;
  const auto say = [&bytes](const auto& value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  say(compute_capability_);
  say(peer_overhead_);
  for (const bool flag : {intel_, amd_, diverted_})
    say(flag);
  std::vector<int> order = gpus_;
  order.insert(order.end(), nets_.begin(), nets_.end());
  if (diverted_) // hosts that are as near are taken in their order
    for (int d = 0; d < static_cast<int>(devices_.size()); ++d)
      if (device(d).kind == Kind::cpu)
        order.push_back(d);
  std::vector<int> number(devices_.size(), -1);
  for (std::size_t i = 0; i < order.size(); ++i)
    number[static_cast<std::size_t>(order[i])] = static_cast<int>(i);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Device& it = device(order[i]);
    say(it.kind);
    say(it.net_bandwidth);
    if (!nets_.empty()) // adapters are shared out by the numbers of GPUs
      say(it.kind == Kind::gpu || it.kind == Kind::net ? it.number : 0);
    say(it.links.size());
    for (const int l : it.links) {
      const Link& link = links_[static_cast<std::size_t>(l)];
      int& to = number[static_cast<std::size_t>(link.to)];
      if (to < 0) {
        to = static_cast<int>(order.size());
        order.push_back(link.to);
      }
      say(link.kind);
      say(link.bandwidth);
      say(to);
    }
  }
  return bytes;
}

const SearchSystem::Path& SearchSystem::path(int from, int to) const
{
  return paths_[static_cast<std::size_t>(to)][static_cast<std::size_t>(from)];
}

// Breadth first from the destination (ncclTopoSetPaths): fewest links, then the widest.
void SearchSystem::compute_paths(int base, const SearchRules& rules)
{
  auto& found = paths_[static_cast<std::size_t>(base)];
  found.assign(devices_.size(), {});
  found[static_cast<std::size_t>(base)] = {{}, kLocal, PathReach::local};
  std::vector<int> wave{base};
  while (!wave.empty()) {
    std::vector<int> next;
    for (const int at : wave) {
      const Path here = found[static_cast<std::size_t>(at)];
      const Device& device = devices_[static_cast<std::size_t>(at)];
      for (const int l : device.links) {
        const Link& link = links_[static_cast<std::size_t>(l)];
        const Kind remote = devices_[static_cast<std::size_t>(link.to)].kind;
        if (at != base && device.kind == Kind::gpu &&
            (!rules.relays() || link.kind != LinkKind::nvlink || remote != Kind::gpu ||
             here.links.size() > 1))
          continue;
        if (at != base && device.kind == Kind::net)
          continue;
        Path& there = found[static_cast<std::size_t>(link.to)];
        const double bandwidth = std::min(here.bandwidth, link.bandwidth);
        if ((there.exists() && there.links.size() <= here.links.size()) ||
            there.bandwidth >= bandwidth)
          continue;
        there.links = {l ^ 1}; // links come in pairs: this one's way back
        there.links.insert(there.links.end(), here.links.begin(), here.links.end());
        there.bandwidth = bandwidth;
        PathReach reach = link.kind == LinkKind::nvlink ? PathReach::nvlink
                          : link.kind == LinkKind::pcie ? PathReach::pix
                          : link.kind == LinkKind::sys  ? PathReach::sys
                                                        : PathReach::local;
        if (device.kind == Kind::pcie_switch && remote == Kind::pcie_switch)
          reach = PathReach::pxb;
        if (link.kind == LinkKind::pcie && (device.kind == Kind::cpu || remote == Kind::cpu))
          reach = PathReach::phb;
        if (device.kind == Kind::gpu && here.reach == PathReach::nvlink &&
            reach == PathReach::nvlink && there.links.size() > 1)
          reach = PathReach::nvlink_relay;
        there.reach = std::max(here.reach, reach);
        if (std::find(next.begin(), next.end(), link.to) == next.end())
          next.push_back(link.to);
      }
    }
    wave = std::move(next);
  }
}

// A GPU far from an adapter hands its data to one on NVLink that is beside it (PXN).
void SearchSystem::allow_proxies()
{
  for (int n = 0; n < nets(); ++n) {
    const int owner = gpu_of_net(n);
    if (owner < 0 || path(gpu(owner), net(n)).reach > PathReach::pxb)
      continue;
    for (int g = 0; g < gpus(); ++g) {
      Path& old = paths_[static_cast<std::size_t>(net(n))][static_cast<std::size_t>(gpu(g))];
      const Path& first = path(gpu(g), gpu(owner));
      const Path& second = path(gpu(owner), net(n));
      if (g == owner || old.reach <= PathReach::pxn || first.reach > PathReach::nvlink)
        continue;
      Path via = first;
      via.links.insert(via.links.end(), second.links.begin(), second.links.end());
      via.bandwidth = std::min(first.bandwidth, second.bandwidth);
      via.reach = PathReach::pxn;
      old = std::move(via);
    }
  }
}

// Adapters that cannot reach GPU memory: all traffic passes the host that is nearest to the GPU
// (ncclTopoComputePaths), so that no path is shorter than one over its bridge.
void SearchSystem::divert_through_hosts(const SearchRules& rules)
{
  for (std::size_t d = 0; d < devices_.size(); ++d)
    if (devices_[d].kind == Kind::cpu)
      compute_paths(static_cast<int>(d), rules);
  for (int g = 0; g < gpus(); ++g) {
    int host = -1;
    for (std::size_t d = 0; d < devices_.size(); ++d)
      if (const int at = static_cast<int>(d);
          device(at).kind == Kind::cpu && path(gpu(g), at).exists() &&
          (host < 0 || path(gpu(g), at).links.size() < path(gpu(g), host).links.size()))
        host = at;
    if (host < 0)
      continue;
    for (int n = 0; n < nets(); ++n)
      if (path(gpu(g), net(n)).reach < PathReach::phb) {
        lead_over(host, gpu(g), net(n));
        lead_over(host, net(n), gpu(g));
      }
  }
}

void SearchSystem::lead_over(int host, int from, int to)
{
  const Path first = path(from, host);
  const Path& second = path(host, to);
  Path via = first;
  via.links.insert(via.links.end(), second.links.begin(), second.links.end());
  via.bandwidth = std::min(first.bandwidth, second.bandwidth);
  via.reach = std::max(first.reach, second.reach);
  paths_[static_cast<std::size_t>(to)][static_cast<std::size_t>(from)] = std::move(via);
}

double SearchSystem::mesh_bandwidth() const
{
  double each = 0;
  for (int a = 0; a < gpus(); ++a)
    for (int b = 0; b < gpus(); ++b) {
      const Path& between = path(gpu(a), gpu(b));
      if (a == b)
        continue;
      if (between.reach != PathReach::nvlink || between.links.size() != 1 ||
          (each > 0 && between.bandwidth != each))
        return 0;
      each = between.bandwidth;
    }
  return each;
}

double SearchSystem::pcie_bandwidth_of(int g) const
{
  double most = 0;
  for (const int l : device(gpu(g)).links)
    if (const Link& link = links_[static_cast<std::size_t>(l)]; link.kind == LinkKind::pcie)
      most = std::max(most, link.bandwidth);
  return most;
}

void SearchSystem::compute_limits()
{
  if (nets_.empty() && gpus() == 1) {
    most_ = total_ = kLocal;
    return;
  }
  for (int g = 0; g < gpus(); ++g) {
    double nvlink = 0;
    for (const int l : device(gpu(g)).links)
      if (const Link& link = links_[static_cast<std::size_t>(l)]; link.kind == LinkKind::nvlink)
        nvlink += link.bandwidth;
    total_ = std::max({total_, nvlink, pcie_bandwidth_of(g)});
    if (nets_.empty())
      for (int other = 0; other < gpus(); ++other)
        most_ = std::max(most_, g == other ? 0 : path(gpu(g), gpu(other)).bandwidth);
    for (int n = 0; n < nets(); ++n)
      most_ = std::max(most_, path(gpu(g), net(n)).bandwidth);
  }
}

std::size_t SearchSystem::take(const Path& path, int start, double bandwidth, std::size_t steps)
{
  // Intel's host bridges forward peer traffic in small packets (INTEL_P2P_OVERHEAD).
  double over_pcie = bandwidth;
  if (intel_ && path.reach == PathReach::phb && device(start).kind == Kind::gpu)
    over_pcie = bandwidth * peer_overhead_;
  for (std::size_t i = 0; i < steps; ++i) {
    Link& link = links_[static_cast<std::size_t>(path.links[i])];
    const double forward = link.kind == LinkKind::pcie ? over_pcie : bandwidth;
    // Until Ampere a GPU's reads slow the other direction.
    const bool reads = device(link.to).kind == Kind::gpu && compute_capability_ < 8 &&
                       device(start).kind != Kind::gpu;
    Link& back = links_[static_cast<std::size_t>(path.links[i] ^ 1)];
    const double backward = reads ? forward / 8 : 0;
    if (link.bandwidth < forward || (reads && back.bandwidth < backward))
      return i;
    link.bandwidth = round_to_mega(link.bandwidth - forward);
    if (reads)
      back.bandwidth = round_to_mega(back.bandwidth - backward);
  }
  return steps;
}

// The nearest and widest, shared out among the GPUs that are as near (ncclTopoGetLocalNet).
std::vector<int> SearchSystem::own_nets(int g) const
{
  const auto rank = [&](int a, int b) {
    const Path& p = path(gpu(a), net(b));
    return std::pair(-p.bandwidth, p.reach);
  };
  std::vector<int> near;
  for (int n = 0; n < nets(); ++n) {
    if (!near.empty() && rank(g, n) > rank(g, near.front()))
      continue;
    if (!near.empty() && rank(g, n) < rank(g, near.front()))
      near.clear();
    near.push_back(n);
  }
  if (near.empty())
    return near;
  int sharing = 0;
  for (int other = 0; other < gpus(); ++other)
    sharing += rank(other, near.front()) == rank(g, near.front()) ? 1 : 0;
  const auto count = near.size();
  auto first = static_cast<std::size_t>(gpu_number(g));
  if (std::has_single_bit(count)) { // mirrored bits, so that neighbours differ
    std::size_t mirrored = 0;
    for (std::size_t bit = 1, high = count / 2; bit < count; bit *= 2, high /= 2)
      mirrored |= (first & bit) != 0 ? high : 0;
    first = mirrored;
  }
  const auto each =
      (count + static_cast<std::size_t>(sharing) - 1) / static_cast<std::size_t>(sharing);
  std::vector<int> own;
  for (std::size_t c = 0; c < each; ++c)
    own.push_back(near[(first + c) % count]);
  return own;
}

const std::vector<int>& SearchSystem::nets_of(int g, PathReach reach) const
{
  const int reaches = static_cast<int>(PathReach::sys) + 1;
  return nets_of_[static_cast<std::size_t>((g + 1) * reaches + static_cast<int>(reach))];
}

bool SearchSystem::has_reach(PathReach reach, bool to_net) const
{
  for (int a = 0; a < gpus(); ++a)
    for (int b = 0; b < (to_net ? nets() : gpus()); ++b)
      if (path(gpu(a), to_net ? net(b) : gpu(b)).reach == reach ||
          path(to_net ? net(b) : gpu(b), gpu(a)).reach == reach)
        return true;
  return false;
}

std::vector<int> SearchSystem::find_nets(int g, PathReach reach) const
{
  std::vector<int> found;
  const auto append = [&found](int n) {
    if (std::find(found.begin(), found.end(), n) == found.end())
      found.push_back(n);
  };
  for (int it = 0; it < gpus(); ++it)
    if (g < 0 || g == it)
      for (const int n : own_nets(it))
        append(n);
  for (PathReach t = PathReach::local; t <= reach;
       t = static_cast<PathReach>(static_cast<int>(t) + 1))
    for (int it = 0; it < gpus(); ++it)
      for (int n = 0; n < nets() && (g < 0 || g == it); ++n)
        if (path(gpu(it), net(n)).reach == t)
          append(n);
  return found;
}

int SearchSystem::gpu_of_net(int n) const
{
  for (int g = 0; g < gpus(); ++g) {
    const auto own = own_nets(g);
    if (std::find(own.begin(), own.end(), n) != own.end())
      return g;
  }
  return -1;
}

} // namespace foretrain::platforms
