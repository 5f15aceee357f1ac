/* A call worked out from sizes, params and dtypes: shapes, the first rule that fails, cost, who serves it.
   The order is that of tileops.spec.cases: each `let` as soon as its names are known, rules before it. */

tileops.calculate = (() => {
  const { Refused, evaluate, functions, reads, truth, fail } = tileops;

  class Broken extends Error {
    constructor(rule) { super("broken"); this.rule = rule; }
  }

  const value = (node, env, where) => {
    try {
      return evaluate(node, env);
    } catch (error) {
      if (error instanceof Refused || error instanceof TypeError || error instanceof RangeError) {
        throw new Refused(`${where}: ${error.message}`);
      }
      throw error;
    }
  };

  /* A text of the form to a value of a param's type; what is no such value is refused. */
  function parse(text, types, what) {
    const clean = text.trim();
    if (types.includes("None") && ["", "None"].includes(clean)) return null;
    for (const type of types) {
      if (type === "bool" && /^(true|false)$/i.test(clean)) return clean.toLowerCase() === "true";
      if (type === "int" && /^-?\d+$/.test(clean)) return BigInt(clean);
      if (type === "float" && /^-?inf(inity)?$/i.test(clean)) return clean[0] === "-" ? -Infinity : Infinity;
      if (type === "float" && /^nan$/i.test(clean)) return NaN;
      if (type === "float" && /^-?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(clean)) return Number(clean);
      if (type.startsWith("tuple[") && /^[([]?\s*((-?\d+|None)\s*[,\s]\s*)*(-?\d+|None)?\s*[)\]]?$/.test(clean)) {
        if (/^-?\d+$/.test(clean) && types.includes("int")) continue;
        const items = clean.match(/-?\d+|None/g) ?? [];
        if (items.includes("None") && !type.includes("None")) continue;
        return items.map((item) => (item === "None" ? null : BigInt(item)));
      }
      if (type === "str" || type === "dtype") return clean.replace(/^torch\./, "");
    }
    return fail(`${what}: ${text || "nothing"} is not of type ${types.join(" | ")}`);
  }

  function dtypes(op, row, params, absent) {
    const resolve = (name) => {
      const slot = op.slots[name];
      if (slot.param && params[slot.param] !== null) return params[slot.param];
      if (slot.same === null) return row[name] ?? slot.choices[0];
      const same = resolve(slot.same);
      return slot.becomes?.[same] ?? same;
    };
    return Object.fromEntries(Object.keys(op.slots).map((n) => [n, absent.includes(n) ? null : resolve(n)]));
  }

  function chosenParams(op, row, names, given, absent) {
    for (const [slot, { param }] of Object.entries(op.slots)) {
      if (!param || dtypes(op, row, names, absent)[slot] === row[slot]) continue;
      if (given.includes(param)) throw new Refused(`${param} does not give ${slot} the dtype ${row[slot]}`);
      names[param] = row[slot];
    }
  }

  class State {
    constructor(op, env, known) {
      this.op = op; this.env = env; this.known = new Set(known);
      this.lets = Object.keys(op.let); this.rules = op.rules.map((_, n) => n);
    }
    ready(node) {
      const names = [...reads(node, "n")].every((n) => this.known.has(n) || (n in this.op.let && !this.lets.includes(n)));
      return names && [...reads(node, "t")].every((t) => t in this.env.shapes);
    }
    close() {
      for (;;) {
        const name = this.lets.find((n) => this.ready(this.op.let[n]));
        if (name === undefined) return;
        this.checkRules();
        this.env.names[name] = value(this.op.let[name], this.env, name);
        this.lets.splice(this.lets.indexOf(name), 1);
      }
    }
    checkRules() {
      for (const n of [...this.rules]) {
        const { rule } = this.op.rules[n];
        if (!this.ready(rule)) continue;
        this.rules.splice(this.rules.indexOf(n), 1);
        if (!truth(value(rule, this.env, `rule ${n + 1}`))) throw new Broken(n);
      }
    }
    shape(branches, slot) {
      const branch = branches.find((b) => b.if === null || truth(value(b.if, this.env, slot)));
      const out = branch.items.flatMap(([node, splat]) => {
        const missing = [...reads(node, "n")].find((n) => !(n in this.env.names));
        if (missing) throw new Refused(`${slot} needs a value for ${missing}`);
        const found = value(node, this.env, slot);
        return splat ? found : [found];
      });
      if (out.some((s) => typeof s !== "bigint" || s < 0n)) throw new Refused(`${slot}: (${out.join(", ")}) is no shape`);
      return out;
    }
  }

  function moved(op, env) {
    if (op.bytes) return value(op.bytes, env, "bytes");
    const size = (slot) => (env.shapes[slot] === null ? 0n
      : functions.prod(env.shapes[slot]) * BigInt(op.itemsize[env.dtypes[slot]]));
    let total = 0n;
    for (const slot of Object.keys(op.slots)) {
      const alias = op.outputs[slot]?.is;
      const filled = alias && env.shapes[alias] !== null && op.inputs[alias].mutated === true;
      if (!filled) total += size(slot);  // what is only filled was counted as the input
    }
    return total;
  }

  function floor(op, dtypesFound, flops, bytes) {
    const low = Object.values(dtypesFound).some((d) => d?.startsWith("float8"));
    const { tbs, bf16, fp8 } = op.ceilings;
    if (!tbs) return { us: null, bound: "" };
    const rate = (low && fp8) || bf16;
    const memory = Number(bytes) / tbs / 1e6;
    const compute = Number(flops) / rate / 1e6;
    return { us: Math.max(memory, compute), bound: memory >= compute ? "memory" : "compute" };
  }

  function serving(op, env) {
    for (const { name, domain } of op.implementations) {
      if (domain.every(({ rule }) => truth(value(rule, env, name)))) return name;
    }
    return null;
  }

  /* `input`: { row: number of the dtype row, names: texts of sizes and params, absent: [inputs] }.
     Gives shapes, dtypes, outputs, flops, bytes, us, bound, implementation; or rule, the number of the one
     that fails, with its message; or error. */
  return (op, input) => {
    const { row: number, names: texts, absent } = input;
    const env = { names: {}, shapes: {}, dtypes: {} };
    try {
      for (const [name, param] of Object.entries(op.params)) {
        if (texts[name] === undefined && param.default === undefined) throw new Refused(`${name} is missing`);
        env.names[name] = parse(texts[name] ?? param.default, param.types, name);
        if (param.choices && typeof env.names[name] === "string" && !param.choices.includes(env.names[name])) {
          throw new Refused(`${name} must be one of ${param.choices.join(", ")}`);
        }
      }
      for (const [name, splat] of Object.entries(op.sizes)) {
        if (texts[name] !== undefined) env.names[name] = parse(texts[name], [splat ? "tuple[int, ...]" : "int"], name);
        else if (splat && op.users[name].every((slot) => absent.includes(slot))) env.names[name] = [];
        const sizes = [env.names[name] ?? []].flat();
        if (sizes.some((s) => s < 0n)) throw new Refused(`${name}: a size is not negative`);
      }
      const row = op.rows[number];
      chosenParams(op, row, env.names, Object.keys(texts), absent);
      env.dtypes = dtypes(op, row, env.names, absent);
      for (const slot of absent) env.shapes[slot] = null;
      const state = new State(op, env, Object.keys(env.names));
      state.close();
      for (const [slot, { shape }] of Object.entries(op.inputs)) {
        if (absent.includes(slot)) continue;
        env.shapes[slot] = state.shape(shape, slot);
        state.close();
      }
      for (const name of Object.keys(op.sizes)) {
        state.known.add(name);
        env.names[name] ??= null;
      }
      state.close();
      state.checkRules();
      for (const [slot, { shape }] of Object.entries(op.outputs)) env.shapes[slot] = state.shape(shape, slot);
      const flops = value(op.flops, env, "operations");
      const bytes = moved(op, env);
      return {
        shapes: env.shapes, dtypes: env.dtypes, flops, bytes, ...floor(op, env.dtypes, flops, bytes),
        implementation: serving(op, env),
      };
    } catch (error) {
      if (error instanceof Broken) {
        const values = Object.fromEntries([...reads(op.rules[error.rule].rule, "n")].map((n) => [n, env.names[n]]));
        return { rule: error.rule, message: op.rules[error.rule].message, values };
      }
      if (error instanceof Refused) return { error: error.message };
      throw error;
    }
  };
})();
