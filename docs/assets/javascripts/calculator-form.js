/* The form of an operator's calculator. It is made when a reader opens it; without a script the page is whole. */

(() => {
  const make = (tag, attributes = {}, ...children) => {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.append(...children);
    return node;
  };
  const code = (text) => make("code", {}, text);
  const digits = (value) => (value >= 1000 ? Math.round(value).toString() : Number(value.toPrecision(3)).toString());
  const units = (value, unit) => {
    const at = ["", "k", "M", "G", "T", "P"].findIndex((_, n) => n === 5 || Number(value) < 1000 ** (n + 1));
    return `${digits(Number(value) / 1000 ** at)} ${["", "k", "M", "G", "T", "P"][at]}${unit}`;
  };
  const shown = (v) => (Array.isArray(v) ? `(${v.map(String).join(", ")}${v.length === 1 ? "," : ""})` : String(v ?? "None"));

  function field(title, control, hint) {
    const text = make("span", { class: "op-field__name" }, title);
    return make("label", { class: "op-field", ...(hint ? { title: hint } : {}) }, text, control);
  }
  const option = (value, text) => make("option", { value }, text);

  function control(param) {
    if (param.types.length === 1 && param.types[0] === "bool") return make("input", { type: "checkbox" });
    if (!param.choices) return make("input", { type: "text", autocomplete: "off", spellcheck: "false" });
    const none = param.types.includes("None") ? [option("None", "None")] : [];
    return make("select", {}, ...none, ...param.choices.map((choice) => option(choice, choice)));
  }
  const read = (node) => (node.type === "checkbox" ? String(node.checked) : node.value);
  function write(node, text) {
    if (node.type === "checkbox") node.checked = text === "true";
    else node.value = text;
  }

  function build(details) {
    const op = JSON.parse(details.querySelector("script").textContent);
    const block = details.closest("[data-op]");
    const rowText = (row) => Object.entries(row).map(([slot, dtype]) => `${slot}: ${dtype}`).join(", ");
    const preset = make("select", {}, ...op.presets.map((p, n) => option(String(n), p.label)));
    const row = make("select", {}, ...op.rows.map((r, n) => option(String(n), rowText(r))));
    const names = {};
    for (const [name, splat] of Object.entries(op.sizes)) {
      names[name] = make("input", { type: "text", inputmode: splat ? "text" : "numeric", autocomplete: "off", spellcheck: "false" });
    }
    for (const [name, param] of Object.entries(op.params)) if (!param.row) names[name] = control(param);
    const given = {};
    for (const [name, { optional }] of Object.entries(op.inputs)) {
      if (optional) given[name] = make("input", { type: "checkbox" });
    }
    const result = make("div", { class: "op-result", "aria-live": "polite" });
    const fields = [
      field("Start from", preset), ...(op.rows.length > 1 ? [field("dtypes", row)] : []),
      ...Object.entries(names).map(([name, node]) => field(name, node, op.sizes[name] ? "any number of sizes: 2, 3" : (op.params[name]?.types ?? []).join(" | "))),
      ...Object.entries(given).map(([name, node]) => field(`${name} given`, node)),
    ];
    const form = make("form", { class: "op-form" }, ...fields);
    details.append(form, result);

    function load() {
      const chosen = op.presets[Number(preset.value || 0)];
      row.value = String(chosen.row);
      for (const [name, node] of Object.entries(names)) write(node, chosen.names[name] ?? op.params[name]?.default ?? "");
      for (const [name, node] of Object.entries(given)) node.checked = !chosen.absent.includes(name);
    }
    function input() {
      const absent = Object.keys(given).filter((name) => !given[name].checked);
      const texts = {};
      for (const [name, node] of Object.entries(names)) {
        const unused = op.users[name]?.length && op.users[name].every((slot) => absent.includes(slot));
        node.disabled = Boolean(unused);
        if (!unused) texts[name] = read(node);
      }
      return { row: Number(row.value || 0), names: texts, absent };
    }
    function show() {
      const found = tileops.calculate(op, input());
      for (const line of block?.querySelectorAll("[data-rule]") ?? []) {
        line.classList.toggle("op-failing", Number(line.dataset.rule) - 1 === found.rule);
      }
      result.replaceChildren(...(found.shapes ? answer(op, found) : refusal(op, found)));
    }
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("input", (event) => {
      if (event.target === preset) load();
      show();
    });
    load();
    show();
  }

  function refusal(op, found) {
    if (found.error !== undefined) return [make("p", { class: "op-refused" }, found.error)];
    const values = Object.entries(found.values).map(([name, value]) => `${name}=${shown(value)}`).join(", ");
    const text = `${op.name}: ${found.message}${values ? ` (got ${values})` : ""}`;
    return [make("p", { class: "op-refused", "data-failed-rule": String(found.rule + 1) },
      make("strong", {}, `Rule ${found.rule + 1} does not hold. `), "The call raises: ", code(text))];
  }

  function answer(op, found) {
    const body = make("tbody");
    for (const [slot, shape] of Object.entries(found.shapes)) {
      if (shape === null) continue;
      const kind = slot in op.outputs ? [" ", make("span", { class: "op-role" }, "output")] : [];
      const bytes = Number(tileops.functions.prod(shape)) * op.itemsize[found.dtypes[slot]];
      body.append(make("tr", { "data-tensor": slot }, make("td", {}, code(slot), ...kind), make("td", {}, code(shown(shape))),
        make("td", {}, code(found.dtypes[slot])), make("td", { class: "op-number" }, units(bytes, "B"))));
    }
    const head = ["Tensor", "Shape", "dtype", "Size"].map((text) => make("th", {}, text));
    const table = make("table", { class: "op-table" }, make("thead", {}, make("tr", {}, ...head)), body);
    const fact = (name, title, text) => make("div", { "data-fact": name }, make("dt", {}, title), make("dd", {}, text));
    const intensity = Number(found.bytes) ? `${digits(Number(found.flops) / Number(found.bytes))} FLOP/B` : "–";
    const facts = [
      fact("flops", "Operations", units(found.flops, "FLOP")), fact("bytes", "Memory traffic", units(found.bytes, "B")),
      fact("intensity", "Intensity", intensity),
    ];
    if (found.us !== null) facts.push(fact("us", "Speed of light, H200", `${digits(found.us)} µs, ${found.bound}-bound`));
    if (op.implementations.length) facts.push(fact("implementation", "Served by", found.implementation ?? "no implementation"));
    return [table, make("dl", { class: "op-facts" }, ...facts)];
  }

  const start = () => {
    for (const details of document.querySelectorAll("details.op-calculator")) {
      details.addEventListener("toggle", () => build(details), { once: true });
    }
  };
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
