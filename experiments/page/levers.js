// Sliders for what explain names: how many times as good each would be.
import { element } from "./form.js";

const worth = 0.001; // gain when doubled, of what gets a slider
const range = { min: -2, max: 4, step: 0.25 }; // powers of two
const words = factor => (factor === 1 ? "as it is" : `${Number(factor.toPrecision(3))} times as good`);

export class Levers {
  /** `names`: of the keys of an experiment's "better"; `changed` takes a pointer and a value. */
  constructor(target, names, changed) {
    Object.assign(this, { target, names, changed, rows: new Map() });
  }

  clear() {
    this.rows.clear();
    this.target.replaceChildren();
  }

  /** What explain found worth a try, of any job, is there from now on. */
  offer(jobs, better) {
    for (const lever of jobs.flatMap(job => job.levers))
      if (lever.gain_if_doubled > worth) this.row(lever.lever.replaceAll("-", "_"));
    this.show(better);
  }

  /** Sliders follow the file. */
  show(better = {}) {
    for (const key of Object.keys(better ?? {})) if (this.names[key]) this.row(key);
    for (const [key, { slider, told }] of this.rows) {
      const factor = Number(better?.[key] ?? 1);
      if (document.activeElement !== slider) slider.value = Math.log2(factor);
      told.textContent = words(factor);
      slider.setAttribute("aria-valuetext", words(factor));
    }
  }

  row(key) {
    if (this.rows.has(key)) return;
    if (!this.rows.size)
      this.target.append(element("h2", { textContent: "What if it were better?" }));
    const slider = element("input", { type: "range", ...range, value: 0, id: `better-${key}` });
    const told = element("output", { htmlFor: slider.id });
    slider.oninput = () => {
      const factor = Number((2 ** Number(slider.value)).toPrecision(4));
      this.changed(`/better/${key}`, factor === 1 ? undefined : factor);
    };
    this.rows.set(key, { slider, told });
    this.target.append(element("div", { className: "lever" }, element("label", { htmlFor: slider.id, textContent: this.names[key] }), slider, told));
  }
}
