// "What would it take?": a plan made of the experiment, with more GPUs and other networks at what they cost.
import { element } from "./form.js";
import { get } from "./pointer.js";

/** What may be wished of a job's answer: words, the plan's key, what twice as good is, and how a number is written. */
function wishes(job) {
  const asIs = number => number;
  return [
    job.tokens_per_s && ["tokens/s, at least", "tokens_per_s_at_least", 2 * job.tokens_per_s.median, asIs],
    ["samples/s, at least", "throughput_at_least", 2 * job.throughput_samples_per_s.median, asIs],
    ["ms a step, at most", "step_time_at_most", 500 * job.step_time_s.median, number => `${number} ms`],
    job.training_s && ["hours of training, at most", "training_at_most", job.training_s.total / 7200, number => `${number} h`],
  ].filter(Boolean);
}

function planOf(value, job, wish, { node, network, net, most }) {
  const experiment = { ...value, sweep: undefined, expect: undefined };
  const gpus = get(experiment, "/jobs/0/gpus") ?? 1, nodes = get(experiment, "/cluster/nodes");
  // As many nodes as the GPUs need, unless they are spread or more are there; those of today are paid for.
  const spread = get(experiment, "/jobs/0/placement") || nodes > job.nodes;
  const wanted = times => spread ? Math.max(nodes, job.nodes * times) : null;
  const cost = { fixed: -(nodes ?? job.nodes) * node, node };
  const sizes = [1, 2, 4, 8, 16].filter(times => times <= most).map(times => ({
    name: `${gpus * times} GPUs`, cost, ...(times > 1 ? { set: { "/jobs/0/gpus": gpus * times, ...(nodes ? { "/cluster/nodes": wanted(times) } : {}) } } : {}),
  }));
  const changes = [{ name: "GPUs", options: sizes }];
  if (network)
    changes.push({ name: "network", options: [{ name: get(experiment, "/stack/network") ?? "as it is" },
      { name: network, set: { "/stack/network": network }, cost: { node: net } }] });
  return { experiment, changes, goals: [wish] };
}

/** The form, about an experiment and the answer of its first job; `networks`: names of presets; `find` gets the plan. */
export function goalForm(value, job, networks, find) {
  const input = (label, value, props = {}) => {
    const control = element("input", { type: "number", min: 0, step: "any", value, ...props });
    return [element("label", {}, label, control), control];
  };
  const all = wishes(job);
  const kind = element("select", {}, ...all.map(([words], i) => new Option(words, i)));
  const [wantLabel, want] = input("so many", "");
  const suggest = () => { want.value = Number(all[kind.value][2].toPrecision(3)); };
  kind.addEventListener("change", suggest);
  suggest();
  const [nodeLabel, node] = input("cost of a further node", 100000);
  const today = get(value, "/stack/network");
  const other = element("select", {}, new Option("none", ""), ...networks.filter(name => name !== today).map(name => new Option(name, name)));
  other.value = today && today !== "rdma" ? "rdma" : "";
  const [netLabel, net] = input("its cost, a node", 500);
  const [gpuLabel, most] = input("at most so many times the GPUs", 4, { step: 1, min: 1 });
  const go = element("button", { type: "button", textContent: "Find the cheapest way", onclick: () => {
    const [, key, , written] = all[kind.value];
    find(planOf(value, job, { [key]: written(Number(want.value)) }, { node: Number(node.value), network: other.value, net: Number(net.value), most: Number(most.value) }));
  } });
  return element("div", { className: "goal" }, element("label", {}, "wanted", kind), wantLabel, nodeLabel, gpuLabel,
    element("label", {}, "another network", other), netLabel, go);
}
