/* Evaluates an operator's entry of the manifest, as tileops.spec does: sizes to shapes, rules and cost.
   Integers are BigInt and floats are Number, so that "/" and "//" and sizes beyond 2**53 are Python's. */

const tileops = (() => {
  class Refused extends Error {}
  const fail = (text) => { throw new Refused(text); };
  const isNumber = (v) => typeof v === "bigint" || typeof v === "number" || typeof v === "boolean";
  const integer = (v) => (typeof v === "boolean" ? BigInt(v) : v);
  const isInt = (v) => typeof integer(v) === "bigint";

  function numbers(a, b, operator) {
    if (!isNumber(a) || !isNumber(b)) fail(`unsupported operands for ${operator}`);
    a = integer(a); b = integer(b);
    return typeof a === typeof b ? [a, b] : [Number(a), Number(b)];
  }
  const floorDiv = (a, b) => {
    if (b == 0) fail("division by zero");
    if (typeof a === "number") return Math.floor(a / b);
    const q = a / b;
    return a % b !== 0n && (a < 0n) !== (b < 0n) ? q - 1n : q;
  };
  const binary = {
    "+"(a, b) {
      if (Array.isArray(a) && Array.isArray(b)) return [...a, ...b];
      if (typeof a === "string" && typeof b === "string") return a + b;
      [a, b] = numbers(a, b, "+");
      return a + b;
    },
    "-"(a, b) { [a, b] = numbers(a, b, "-"); return a - b; },
    "*"(a, b) {
      if (Array.isArray(b)) [a, b] = [b, a];
      if (Array.isArray(a) && isInt(b)) return Array(Math.max(Number(b), 0)).fill(a).flat();
      [a, b] = numbers(a, b, "*");
      return a * b;
    },
    "/"(a, b) { [a, b] = numbers(a, b, "/"); return b == 0 ? fail("division by zero") : Number(a) / Number(b); },
    "//"(a, b) { [a, b] = numbers(a, b, "//"); return floorDiv(a, b); },
    "%"(a, b) { [a, b] = numbers(a, b, "%"); const q = floorDiv(a, b); return a - q * b; },
    "**"(a, b) {
      [a, b] = numbers(a, b, "**");
      return typeof a === "bigint" && b >= 0n ? a ** b : Number(a) ** Number(b);
    },
  };

  function equal(a, b) {
    if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((v, i) => equal(v, b[i]));
    if (isNumber(a) && isNumber(b)) return integer(a) == integer(b);
    return a === b;
  }
  function order(a, b) {
    if (Array.isArray(a) && Array.isArray(b)) {
      const at = a.findIndex((v, i) => i >= b.length || !equal(v, b[i]));
      return at < 0 ? a.length - b.length : at >= b.length ? 1 : order(a[at], b[at]);
    }
    if (typeof a === "string" && typeof b === "string") return a < b ? -1 : a > b ? 1 : 0;
    if (!isNumber(a) || !isNumber(b)) fail("values that have no order");
    a = integer(a); b = integer(b);
    return a < b ? -1 : a > b ? 1 : a == b ? 0 : NaN;
  }
  const has = (a, list) => (Array.isArray(list) ? list.some((v) => equal(a, v)) : list.includes(a));
  const compare = {
    "==": equal, "!=": (a, b) => !equal(a, b),
    "<": (a, b) => order(a, b) < 0, "<=": (a, b) => order(a, b) <= 0,
    ">": (a, b) => order(a, b) > 0, ">=": (a, b) => order(a, b) >= 0,
    is: (a, b) => a === b, "is not": (a, b) => a !== b,
    in: has, "not in": (a, list) => !has(a, list),
  };
  const truth = (v) => (isNumber(v) ? integer(v) != 0 : v !== null && v.length > 0);

  /* ------------------------------------------------------------- the functions of tileops.spec.functions */
  const least = (a, b) => (order(b, a) < 0 ? b : a);
  const most = (a, b) => (order(b, a) > 0 ? b : a);
  const fold = (pick) => (...values) => {
    const list = values.length === 1 && Array.isArray(values[0]) ? values[0] : values;
    return list.length ? list.reduce(pick) : fail("of nothing");
  };
  const size = (list) => BigInt(list.length);
  const { "+": add, "-": sub, "*": mul, "//": div } = binary;

  function axes(shape, dim) {
    if (dim === null || (Array.isArray(dim) && !dim.length)) return shape.map((_, i) => BigInt(i));
    const rank = BigInt(Math.max(shape.length, 1));
    const dims = Array.isArray(dim) ? dim : [dim];
    for (const d of dims) if (d < -rank || d >= rank) fail(`dim ${d} is out of range for ${shape.length} dimensions`);
    const found = dims.map((d) => (d < 0n ? d + rank : d)).sort((a, b) => Number(a - b));
    if (new Set(found).size !== found.length) fail(`dim ${dim} names an axis twice`);
    return found;
  }
  function ntuple(value, n) {
    const count = Number(n);
    if (!Array.isArray(value)) return Array(count).fill(value);
    if (value.length !== 1 && value.length !== count) fail(`(${value}) must be one number or ${count}`);
    return value.length === 1 ? Array(count).fill(value[0]) : value;
  }
  function window(size, kernel, stride, padding, dilation) {
    const n = size.length;
    const [k, st, p, d] = [kernel, stride, padding, dilation].map((v) => ntuple(v, n));
    if ([...st, ...d, ...size.map((s, i) => s + 2n * p[i])].some((v) => v >= 2n ** 31n)) fail("2**31 or more");
    return size.map((s, i) => [s + 2n * p[i] - d[i] * (k[i] - 1n) - 1n, st[i], s + p[i]]);
  }
  function ramp(n, start, top) {
    const below = (x) => {
      const inside = least(most(x, 0n), top);
      return floorDiv(inside * (inside - 1n), 2n) + most(x - top, 0n) * top;
    };
    return below(start + n) - below(start);
  }
  const functions = {
    axes, ntuple, max: fold(most), min: fold(least), len: size,
    folded: (shape, dim) => {
      const gone = axes(shape, dim);
      const out = [1n];
      shape.forEach((s, i) => {
        if (s === 1n) return;
        if (gone.includes(BigInt(i)) === (out.length % 2 === 0)) out.push(out.pop() * s);
        else out.push(s);
      });
      if (out.length === 1) out.push(1n);
      return out.length % 2 ? out : [...out, 1n];
    },
    abs: (v) => (integer(v) < 0 ? -integer(v) : integer(v)),
    ceildiv: (a, b) => sub(0n, div(sub(0n, a), b)),
    pow2ceil: (n) => { let p = 1n; while (p < n) p *= 2n; return p; },
    prod: (sizes) => sizes.reduce((a, b) => mul(a, b), 1n),
    finite: (v) => (isNumber(v) ? Math.abs(Number(v)) <= (2 - 2 ** -23) * 2 ** 127 : fail("no number")),
    isqrt: (n) => {
      if (n < 0n) fail("of a negative number");
      let r = BigInt(Math.floor(Math.sqrt(Number(n))));
      while (r * r > n) r -= 1n;
      while ((r + 1n) * (r + 1n) <= n) r += 1n;
      return r;
    },
    broadcast: (...shapes) => {
      const rank = Math.max(...shapes.map((s) => s.length));
      return [...Array(rank).keys()].map((d) => {
        const sizes = shapes.filter((s) => d - rank + s.length >= 0).map((s) => s[d - rank + s.length]);
        const large = sizes.filter((x) => x !== 1n);
        if (large.some((x) => x !== large[0])) fail(`shapes ${shapes.map((s) => `(${s})`).join(", ")} do not broadcast`);
        return large.length ? large[0] : 1n;
      });
    },
    reduced: (shape, dim, keepdim = false) => {
      const gone = axes(shape, dim);
      const kept = shape.map((s, i) => (gone.includes(BigInt(i)) ? (keepdim ? 1n : null) : s));
      return kept.filter((s) => s !== null);
    },
    conv: (s, kernel, stride, padding, dilation) => (padding === "same" ? [...s]
      : window(s, kernel, stride, padding === "valid" ? 0n : padding, dilation)
        .map(([span, step]) => floorDiv(span, step) + 1n)),
    pooled: (s, kernel, stride = null, padding = 0n, dilation = 1n, ceil = false) => {
      const steps = stride === null || (Array.isArray(stride) && !stride.length) ? kernel : stride;
      return window(s, kernel, steps, padding, dilation).map(([span, step, end]) => {
        const count = (ceil ? -floorDiv(-span, step) : floorDiv(span, step)) + 1n;
        return ceil && (count - 1n) * step >= end ? count - 1n : count;
      });
    },
    adaptive: (s, output) => {
      if (Array.isArray(output) && output.length !== s.length) fail(`(${output}) must be ${s.length} numbers`);
      const wanted = output === null ? s.map(() => null) : ntuple(output, s.length);
      return s.map((n, i) => (wanted[i] === null ? n : wanted[i]));
    },
    visible: (rows, columns, causal, left, right) => {
      const offset = columns - rows;
      const ahead = truth(causal) ? 0n : right;
      const ends = ahead < 0n ? rows * columns : ramp(rows, offset + ahead + 1n, columns);
      return ends - (left < 0n ? 0n : ramp(rows, offset - left, columns));
    },
  };

  /* ------------------------------------------------------------------------------------------ evaluation */
  const tensorFacts = {
    shape: (env, t) => env.shapes[t] ?? fail(`${t} is not given`),
    numel: (env, t) => functions.prod(env.shapes[t] ?? fail(`${t} is not given`)),
    dtype: (env, t) => env.dtypes[t],
    given: (env, t) => env.shapes[t] !== null,
  };
  function index(list, i) {
    const at = Number(i) < 0 ? Number(i) + list.length : Number(i);
    return at in list ? list[at] : fail("index out of range");
  }
  function slice(list, low, high, step) {
    const by = step ?? 1;
    if (by === 0) fail("slice step cannot be zero");
    const n = list.length;
    const [least, most] = by > 0 ? [0, n] : [-1, n - 1];
    const inside = (v, none) => (v === null ? none : Math.min(Math.max(v < 0 ? v + n : v, least), most));
    const out = [];
    const end = inside(high, by > 0 ? most : least);
    for (let i = inside(low, by > 0 ? least : most); by > 0 ? i < end : i > end; i += by) out.push(list[i]);
    return typeof list === "string" ? out.join("") : out;
  }
  function evaluate(node, env) {
    const at = (child) => evaluate(child, env);
    switch (node[0]) {
      case "i": return BigInt(node[1]);
      case "f": case "s": case "b": return node[1];
      case "z": return null;
      case "n": return env.names[node[1]] === undefined ? fail(`${node[1]} is not known`) : env.names[node[1]];
      case "t": return tensorFacts[node[1]](env, node[2]);
      case "u": return node[1] === "not" ? !truth(at(node[2])) : sub(0n, at(node[2]));
      case "o": return binary[node[1]](at(node[2]), at(node[3]));
      case "and": case "or": {
        let value;
        for (const child of node.slice(1)) {
          value = at(child);
          if (truth(value) === (node[0] === "or")) break;
        }
        return value;
      }
      case "c": {
        let left = at(node[1]);
        for (let i = 2; i < node.length; i += 2) {
          const right = at(node[i + 1]);
          if (!compare[node[i]](left, right)) return false;
          left = right;
        }
        return true;
      }
      case "if": return truth(at(node[1])) ? at(node[2]) : at(node[3]);
      case "l": return node.slice(1).map(at);
      case "at": return index(at(node[1]), at(node[2]));
      case "cut": return slice(at(node[1]), ...node.slice(2).map((n) => { const v = at(n); return v === null ? null : Number(v); }));
      case "f()": return functions[node[1]](...node.slice(2).map(at));
      default: return fail(`unknown expression ${node[0]}`);
    }
  }
  function reads(node, kind, found = new Set()) {
    if (!Array.isArray(node)) return found;
    if (node[0] === kind) found.add(kind === "t" ? node[2] : node[1]);
    else if (!["i", "f", "s", "b", "n", "t"].includes(node[0])) node.forEach((child) => reads(child, kind, found));
    return found;
  }

  return { Refused, evaluate, functions, reads, truth, fail };
})();
