// The second checker of certificates, format 2.0: written from docs/specification.md alone; where it has a section for
// something, that explains and proves what is done here.
// It needs nothing but the language, runs in Node (`node checker.js certificate.json`), in a worker and in a page, and
// shares no line with `fairbound verify`. Every double of a document is taken as exactly the number it is; everything else
// is computed between two bounds, and a condition counts only if it holds for all numbers between them.
"use strict";

class Malformed extends Error {} // not a certificate
class Unproved extends Error {} // a certificate whose claim is not proved
const form = (holds, why) => { if (!holds) throw new Malformed(why); };
const need = (holds, why) => { if (!holds) throw new Unproved(why); };

// ---- Numbers: intervals whose ends are whole multiples of a power of two -----------------------------------------------

const KEEP = 192; // bits that rounding leaves
const ROOM = 1n << 320n; // ends are exact up to this size
const FAR = 640; // what lies so many bits below another number is rounded before it is added

const effort = { spent: 0, most: Infinity, refused: false }; // steps that were made, and may be
const spend = (steps) => {
  effort.refused = effort.spent + steps > effort.most;
  if (!effort.refused) effort.spent += steps;
  else throw new Unproved("takes too much work (more is spent on it with --patient)");
};

const size = (n) => (n < 0n ? -n : n);
const bits = (n) => (n === 0n ? 0 : Math.ceil(Math.log2(Number(size(n))))); // at most one off
const down = (n, d) => (n < 0n ? -((-n + d - 1n) / d) : n / d); // the quotient rounded down, for d > 0
const up = (n, d) => -down(-n, d);
const root = (n) => { // the square root rounded down
  if (n < 1n) return 0n;
  let x = BigInt(Math.ceil(Math.sqrt(Number(n >> BigInt(2 * Math.max(0, (bits(n) >> 1) - 50)))))) + 1n;
  x <<= BigInt(Math.max(0, (bits(n) >> 1) - 50));
  for (;;) { // Newton's method from above falls until it is there
    const y = (x + n / x) >> 1n;
    if (y >= x) return x;
    x = y;
  }
};
const view = new DataView(new ArrayBuffer(8));
const raw = (x) => (view.setFloat64(0, x + 0), view.getBigUint64(0)); // the bits of a double

class Real { // some real number from lo · 2^e to hi · 2^e
  constructor(lo, hi, e) { this.lo = lo; this.hi = hi; this.e = e; }
  static made(lo, hi, e) { // rounded outward if it has become long
    spend(1);
    if (hi > ROOM || lo < -ROOM) {
      const by = Math.max(bits(lo), bits(hi)) - KEEP;
      return new Real(lo >> BigInt(by), -(-hi >> BigInt(by)), e + by);
    }
    return new Real(lo, hi, e);
  }
  static of(x) { // a double, exactly
    if (x instanceof Real) return x;
    if (Number.isSafeInteger(x)) return new Real(BigInt(x), BigInt(x), 0);
    need(Number.isFinite(x), "a number is not finite");
    const word = raw(x), exponent = Number((word >> 52n) & 2047n);
    const whole = (word & ((1n << 52n) - 1n)) | (exponent ? 1n << 52n : 0n);
    const m = x < 0 ? -whole : whole;
    return new Real(m, m, Math.max(exponent, 1) - 1075);
  }
  get zero() { return this.lo === 0n && this.hi === 0n; }
  get negated() { return new Real(-this.hi, -this.lo, this.e); }
  to(e) { // the same with another, larger, exponent
    const by = BigInt(e - this.e);
    return new Real(this.lo >> by, -(-this.hi >> by), e);
  }
  plus(other) {
    let a = this, b = Real.of(other);
    if (b.zero) return a;
    if (a.zero) return b;
    if (a.e < b.e) [a, b] = [b, a];
    if (a.e - b.e > FAR) b = b.to(a.e - FAR);
    const by = BigInt(a.e - b.e), lo = (a.lo << by) + b.lo;
    return Real.made(lo, a.lo === a.hi && b.lo === b.hi ? lo : (a.hi << by) + b.hi, b.e);
  }
  minus(other) { return this.plus(Real.of(other).negated); }
  times(other) {
    const a = this, b = Real.of(other), e = a.e + b.e;
    if (a.lo === a.hi && b.lo === b.hi) { const product = a.lo * b.lo; return Real.made(product, product, e); }
    if (a.lo >= 0n && b.lo >= 0n) return Real.made(a.lo * b.lo, a.hi * b.hi, e);
    let lo = a.lo * b.lo, hi = lo;
    for (const product of [a.lo * b.hi, a.hi * b.lo, a.hi * b.hi]) {
      if (product < lo) lo = product;
      if (product > hi) hi = product;
    }
    return Real.made(lo, hi, e);
  }
  over(other) {
    let a = this, b = Real.of(other);
    if (b.hi < 0n) { a = a.negated; b = b.negated; }
    need(b.lo > 0n, "a number is divided by what may be zero");
    const by = Math.max(0, KEEP + bits(b.hi) - Math.max(bits(a.lo), bits(a.hi)));
    if (a.zero) return a;
    const lo = a.lo << BigInt(by), hi = a.hi << BigInt(by);
    return Real.made(down(lo, lo < 0n ? b.lo : b.hi), up(hi, hi < 0n ? b.hi : b.lo), a.e - b.e - by);
  }
  get square() { const low = this.lo < 0n && this.hi > 0n; return low ? larger(ZERO, this.times(this)) : this.times(this); }
  get sqrt() {
    need(this.lo >= 0n, "a square root of what may be negative");
    let by = Math.max(0, 2 * KEEP - bits(this.hi));
    if ((this.e - by) % 2) by += 1;
    const hi = this.hi << BigInt(by), r = root(hi);
    return Real.made(root(this.lo << BigInt(by)), r * r === hi ? r : r + 1n, (this.e - by) / 2);
  }
  get log() {
    need(this.lo > 0n, "a logarithm of what may not be positive");
    spend(20);
    return new Real(logarithm(this.lo, this.e)[0], logarithm(this.hi, this.e)[1], -FIXED);
  }
  get exp() {
    spend(20);
    return hull(exponential(this.lo, this.e), exponential(this.hi, this.e));
  }
  atMost(other) { return this.minus(other).hi <= 0n; }
  below(other) { return this.minus(other).hi < 0n; }
  get about() { // a double near its middle, for people and for choices that need not be right
    const n = (this.lo + this.hi) / 2n, by = Math.max(0, bits(n) - 60), e = this.e + by;
    const x = Number(n >> BigInt(by));
    return e < -1000 ? x * 2 ** -1000 * 2 ** Math.max(e + 1000, -1000) : x * 2 ** Math.min(e, 1000);
  }
}
const ZERO = new Real(0n, 0n, 0), ONE = new Real(1n, 1n, 0);
const hull = (a, b) => { // from the low end of a to the high end of b
  const e = Math.max(Math.min(a.e, b.e), Math.max(a.e, b.e) - FAR);
  const at = (x) => (x.e < e ? x.to(e) : new Real(x.lo << BigInt(x.e - e), x.hi << BigInt(x.e - e), e));
  return Real.made(at(a).lo, at(b).hi, e);
};
const pick = (a, b, sign) => {
  const difference = a.minus(b);
  if (sign > 0 ? difference.lo >= 0n : difference.hi <= 0n) return a;
  if (sign > 0 ? difference.hi <= 0n : difference.lo >= 0n) return b;
  const low = (x) => new Real(x.lo, x.lo, x.e), high = (x) => new Real(x.hi, x.hi, x.e);
  return hull(pick(low(a), low(b), sign), pick(high(a), high(b), sign));
};
const larger = (a, b) => pick(Real.of(a), Real.of(b), 1), smaller = (a, b) => pick(Real.of(a), Real.of(b), -1);
const largest = (list) => list.reduce(larger), smallest = (list) => list.reduce(smaller);
const positive = (x) => larger(x, ZERO);
const total = (list) => list.reduce((sum, x) => sum.plus(x), ZERO);
const dot = (a, b) => {
  spend(a.length);
  let sum = ZERO;
  for (let n = 0; n < a.length; n += 1) if (!(a[n] === 0 || b[n] === 0 || a[n].zero)) sum = sum.plus(Real.of(a[n]).times(b[n]));
  return sum;
};

// Logarithm and exponential in whole multiples of 2^-256, each step rounded by less than one of them. A series has less than
// 100 terms, and the errors of one call stay below 1024 of these units for each power of two that is split off.
const FIXED = 256, UNIT = 1n << 256n;
const odd = (z, sign) => { // z + sign z^3/3 + z^5/5 + sign z^7/7 + ..., for z up to 0.45
  const square = (z * z) >> 256n;
  let sum = 0n, power = z, turn = 1n;
  for (let j = 1n; power > 2n || power < -2n; j += 2n) {
    sum += (turn * power) / j;
    power = (power * square) >> 256n;
    turn *= sign;
  }
  return sum;
};
const LN2 = 2n * odd(UNIT / 3n, 1n);
const logarithm = (n, e) => { // of n · 2^e, from below and from above
  let k = bits(n);
  let m = k > FIXED ? n >> BigInt(k - FIXED) : n << BigInt(FIXED - k);
  if (m * m < UNIT * UNIT / 2n) { m <<= 1n; k -= 1; }
  const value = 2n * odd(((m - UNIT) << 256n) / (m + UNIT), 1n) + BigInt(k + e) * LN2;
  const error = 2048n * BigInt(Math.abs(k + e) + 1);
  return [value - error, value + error];
};
const exponential = (n, e) => {
  if (n !== 0n && bits(n) + e > 40) {
    need(n < 0n, "an exponential is too large");
    return new Real(0n, 1n, -1e9);
  }
  const x = e < -FIXED ? n >> BigInt(-FIXED - e) : n << BigInt(e + FIXED);
  const k = (2n * x + LN2) / (2n * LN2), r = x - k * LN2;
  let sum = 0n, term = UNIT;
  for (let j = 1n; term > 2n || term < -2n; j += 1n) {
    sum += term;
    term = ((term * r) >> 256n) / j;
  }
  const error = 4096n * (size(k) + 1n);
  return new Real(sum - error, sum + error, Number(k) - FIXED);
};

// ---- Text: strict JSON, canonical text, digest ---------------------------------------------------------------------------

const MOST_BYTES = 32e6, DEEPEST = 14;

class Written { constructor(value) { this.value = value; } } // a whole number written with a fraction or an exponent

// A name, or a text, for people: nothing that cannot be seen, and not too much.
const shown = (value) => {
  const all = JSON.stringify(value).replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (unit) => `\\u{${unit.codePointAt(0).toString(16)}}`);
  return all.length > 80 ? `${all.slice(0, 80)} ...` : all;
};
const listed = (names) => names.slice(0, 20).map(shown).join(", ") + (names.length > 20 ? ` and ${names.length - 20} more` : "");

function parse(text) { // whole literals that are no double come out as BigInt
  let at = 0, deep = 0;
  const fail = (why) => { throw new Malformed(`${why} (character ${at} of the text)`); };
  const blank = () => { while (" \t\n\r".includes(text[at])) at += 1; };
  const sticky = (pattern) => { pattern.lastIndex = at; const found = pattern.exec(text); if (found) at = pattern.lastIndex; return found; };
  const literal = /-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?/y;
  const stretch = /[^"\\\u0000-\u001f]*/y, escape = /\\(?:u([0-9a-fA-F]{4})|(["\\/bfnrt]))/y;
  const escapes = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };
  const string = () => {
    at += 1;
    let value = "";
    for (;;) {
      value += sticky(stretch)[0];
      if (text[at] === '"') { at += 1; return value; }
      const found = sticky(escape) ?? fail("has a text that is not JSON's");
      value += found[1] ? String.fromCharCode(parseInt(found[1], 16)) : escapes[found[2]] ?? found[2];
    }
  };
  const numeral = () => {
    const found = sticky(literal) ?? fail("is not JSON");
    const value = Number(found[0]);
    if (found[1] || found[2]) return Number.isInteger(value) ? new Written(value) : value;
    if (Number.isSafeInteger(value)) return value;
    if (found[0].length > 400) fail("has a number that is too large");
    return Number.isFinite(value) && BigInt(found[0]) === BigInt(value) ? value : BigInt(found[0]);
  };
  const entries = (end, read) => {
    deep += 1;
    if (deep > DEEPEST) fail("is nested deeper than any certificate");
    at += 1;
    blank();
    if (text[at] === end) at += 1;
    else for (;;) {
      read();
      blank();
      at += 1;
      if (text[at - 1] === end) break;
      if (text[at - 1] !== ",") fail("is not JSON");
      blank();
    }
    deep -= 1;
  };
  const value = () => {
    blank();
    const first = text[at];
    if (first === '"') return string();
    if (first === "[") { const list = []; entries("]", () => list.push(value())); return list; }
    if (first === "{") {
      const object = Object.create(null);
      entries("}", () => {
        if (text[at] !== '"') fail("is not JSON");
        const key = string();
        if (key in object) fail(`has two entries ${shown(key)}`);
        blank();
        if (text[at] !== ":") fail("is not JSON");
        at += 1;
        object[key] = value();
      });
      return object;
    }
    for (const [word, meaning] of [["null", null], ["true", true], ["false", false]]) {
      if (text.startsWith(word, at)) { at += word.length; return meaning; }
    }
    return numeral();
  };
  const document = value();
  blank();
  if (at < text.length) fail("is followed by something");
  return document;
}

function canonical(value) {
  if (typeof value === "number") return raw(value).toString(16).padStart(16, "0");
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value === "string") {
    const short = { '"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f" };
    const long = (unit) => short[unit] ?? `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
    return `"${value.replace(/[^ !#-[\]-~]/g, long)}"`;
  }
  if (value === null || typeof value === "boolean") return String(value);
  return `{${Object.keys(value).sort().map((key) => `${canonical(key)}:${canonical(value[key])}`).join(",")}}`;
}

const primes = (count) => {
  const found = [];
  for (let n = 2; found.length < count; n += 1) if (found.every((p) => n % p)) found.push(n);
  return found;
};
const fraction = (n, power) => { // 32 bits of the fraction of the square or cubic root of a small number
  const wanted = BigInt(n) << BigInt(32 * power);
  let x = BigInt(Math.floor(n ** (1 / power) * 2 ** 32)) + 8n;
  while (x ** BigInt(power) > wanted) x -= 1n;
  return Number(x & 0xffffffffn);
};
const START = primes(8).map((p) => fraction(p, 2)), ROUNDS = primes(64).map((p) => fraction(p, 3));

function sha256(bytes) { // as bytes
  const padded = new Uint8Array((((bytes.length + 8) >> 6) + 1) << 6);
  padded.set(bytes);
  padded[bytes.length] = 128;
  const data = new DataView(padded.buffer), state = Int32Array.from(START), w = new Int32Array(64);
  data.setBigUint64(padded.length - 8, BigInt(bytes.length) * 8n);
  const turn = (x, n) => (x >>> n) | (x << (32 - n));
  for (let block = 0; block < padded.length; block += 64) {
    for (let i = 0; i < 16; i += 1) w[i] = data.getInt32(block + 4 * i);
    for (let i = 16; i < 64; i += 1) {
      const x = w[i - 15], y = w[i - 2];
      w[i] = w[i - 16] + (turn(x, 7) ^ turn(x, 18) ^ (x >>> 3)) + w[i - 7] + (turn(y, 17) ^ turn(y, 19) ^ (y >>> 10));
    }
    let [a, b, c, d, e, f, g, h] = state;
    for (let i = 0; i < 64; i += 1) {
      const one = (h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & f) ^ (~e & g)) + ROUNDS[i] + w[i]) | 0;
      const two = ((turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      [h, g, f, e, d, c, b, a] = [g, f, e, (d + one) | 0, c, b, a, (one + two) | 0];
    }
    [a, b, c, d, e, f, g, h].forEach((x, i) => { state[i] += x; });
  }
  const out = new DataView(new ArrayBuffer(32));
  state.forEach((x, i) => out.setInt32(4 * i, x));
  return new Uint8Array(out.buffer);
}
const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
const encode = (text) => new TextEncoder().encode(text);

// ---- Divergences -------------------------------------------------------------------------------------------------------

// Of each its name for people, f'(inf), the offset, whether radii are at most 1, whether g' is a step (variances are dropped
// then), the conjugate g(z) for lam > 0, and what an atom of mass p adds to the distance if it has the mass q.
const DIVERGENCES = {
  hellinger: {
    words: "Hellinger's distance", slope: 0, offset: 1, bounded: true, step: false,
    conjugate: (z, lam) => { need(z.hi < 0n, "a value reaches its multiplier"); return lam.square.over(z.times(-4)); },
    cost: (p, q) => p.times(q).sqrt.negated,
  },
  total_variation: {
    words: "total variation", slope: 1, offset: 0, bounded: true, step: true,
    conjugate: (z, lam) => { need(z.atMost(lam), "a value is too far above its multiplier"); return positive(z); },
    cost: (p, q) => positive(q.minus(p)),
  },
  kl: {
    words: "Kullback-Leibler divergence", slope: Infinity, offset: 1, bounded: false, step: false,
    conjugate: (z, lam) => lam.times(z.over(lam).exp),
    cost: (p, q) => (q.zero ? p : q.times(q.over(p).log).minus(q).plus(p)),
  },
  chi_squared: {
    words: "chi squared", slope: Infinity, offset: 1, bounded: false, step: false,
    conjugate: (z, lam) => positive(z.plus(lam.times(2))).square.over(lam.times(4)),
    cost: (p, q) => q.minus(p).square.over(p),
  },
  trimming: {
    words: "trimming, the share of the population that is taken away", slope: Infinity, offset: 0, bounded: true, step: true,
    conjugate: (z, lam, kappa) => kappa.times(positive(z)),
    cost: (p, q, kappa) => { need(q.atMost(kappa.times(p)), "the witness is too dense"); return ZERO; },
  },
};

// ---- The document: each type reads a value, or refuses it -----------------------------------------------------------------

const within = (path, read) => {
  try { return read(); } catch (error) {
    if (error instanceof Malformed) error.message = `${path}${/^[[.]/.test(error.message) ? "" : /^(is|has|lacks) /.test(error.message) ? " " : ": "}${error.message}`;
    throw error;
  }
};
const plain = (value) => (value instanceof Written ? value.value : typeof value === "number" ? value : NaN);
const between = (least, most) => (value) => {
  const x = plain(value);
  form(x >= least && x <= most, `is not a number from ${least} to ${most}`);
  return x;
};
const number = between(-1e100, 1e100), amount = between(0, 1e100), share = between(0, 1), radius = between(0, 1e9);
const coefficient = between(-2, 2);
const count = (value) => {
  form(Number.isInteger(value) && value >= 0 && value <= 2 ** 53, "is not a whole number from 0 to 2^53");
  return value;
};
const seed = (value) => {
  form(typeof value === "bigint" || Number.isInteger(value), "is not a whole number");
  form(value >= 0 && value <= 2 ** 64, "is not from 0 to 2^64");
  return BigInt(value);
};
const textOf = (most) => (value) => {
  form(typeof value === "string" && value.length <= 2 * most && [...value].length <= most, "is not a text, or too long");
  return value;
};
const text = textOf(10000);
const oneOf = (...choices) => (value) => { form(choices.includes(value), `is not one of ${choices.join(", ")}`); return value; };
const truth = (value) => { form(typeof value === "boolean", "is not true or false"); return value; };
const or = (type) => (value) => (value === null ? null : type(value));
const list = (type, most = Infinity) => (value) => {
  form(Array.isArray(value) && value.length <= most, "is not a list, or too long");
  return value.map((entry, i) => (typeof entry === "number" && type === number && entry >= -1e100 && entry <= 1e100 ? entry : within(`[${i}]`, () => type(entry))));
};
const table = (type) => list(list(type));
const object = (types) => (value) => {
  form(value !== null && typeof value === "object" && !Array.isArray(value) && !(value instanceof Written), "is not an object");
  for (const key of Object.keys(value)) form(Object.hasOwn(types, key), `has an unknown entry ${shown(key)}`);
  const read = {};
  for (const key of Object.keys(types)) {
    form(key in value, `lacks ${key}`);
    read[key] = within(`.${key}`, () => types[key](value[key]));
  }
  return read;
};
const choose = (key, choices) => (value) => {
  const chosen = value === null ? undefined : value[key];
  form(typeof chosen === "string" && Object.hasOwn(choices, chosen), `has no ${key} out of ${Object.keys(choices).join(", ")}`);
  return choices[chosen](value);
};
const atom = (value) => (typeof value === "string" ? text(value) : typeof value === "boolean" ? value : number(value));
const name = (value) => {
  if (!Array.isArray(value)) return atom(value);
  form(value.length > 0, "is an empty name");
  return list(atom, 100)(value);
};
const bin = (value) => { form(Array.isArray(value) && value.length === 4, "is not a bin of four numbers"); return value.map(amount); };
const cut = (value) => { form(Array.isArray(value) && value.length === 3, "is not a cut of three numbers"); return value.map(amount); };
const stratum = (value) => { form(Array.isArray(value) && value.length === 2, "is not a stratum of two numbers"); return value.map(amount); };

const knowledge = choose("kind", {
  losses: object({ kind: text, cells: table(list(bin)), rows: amount }),
  mean: object({ kind: text, mean: table(amount) }),
  mean_variance: object({ kind: text, mean: table(amount), variance: table(amount) }),
  strata: object({ kind: text, names: list(name), cells: table(list(stratum)) }),
});
const limits = object({ skew: or(share), rows: list(list(coefficient)), most: list(coefficient) });
const multipliers = { group_mu: list(number), label_mu: list(number) };
const leaf = choose("form", {
  T: object({
    form: text, w: table(number), centre: list(number), gamma: list(number), omega: list(number), lam: amount, ...multipliers,
    relaxed: oneOf("none", "plus", "minus", "both"),
  }),
  F: object({
    form: text, zeta: table(number), base: or(list(number)), offset: or(list(number)), slope: or(table(number)),
    centre: list(number), omega: list(number), lam: amount, nu: or(list(number)), ...multipliers,
  }),
  P: object({ form: text, sets: (value) => list(set)(value) }),
});
const roles = { zeta: table(number), plus: table(number), minus: table(number) };
const slopes = { slope: or(table(number)), plus_slope: or(table(number)), minus_slope: or(table(number)) };
const set = object({ ...roles, ...slopes, centre: list(number), omega: list(number), lam: amount, nu: or(list(number)), ...multipliers });
const witness = object({
  group_mass: list(amount), label_mass: list(amount), mass: or(table(amount)), unseen: table(amount), reweighting: table(list(amount)),
});
const proof = object({
  axis: oneOf("label", "group", "part"), floors: list(share), splits: list(or(cut)), leaves: list(leaf),
});
const answer = object({ bound: number, attained: or(number), witness: or(witness), proof });
const sampling = object({
  region: text, affinity: share, weight: table(amount), knowledge, losses: or(list(amount)), counts: or(table(list(count))), seed: or(seed),
});
const statement = object({
  objective: or(object({ plus: or(count), minus: or(count), label: or(count), inside: truth, ratio: truth })),
  confidence: or(share), sampling: or(sampling),
});
const question = object({
  measure: count, metric: object({ name: text, group: or(name) }), shift: oneOf("general", "stratified", "sensitive"),
  support: oneOf("any", "observed"), empty_cells: oneOf("refuse", "ceiling"), divergence: oneOf(...Object.keys(DIVERGENCES)), fair: truth,
  base_rate_tolerance: or(share), group_limits: limits, label_limits: limits, confidence: or(share), tol: amount,
  statements: list(statement), distance: or(radius),
  points: list(object({ rho: radius, claim: or(object({ bound: number, attained: or(number) })), answers: list(answer) })),
});
const population = object({
  groups: list(name), labels: list(name), rows: or(amount), excluded_rows: count, weighted: truth, weight: table(amount),
  measures: list(object({ loss: textOf(200), pos_label: or(name), ceiling: or(amount), knowledge })),
});
const digits = (value) => { form(typeof value === "string" && [...value].length === 64, "is no text of 64 characters"); return value; };
const versioned = or(object({ name: text, version: or(text) }));
const provenance = object({
  date: or(text), note: or(text), files: list(object({ name: text, sha256: digits })),
  columns: list(object({ role: oneOf("group", "label", "prediction", "probability", "losses", "weight"), name: text })),
  meanings: list(object({ label: name, words: text })), model: versioned, data: versioned,
});
const certificate = object({
  format: oneOf("fairbound-certificate"), version: oneOf("2.0.0"), producer: text, provenance, population, confidence: or(share),
  questions: list(question), gates: list(object({ question: count, threshold: number, passed: truth })), digest: text,
});

// ---- What fits together --------------------------------------------------------------------------------------------------

const INDEX = (n) => Array.from({ length: n }, (_, i) => i);
const zeroOne = (loss) => loss === "zero_one" || loss === "selected";

const isEvery = (objective) => objective !== null && objective.plus === null && objective.minus === null; // every two groups
const distinct = (names) => new Set(names.map(canonical)).size === names.length;
const long = (entries, length, what) => form(entries === null || entries.length === length, `${what} has not ${length} entries`);

function fits(read) { // the questions, each with the population that it is about
  const { population: people, questions, gates, confidence } = read;
  for (const names of [people.groups, people.labels]) {
    form(names.length > 1, "there are fewer than two groups or labels");
    form(distinct(names), "two groups or labels have one name");
  }
  form(people.measures.length > 0 && questions.length > 0, "there is no measure, or no question");
  for (const measure of people.measures) {
    form(measure.pos_label === null || measure.loss === "selected", "pos_label is for selections");
    known({ ...people, ...measure }, people.weight, measure.knowledge, measure.loss);
  }
  for (const one of [read, ...questions]) {
    form((one.confidence === null) === (confidence === null), "a confidence is missing");
    form(one.confidence === null || (one.confidence > 0 && one.confidence < 1), "a confidence is not between 0 and 1");
  }
  form(new Set(gates.map((gate) => gate.question)).size === gates.length, "a question has two gates");
  form(gates.every((gate) => gate.question < questions.length), "a gate is of no question");
  return questions.map((asked, i) => within(`questions[${i}]`, () => {
    form(asked.measure < people.measures.length, "there is no such measure");
    const one = { population: { ...people, ...people.measures[asked.measure] }, question: asked, ...asked };
    questionFits(one);
    return one;
  }));
}

const shapedFor = ({ groups, labels }) => (rows, what) =>
  form(rows.length === groups.length && rows.every((row) => row.length === labels.length), `${what} is no table of ${groups.length} x ${labels.length}`);

const addUp = (weight, weights, what) => {
  const over = total(weights.map(Real.of)).minus(weight), room = Real.of(weight).times(1e-9);
  form(over.atMost(room) && over.negated.atMost(room), `the ${what} of a cell do not add up to its weight`);
};

function known(people, weight, facts, loss = null) { // weights and losses of a population, or of a surrogate
  const S = people.groups.length, C = people.labels.length, M = people.ceiling, shaped = shapedFor(people);
  shaped(weight, "weight");
  form(weight.some((row) => row.some((w) => w > 0)), "no cell has weight");
  if (facts.kind === "losses") {
    shaped(facts.cells, "cells");
    for (const s of INDEX(S)) for (const y of INDEX(C)) {
      for (const [low, high, w, t] of facts.cells[s][y]) {
        form(low <= high && w > 0 && t <= 1 && (M === null || high <= M), "a bin's numbers do not fit together");
        if (zeroOne(loss)) form(low === high && (low === 0 || low === 1), "a bin of a loss that is 0 or 1 is neither");
      }
      addUp(weight[s][y], facts.cells[s][y].map((b) => b[2]), "bins");
    }
  } else if (facts.kind === "strata") {
    form(facts.names.length > 0 && distinct(facts.names), "there is no stratum, or two have one name");
    shaped(facts.cells, "cells");
    for (const s of INDEX(S)) for (const y of INDEX(C)) {
      long(facts.cells[s][y], facts.names.length, "a cell's list of strata");
      for (const [w, mean] of facts.cells[s][y]) form((M === null || mean <= M) && (w > 0 || mean === 0), "a mean of a stratum cannot be");
      addUp(weight[s][y], facts.cells[s][y].map(([w]) => w), "strata");
    }
  } else {
    shaped(facts.mean, "mean");
    form(M !== null && M > 0, "there is no largest loss");
    form(facts.mean.every((row) => row.every((mean) => mean <= M)), "a mean is above the largest loss");
    if (facts.kind === "mean_variance") {
      shaped(facts.variance, "variance");
      for (const s of INDEX(S)) for (const y of INDEX(C)) {
        const mean = facts.mean[s][y];
        form(facts.variance[s][y] <= mean * (M - mean) * (1 + 1e-9), "a variance is too large");
      }
    }
  }
  if (zeroOne(loss)) form(M === 1 && facts.kind !== "mean_variance", "a loss that is 0 or 1 has another ceiling, or variances");
  if (["brier", "jsd", "absolute"].includes(loss)) form(M !== null && M <= 1, "the loss cannot be so large");
}

function questionFits(read) {
  const { population: people, question: asked, statements, points } = read;
  const S = people.groups.length, C = people.labels.length, M = people.ceiling, metric = asked.metric.name, shaped = shapedFor(people);

  for (const [side, n] of [[asked.group_limits, S], [asked.label_limits, C]]) {
    form(side.rows.length === side.most.length && side.rows.every((row) => row.length === n), "limits do not fit together");
  }
  form(asked.base_rate_tolerance === null || (asked.fair && asked.base_rate_tolerance > 0), "a tolerance is for base rates that are alike");
  if (asked.base_rate_tolerance !== null || !asked.fair) {
    form(asked.label_limits.skew === null && !asked.label_limits.rows.length, "limits on labels are for equal base rates");
  }
  const stratified = asked.shift === "stratified";
  form(asked.confidence === null || (asked.divergence === "hellinger" && !stratified), "a confidence is for Hellinger's distance, and not for strata");
  form(!stratified || asked.support === "observed", "within strata only losses that occur are spoken of");

  form(statements.length > 0, "there is no statement");
  form(metric !== "loss" || (statements.length === 1 && asked.metric.group === null), "a loss is one statement");
  const first = statements[0].sampling;
  for (const { objective, confidence, sampling: sample } of statements) {
    form(confidence === null || (confidence > 0 && confidence < 1), "a confidence is not between 0 and 1");
    form((confidence === null) === (asked.confidence === null), "a confidence is missing");
    form((objective === null) === (metric === "loss"), "an objective does not fit the metric");
    form((sample === null) === (confidence === null), "a confidence needs a sample");
    if (objective !== null && objective.ratio) {
      form((objective.plus === null) === (objective.minus === null) && objective.label === null, "a ratio is of two groups");
    }
    if (sample === null) continue;
    form(M !== null && M > 0, "there is no largest loss");
    form(sample.knowledge.kind !== "strata", "a sample has no strata");
    known(people, sample.weight, sample.knowledge);
    form((sample.losses === null) === (sample.counts === null), "rounded losses and counts belong together");
    if (sample.losses !== null) {
      const { losses, counts } = sample;
      form(losses.length > 1 && losses[0] === 0 && losses[losses.length - 1] === M, "rounded losses are not from 0 to the ceiling");
      form(losses.every((x, i) => i === 0 || losses[i - 1] < x), "rounded losses do not increase");
      shaped(counts, "counts");
      for (const row of counts) for (const cell of row) long(cell, losses.length, "a cell's counts");
    }
    form(sample.region === first.region && sample.seed === first.seed, "statements have different regions or seeds");
    form(canonical(sample.losses) === canonical(first.losses), "statements have different rounded losses");
    form(sample.region !== "hoeffding" || (sample.losses === null && sample.seed === null), "the region has no rounded losses");
  }

  const { bounded } = DIVERGENCES[asked.divergence];
  const least = points.reduce((x, point) => (point.claim === null ? x : Math.min(x, point.rho)), Infinity);
  form(least < Infinity, "no radius has a claim");
  form(read.distance !== null || points.length === 1, "a single certificate has one radius");
  const nearest = [read.distance ?? 0, ...points.filter((point) => point.claim === null).map((point) => point.rho)];
  for (const x of [...nearest, ...points.map((point) => point.rho)]) form(!bounded || x <= 1, "a radius is above 1");
  for (const x of nearest) form(Real.of(x).minus(least).atMost(1e-9), "a radius without a claim exceeds one with a claim");
  const plausible = ({ bound, attained }, ratio) => {
    for (const x of [bound, attained ?? bound]) form((metric !== "loss" && !ratio) || (x >= 0 && !(ratio && x > 1)), "a bound is impossible");
  };
  for (const [at, point] of points.entries()) {
    within(`points[${at}]`, () => {
      long(point.answers, point.claim === null ? 0 : statements.length, "answers");
      if (point.claim !== null) plausible(point.claim, metric === "demographic_parity_ratio");
      point.answers.forEach((given, i) => answerFits(given, statements[i].objective));
    });
  }

  function answerFits(given, objective) {
    plausible(given, objective !== null && objective.ratio);
    form((given.witness === null) === (given.attained === null), "a witness is there if and only if a value is attained");
    form(given.witness === null || !isEvery(objective), "a witness is of two groups");
    if (given.witness !== null) {
      long(given.witness.group_mass, S, "group_mass");
      long(given.witness.label_mass, C, "label_mass");
      for (const key of ["mass", "unseen", "reweighting"]) if (given.witness[key] !== null) shaped(given.witness[key], key);
    }
    const parts = objective !== null && objective.label !== null ? 2 : 1;
    const n = { label: C, group: S, part: parts }[given.proof.axis], part = given.proof.axis === "part";
    long(given.proof.floors, n, "floors");
    for (const one of given.proof.leaves.flatMap((leaf_) => (leaf_.form === "P" ? leaf_.sets : [leaf_]))) {
      long(one.group_mu, asked.group_limits.rows.length, "group_mu");
      long(one.label_mu, asked.label_limits.rows.length, "label_mu");
      long(one.centre, n, "centre");
      long(one.omega, one.form === undefined || (one.form === "F" && part) ? C : n, "omega");
      for (const key of ["w", "zeta", "slope", "plus", "minus", "plus_slope", "minus_slope"]) if (one[key]) shaped(one[key], key);
      for (const [key, length] of [["gamma", n], ["base", n], ["offset", given.proof.axis === "group" ? C : S], ["nu", S]]) {
        if (one[key]) long(one[key], length, key);
      }
    }
  }
}

// ---- Values, atoms, peaks ------------------------------------------------------------------------------------------------

const sum2 = (rows) => total(rows.flat().map(Real.of));
const TINY = ONE.over(1e12); // the leeway, delta

// What a statement is about: of each cell its sign, part and mass, the losses that there may be, and the two laws of atoms.
function setting(read, { objective, sampling: sample }) {
  const { population: people, question: asked } = read, M = people.ceiling;
  const { weight, knowledge: facts } = sample ?? people;
  const S = people.groups.length, C = people.labels.length, divergence = DIVERGENCES[asked.divergence];
  const sensitive = asked.shift === "sensitive", observed = asked.support === "observed";
  if (objective !== null) {
    const { plus, minus, label } = objective;
    need(plus !== minus || isEvery(objective), "an objective compares a group with itself");
    need(!isEvery(objective) || sample === null, "no sample is one for every two groups");
    need((plus ?? 0) < S && (minus ?? 0) < S && (label ?? 0) < C, "an objective names what is not there");
  }
  need(sensitive || (asked.shift === "stratified") === (facts.kind === "strata"), "strata belong to stratified shifting");
  need(!observed || sensitive || "cells" in facts, "with moments one cannot tell which losses occur");
  const counts = (y) => objective === null || objective.label === null || (y === objective.label) === objective.inside;
  const mass = sum2(weight);
  const made = (signOf) => INDEX(S).flatMap((s) => INDEX(C).map((y) => {
    const sign = objective === null ? 1 : counts(y) ? signOf(s) : 0;
    const part = objective !== null && objective.label !== null && y !== objective.label ? 1 : 0;
    const cell = { s, y, sign, part, empty: weight[s][y] === 0, p: Real.of(weight[s][y]).over(mass) };
    return Object.assign(cell, laws(cell));
  }));
  const cells = made((s) => (isEvery(objective) ? 0 : s === objective.plus ? 1 : s === objective.minus ? -1 : 0));
  const every = isEvery(objective) ? { zeta: cells, plus: made(() => 1), minus: made(() => -1) } : null; // by roles
  const kept = smaller(ONE, Real.of(asked.base_rate_tolerance ?? 0).plus(TINY));
  const e = !asked.fair ? ONE : asked.base_rate_tolerance === null ? ZERO : kept;
  return {
    read, asked, objective, sample, S, C, M, divergence, hellinger: asked.divergence === "hellinger", cells, every, e, equal: e.zero, any: e.lo === e.hi && e.minus(ONE).zero, counts,
    sides: objective === null ? [] : [objective.plus, objective.minus].filter((s) => s !== null),
    limited: { group: widened(asked.group_limits, S), label: widened(asked.label_limits, C) },
  };

  function laws({ s, y, sign, empty }) {
    if (empty) {
      need(!(sensitive || observed) || asked.empty_cells === "ceiling", "a cell is empty");
      need(M !== null, "there is no largest loss");
      return { low: ZERO, high: Real.of(M), bound: [], attained: [] };
    }
    let bound, attained, ends = [ZERO, M === null ? null : Real.of(M)];
    if (facts.kind === "losses") {
      const bins = facts.cells[s][y].map((numbers) => numbers.map(Real.of)), all = total(bins.map((b) => b[2]));
      bound = bins.flatMap(([low, high, w, t]) => [[low, w.times(ONE.minus(t)).over(all)], [high, w.times(t).over(all)]]);
      attained = bins.map(([low, high, w, t]) => [low.plus(t.times(high.minus(low))), w.over(all)]);
      if (observed) ends = [smallest(bins.map((b) => b[0])), largest(bins.map((b) => b[1]))];
    } else if (facts.kind === "strata") {
      const all = total(facts.cells[s][y].map(([w]) => Real.of(w)));
      bound = attained = facts.cells[s][y].map(([w, mean]) => [Real.of(mean), Real.of(w).over(all)]);
      const there = bound.filter(([, part]) => !part.zero).map(([mean]) => mean);
      ends = [smallest(there), largest(there)];
    } else {
      const E = Real.of(facts.mean[s][y]), V = facts.kind === "mean" ? null : Real.of(facts.variance[s][y]);
      const most = Real.of(M), gap = most.minus(E);
      if (sensitive) bound = [[E, ONE]];
      else if (V === null || divergence.step) bound = [[ZERO, ONE.minus(E.over(M))], [most, E.over(M)]];
      else if (sign >= 0 && gap.zero) bound = [[ZERO, ZERO], [most, ONE]];
      else if (sign >= 0) {
        const d = V.plus(gap.square);
        bound = [[E.minus(V.over(gap)), gap.square.over(d)], [most, V.over(d)]];
      } else if (E.zero) bound = [[ZERO, ONE], [most, ZERO]];
      else bound = [[ZERO, V.over(V.plus(E.square))], [E.plus(V.over(E)), E.square.over(V.plus(E.square))]];
      attained = bound;
    }
    if (sensitive) {
      const mean = total(attained.map(([loss, part]) => loss.times(part)));
      bound = attained = [[mean, ONE]];
      ends = [mean, mean];
    }
    need(ends[1] !== null, "there is no largest loss");
    return { low: ends[0], high: ends[1], bound: sign === 0 ? [[ZERO, ONE]] : bound.filter(([, part]) => !part.zero), attained };
  }
}

const widened = ({ skew, rows, most }, n) => ({
  skew: skew === null ? null : Real.of(skew).plus(TINY), rows, n,
  most: most.map((b, j) => Real.of(b).plus(TINY.times(Math.max(0, ...rows[j].map(Math.abs))))),
});

// The same with the values that a proof is about: of each cell its atoms (value, mass), its ceiling and its peak.
function valued(place, factor) {
  const { S, C, objective, equal, every } = place, counted = INDEX(C).filter(place.counts);
  const evaluated = (list, sides) => {
    const cells = list.map((cell) => {
      const value = (loss) => (cell.sign > 0 ? loss.times(factor) : cell.sign < 0 ? loss.negated : ZERO);
      const atoms = cell.bound.map(([loss, part]) => [value(loss), part.times(cell.p)]);
      const ceiling = value(cell.sign > 0 ? cell.high : cell.low);
      let peak = atoms.length ? largest(atoms.map((one) => one[0])) : ceiling;
      if (place.divergence.slope < Infinity) peak = larger(peak, ceiling);
      return { ...cell, atoms, ceiling, peak };
    });
    if (objective !== null && !equal) {
      for (const s of sides) {
        const most = largest(counted.map((y) => cells[s * C + y].peak));
        for (const y of counted) cells[s * C + y].peak = most;
      }
    }
    return cells;
  };
  const cells = evaluated(place.cells, place.sides), at = (s, y) => cells[s * C + y];
  const inRoles = every && Object.fromEntries(Object.entries(every).map(([role, list]) => [role, evaluated(list, INDEX(S))]));
  const highest = (role, y) => largest(INDEX(S).map((s) => inRoles[role][s * C + y].peak));
  let heights = cells.map((cell) => cell.peak);
  if (every) heights = counted.map((y) => highest("plus", y).plus(highest("minus", y)));
  else if (objective !== null) heights = counted.map((y) => total(place.sides.map((s) => at(s, y).peak)));
  return { ...place, cells, every: inRoles, at, counted, top: heights.length ? largest(heights) : ZERO };
}

// The leeway: R, the largest ratio kappa, and for Hellinger's distance the affinity A = 1 - R.
function reach(place, rho) {
  if (place.asked.divergence === "trimming") return { R: ZERO, A: null, kappa: ONE.plus(TINY).over(ONE.minus(rho)) };
  if (!place.hellinger) return { R: Real.of(rho).plus(TINY.times(ONE.plus(rho))), A: null, kappa: ONE };
  let A = ONE.minus(Real.of(rho).square);
  if (place.sample !== null) {
    const a = Real.of(place.sample.affinity);
    A = A.times(a).minus(positive(ONE.minus(A.square).times(ONE.minus(a.square))).sqrt);
  }
  A = positive(A.minus(TINY));
  return { R: ONE.minus(A), A, kappa: ONE };
}

// ---- Shares and pieces ---------------------------------------------------------------------------------------------------

function support({ skew, rows, most }, v, mu) { // sigma(v; mu)
  need(mu.every((x) => x >= 0), "a multiplier is negative");
  const rest = v.map((x, n) => Real.of(x).minus(total(rows.map((row, j) => Real.of(mu[j]).times(row[n])))));
  const fixed = dot(mu, most);
  if (skew === null) return fixed.plus(largest(rest));
  const mean = total(rest).over(rest.length), order = [...rest].sort((a, b) => b.minus(a).about);
  const place = Math.floor(1 / skew.about); // no more than 1/skew entries should exceed t
  const t = place < rest.length ? larger(order[place], mean) : mean;
  return fixed.plus(t).plus(skew.times(total(rest.map((x) => positive(x.minus(t))))));
}

const supportOf = (side, omega, mu) => (omega.every((x) => x === 0) ? ZERO : support(side, omega, mu));

function rates(place, v, nu) { // sigma_e(v; nu), for a table v
  const { S, C, e } = place;
  const simple = total(v.map(largest));
  if (nu === null) return simple;
  const rest = v.map((row, s) => row.map((x) => x.minus(nu[s])));
  const common = positive(largest(INDEX(C).map((y) => total(INDEX(S).map((s) => rest[s][y])))));
  return smaller(simple, total(nu.map(Real.of)).plus(common).plus(e.times(total(rest.flat().map(positive)))));
}

function leastShares({ skew, rows, most, n }) {
  const least = INDEX(n).map(() => (skew === null ? ZERO : positive(ONE.minus(skew.times(n - 1)).over(n))));
  const most_ = INDEX(n).map(() => ONE);
  rows.forEach((row, j) => {
    const [first, second] = [...row].sort((a, b) => a - b), b = most[j];
    row.forEach((a, i) => {
      const l = Real.of(a === first ? second : first); // the least of the others
      if (l.below(a)) most_[i] = smaller(most_[i], positive(b.minus(l).over(Real.of(a).minus(l))));
      else if (Real.of(a).below(l)) least[i] = larger(least[i], l.minus(b).over(l.minus(a)));
    });
  });
  const all = total(most_);
  return least.map((x, i) => larger(x, ONE.minus(all.minus(most_[i]))));
}

function* pieces(place, axis, floors, splits) { // the corners of each leaf, in the order of the leaves
  const { limited, equal, e, objective, C, cells } = place;
  need(axis !== "part" || objective !== null, "parts are for objectives");
  let least;
  if (axis === "group") least = leastShares(limited.group);
  else {
    least = equal ? leastShares(limited.label) : INDEX(C).map(() => ZERO);
    if (axis === "part" && floors.length === 1) least = [ONE];
    else if (axis === "part" && equal) least = [0, 1].map((part) => total(least.filter((_, y) => cells[y].part === part)));
    else if (axis === "part") least = [ZERO, e];
  }
  floors.forEach((x, n) => need(Real.of(x).atMost(least[n]), "a floor is above what shares can be"));
  const rest = ONE.minus(total(floors.map(Real.of)));
  need(rest.lo >= 0n, "floors add up to more than 1");
  need(floors.length <= 4096, "a piece has too many corners");
  spend(floors.length ** 2);
  const low = floors.map(Real.of), open = [{ depth: 0, corners: low.map((x, n) => low.with(n, rest.plus(x))) }];
  for (const split of splits) {
    need(open.length > 0, "too many pieces");
    const { depth, corners } = open.pop();
    if (split === null) { yield corners; continue; }
    const [i, j, t] = split, n = corners.length;
    need(Number.isInteger(i) && Number.isInteger(j) && i !== j && i < n && j < n && t > 0 && t < 1, "a cut is not between two corners");
    need(depth < 400, "pieces are cut too often");
    const x = corners[i].map((a, k) => a.plus(corners[j][k].minus(a).times(t)));
    const child = (at) => { spend(n); return { depth: depth + 1, corners: corners.with(at, x) }; };
    open.push(child(j), child(i));
  }
  need(open.length === 0, "pieces are missing");
}

// ---- The two forms of leaves ---------------------------------------------------------------------------------------------

// What stands for a value u in a cell, at a corner: phi u + psi.
function substitutes(place, relaxed, claimed) {
  const { objective, counted, cells, at, C } = place, one = () => [ONE, ZERO], none = () => [ZERO, ZERO];
  if (objective === null) { need(relaxed === "none", "there is nothing to relax"); return one; }
  const t = place.objective.ratio ? ZERO : Real.of(claimed);
  const isKept = (side) => objective[side] !== null && relaxed !== side && relaxed !== "both";
  const kept = ["plus", "minus"].filter(isKept), given = ["plus", "minus"].filter((side) => objective[side] !== null);
  if (kept.length === 2) {
    const other = (x, s) => x[s === objective.plus ? objective.minus : objective.plus];
    return (cell, x) => (cell.sign === 0 ? none() : [other(x, cell.s), cell.sign > 0 ? t.times(other(x, cell.s)).negated : ZERO]);
  }
  const replaced = given.filter((side) => !kept.includes(side)).map((side) => objective[side]);
  const height = INDEX(C).map((y) => (place.counts(y) ? total(replaced.map((s) => at(s, y).peak)).minus(t) : ZERO));
  if (kept.length === 1) {
    const s = objective[kept[0]];
    return (cell) => (cell.s === s && cell.sign !== 0 ? [ONE, height[cell.y]] : none());
  }
  const most = objective.label === null ? null : largest(counted.map((y) => height[y]));
  return (cell) => [ZERO, most ?? height[cell.y]];
}

function tilted(place, axis, leaf, claimed, { R, kappa }) { // form T: a function of the corners of a piece
  const { S, C, e, equal, any, objective, cells, limited, divergence } = place, byLabel = axis === "label";
  need(byLabel || (axis === "group" && (equal || any)), "form T searches labels, or groups if base rates are equal or arbitrary");
  const both = objective !== null && leaf.relaxed === "none" && objective.plus !== null && objective.minus !== null;
  need(!both || (!byLabel && (equal || objective.label === null)), "form T keeps both sides only where groups are searched");
  const substitute = substitutes(place, leaf.relaxed, claimed);
  const n = byLabel ? C : S, others = byLabel ? S : C, lam = Real.of(leaf.lam);
  const d = byLabel && !equal ? smaller(ONE, e.times(C - 1)) : ZERO, rest = ONE.minus(d);
  const w = INDEX(others).map((b) => INDEX(n).map((a) => Real.of(byLabel ? leaf.w[b][a] : leaf.w[a][b])));
  const highest = !byLabel && any ? INDEX(n).map((a) => largest(w.map((row) => row[a]))) : null;
  const tilt = w.map((row) => (highest ?? row).map((x, a) => rest.times(x).minus(leaf.gamma[a])));
  const level = w.map((row) => rest.times(dot(leaf.centre, highest ?? row)).plus(d.zero ? ZERO : d.times(largest(highest ?? row))));
  const mu = { group: leaf.group_mu, label: leaf.label_mu }, other = byLabel ? "group" : "label";
  const fixed = support(limited[other], level, mu[other]).minus(dot(leaf.gamma, leaf.centre)).plus(lam.times(R.minus(place.divergence.offset)))
    .plus(supportOf(limited[axis], leaf.omega, mu[axis]));
  const linear = leaf.gamma.map((x, a) => Real.of(x).minus(leaf.omega[a]));
  return (corners) => fixed.plus(largest(corners.map((x) => {
    const moved = x.map((share, a) => share.minus(leaf.centre[a])), slant = tilt.map((row) => dot(row, moved));
    let sum = dot(linear, x);
    for (const cell of cells) {
      const [a, b] = byLabel ? [cell.y, cell.s] : [cell.s, cell.y];
      const eta = w[b][a].minus(slant[b]), [phi, psi] = substitute(cell, x), past = eta.minus(psi);
      if (divergence.slope < Infinity) need(phi.times(cell.ceiling).minus(lam.times(divergence.slope)).atMost(past), "a multiplier is below its ceiling");
      for (const [u, p] of cell.atoms) {
        const z = phi.times(u).minus(past);
        if (lam.zero) need(z.hi <= 0n, "a value is above its multiplier");
        else sum = sum.plus(p.times(divergence.conjugate(z, lam, kappa)));
      }
    }
    return sum;
  })));
}

function fractionAt(a, c, q, x, z) { // Term(a, c, q) at a corner x, with the centre z
  const turn = q.zero ? ZERO : q.times(c.minus(a.times(q))), below = c.plus(q.times(x));
  const itself = () => a.plus(x).over(below);
  if (turn.hi <= 0n && below.lo > 0n) return itself();
  const n = c.plus(q.times(z));
  need(n.lo > 0n, "a fraction's centre is not where it is defined");
  const tangent = a.plus(z).over(n).plus(c.minus(a.times(q)).over(n.square).times(x.minus(z)));
  if (turn.lo >= 0n) return tangent;
  need(below.lo > 0n, "a fraction is not defined at a corner");
  return larger(itself(), tangent);
}

function fractional(place, axis, leaf, { A }) { // form F: a function of the corners of a piece
  const { S, C, e, equal, cells, limited, objective } = place, lam = Real.of(leaf.lam);
  need(place.hellinger, "form F is for Hellinger's distance");
  need(leaf.centre.every((x) => x > 0), "a centre is not positive");
  const zeta = leaf.zeta.map((row) => row.map(Real.of)), quarter = lam.square.over(4), mu = { group: leaf.group_mu, label: leaf.label_mu };
  if (objective === null) {
    need(axis !== "part" && leaf.base !== null && leaf.offset !== null && leaf.slope === null, "form F of a loss has base and offset");
    need(equal || (axis === "group" && leaf.offset.every((x) => x === 0)), "form F of a loss searches groups, without offset");
    const byLabel = axis === "label", other = byLabel ? "group" : "label";
    const sums = leaf.offset.map((x, b) => total(byLabel ? zeta[b] : zeta.map((row) => row[b])).plus(x));
    const level = equal ? support(limited[other], sums, mu[other]) : rates(place, zeta, leaf.nu);
    const fixed = level.minus(lam.times(A)).plus(supportOf(limited[axis], leaf.omega, mu[axis]));
    const linear = leaf.base.map((x, n) => Real.of(x).minus(leaf.omega[n]));
    return (corners) => fixed.plus(largest(corners.map((x) => {
      let terms = ZERO;
      for (const cell of cells) {
        const [n, b] = byLabel ? [cell.y, cell.s] : [cell.s, cell.y], c = zeta[cell.s][cell.y];
        const height = Real.of(leaf.base[n]).plus(leaf.offset[b]);
        need(c.plus(x[n].times(height.minus(cell.ceiling))).lo >= 0n, "a multiplier is below its ceiling");
        if (!lam.zero) for (const [u, p] of cell.atoms) terms = terms.plus(p.times(fractionAt(ZERO, c, height.minus(u), x[n], leaf.centre[n])));
      }
      return dot(linear, x).plus(quarter.times(terms));
    })));
  }
  need(axis === "part" && leaf.base === null && leaf.offset === null, "form F of means searches parts");
  const { labels, fixed, theta, pulls } = means(place, leaf, A), own = { cells, ...theta(leaf.zeta, leaf.slope) };
  return (corners) => fixed.plus(largest(corners.map((x) => {
    const heights = own.at(x, cells), rows = INDEX(S).map((s) => heights.slice(s * C, s * C + C));
    let level;
    if (equal) {
      const height = (y, n) => total(rows.map((row) => row[y])).minus(x[n].times(leaf.omega[y]));
      level = total(labels.map((those, n) => largest(those.map((y) => height(y, n)))));
    } else if (labels.length === 1) level = rates(place, rows, leaf.nu);
    else level = total(rows.flatMap((row) => labels.map((those) => largest(those.map((y) => row[y])))));
    return level.plus(pulls(x, [own]));
  })));
}

// What the means of form F and the sets of form P share.
function means(place, { centre, omega, lam: given, group_mu, label_mu }, A) {
  const { S, C, e, equal, cells, limited } = place, lam = Real.of(given), quarter = lam.square.over(4), parts = centre.length;
  need(equal || omega.every((x) => x === 0), "omega is for equal base rates");
  const labels = INDEX(parts).map((n) => INDEX(C).filter((y) => cells[y].part === n));
  const fixed = supportOf(limited.label, omega, label_mu).minus(lam.times(A));
  const theta = (zeta, slope) => {
    const low = zeta.flat().map(Real.of), rise = slope === null ? low.map(() => ZERO) : slope.flat().map(Real.of);
    const at = (x, list) => list.map((cell, i) => {
      const height = low[i].plus(x[cell.part].times(rise[i]));
      need(cell.ceiling.atMost(height), "a multiplier is below its ceiling");
      return height;
    });
    return { low, rise, at };
  };
  const pulls = (x, played) => { // lam^2/4 sigma_groups(pull), the pull being the largest of those in the roles that are played
    if (lam.zero) return ZERO;
    const far = !equal && parts === 2 ? [[ZERO, ZERO], [e, e.negated]] : [[ZERO, ZERO]];
    const pull = (s) => largest(played.flatMap((role) => far.map((a) => total(role.cells.slice(s * C, s * C + C).flatMap((cell) => {
      const i = s * C + cell.y, n = cell.part;
      return cell.atoms.map(([u, p]) => p.times(fractionAt(a[n], role.low[i].minus(u), role.rise[i], x[n], Real.of(centre[n]))));
    })))));
    return quarter.times(support(limited.group, INDEX(S).map(pull), group_mu));
  };
  return { labels, fixed, theta, pulls };
}

function paired(place, axis, leaf, { A }) { // form P: every two groups, of each pair by the set that is best for it
  const { S, C, e, equal, every } = place;
  spend(10 * S * S);
  need(place.hellinger && axis === "part" && leaf.sets.length > 0, "form P is for Hellinger's distance, searches parts, and has a set");
  const pairs = INDEX(S).flatMap((a) => INDEX(S).filter((b) => b !== a).map((b) => [a, b]));
  return (corners) => {
    const proved = leaf.sets.map((one) => {
      need(one.centre.every((x) => x > 0), "a centre is not positive");
      const { labels, fixed, theta, pulls } = means(place, one, A);
      const [rest, plus, minus] = ["zeta", "plus", "minus"].map((role) => (
        { cells: every[role], ...theta(one[role], one[role === "zeta" ? "slope" : `${role}_slope`]) }));
      const bounds = corners.map((x) => {
        const pulled = pulls(x, [rest, plus, minus]), [r, p, m] = [rest, plus, minus].map((role) => role.at(x, role.cells));
        // A sum over groups of one term each: what it is if no group counts, and what a and b have more.
        const summed = (term) => {
          const [base, more, less] = [r, p, m].map((heights) => INDEX(S).map((s) => term(heights, s))), all = total(base);
          return ([a, b]) => all.plus(more[a].minus(base[a])).plus(less[b].minus(base[b]));
        };
        const column = (y) => summed((heights, s) => heights[s * C + y]);
        const highest = (those) => summed((heights, s) => largest(those.map((y) => heights[s * C + y])));
        const parts = (list) => (pair) => total(list.map((term) => term(pair)));
        let level = parts(labels.map(highest));
        if (equal) {
          level = parts(labels.map((those, n) => {
            const columns = those.map((y) => [column(y), x[n].times(one.omega[y])]);
            return (pair) => largest(columns.map(([sum, off]) => sum(pair).minus(off)));
          }));
        } else if (labels.length === 1 && one.nu !== null) {
          const simple = level, above = (heights, s, y) => heights[s * C + y].minus(one.nu[s]), fixedPart = total(one.nu.map(Real.of));
          const columns = INDEX(C).map((y) => summed((heights, s) => above(heights, s, y)));
          const excess = summed((heights, s) => total(INDEX(C).map((y) => positive(above(heights, s, y)))));
          level = (pair) => smaller(simple(pair), fixedPart.plus(positive(largest(columns.map((sum) => sum(pair))))).plus(e.times(excess(pair))));
        }
        return pairs.map((pair) => level(pair).plus(pulled));
      });
      return pairs.map((_, i) => largest(bounds.map((list_) => list_[i])).plus(fixed));
    });
    return largest(pairs.map((_, i) => smallest(proved.map((list_) => list_[i]))));
  };
}

function excessOf(place, { bound, proof: given }, near) { // what the proof lacks, at most 0, or nothing is proved
  const ratio = place.objective !== null && place.objective.ratio, leaves = given.leaves[Symbol.iterator]();
  let excess = null, inside = ratio; // inside: the claim stands inside of a proof
  for (const corners of pieces(place, given.axis, given.floors, given.splits)) {
    const { value: one, done } = leaves.next();
    need(!done, "leaves are missing");
    need((one.form === "P") === (place.every !== null), "form P is for statements of every two groups, which take no other");
    const formed = one.form === "T" ? tilted(place, given.axis, one, bound, near)
      : (one.form === "P" ? paired : fractional)(place, given.axis, one, near);
    const stated = ratio || (one.form === "T" && place.objective !== null);
    let over = stated ? formed(corners) : formed(corners).minus(bound);
    if (!ratio) over = smaller(over, place.top.minus(bound));
    need(over.hi <= 0n, `a leaf proves no more than ${(over.about + bound).toPrecision(9)}`);
    inside ||= stated;
    excess = excess === null ? over : larger(excess, over);
  }
  need(leaves.next().done, "there are leaves without a piece");
  return inside ? ZERO : excess;
}

// ---- The witness ---------------------------------------------------------------------------------------------------------

const about1 = (sum) => need(sum.minus(ONE).atMost(TINY) && ONE.minus(sum).atMost(TINY), "shares of the witness do not add up to 1");

function obeys({ skew, rows, most }, shares, side) {
  if (skew !== null) need(largest(shares).minus(smallest(shares)).atMost(skew), `${side} shares of the witness differ too much`);
  rows.forEach((row, j) => need(dot(row, shares).atMost(most[j]), `${side} shares of the witness break a limit`));
}

function massesOf(place, { group_mass: groups, label_mass: labels, mass }) { // of each cell, all limits being obeyed
  const { S, C, e, equal, any, limited } = place, normal = (list) => { const sum = total(list); about1(sum); return list.map((x) => x.over(sum)); };
  if (mass === null) {
    const k = normal(groups.map(Real.of)), r = normal(labels.map(Real.of));
    obeys(limited.group, k, "group");
    obeys(limited.label, r, "label");
    return k.flatMap((x) => r.map((z) => x.times(z)));
  }
  need(!equal, "the witness has unequal base rates");
  const masses = normal(mass.flat().map(Real.of)), rows = INDEX(S).map((s) => masses.slice(s * C, s * C + C)), sums = rows.map(total);
  const near = (x, sum) => { const d = sum.minus(x), room = TINY.times(2); need(d.atMost(room) && d.negated.atMost(room), "masses do not add up"); };
  groups.forEach((x, s) => near(x, sums[s]));
  labels.forEach((x, y) => near(x, total(rows.map((row) => row[y]))));
  obeys(limited.group, sums, "group");
  const base = rows.filter((_, s) => !sums[s].zero).map((row) => { const sum = total(row); return row.map((x) => x.over(sum)); });
  if (!any) for (const y of INDEX(C)) {
    const column = base.map((row) => row[y]);
    need(largest(column).minus(smallest(column)).atMost(e), "base rates of the witness differ too much");
  }
  return masses;
}

function witnessValue(place, given, attained, { R, A, kappa }) { // place without factor; the value, every condition being met
  const { cells, objective, hellinger, divergence } = place;
  const masses = massesOf(place, given), parts = new Map();
  cells.forEach((cell, i) => { const key = cell.s * 2 + cell.part; parts.set(key, (parts.get(key) ?? ZERO).plus(masses[i])); });
  let distance = ZERO, added = ZERO, taken = ZERO, scale = ZERO;
  cells.forEach((cell, i) => {
    const again = given.reweighting[cell.s][cell.y], unseen = given.unseen[cell.s][cell.y], laws = cell.attained;
    need(again.length >= laws.length && again.slice(laws.length).every((x) => x === 0), "the witness weighs what is not there");
    need(unseen === 0 || cell.empty || (place.asked.shift === "general" && place.asked.support === "any"), "losses occur that cannot");
    const all = total(again.map(Real.of)).plus(unseen);
    need(all.lo > 0n, "the witness leaves a cell without weights");
    const unit = masses[i].over(all), stray = unit.times(unseen);
    const value = (loss) => (cell.sign > 0 ? loss : cell.sign < 0 ? loss.negated : ZERO);
    const ceiling = value(cell.sign > 0 ? cell.high : cell.low);
    let sum = ceiling.times(stray);
    scale = larger(scale, larger(ceiling, ceiling.negated));
    if (divergence.slope === Infinity) need(stray.zero, "the witness has losses that the data do not have");
    else distance = distance.plus(stray.times(divergence.slope));
    laws.forEach(([loss, part], j) => {
      const p = part.times(cell.p), u = value(loss), q = unit.times(again[j]);
      scale = larger(scale, larger(u, u.negated));
      if (p.zero) { need(again[j] === 0, "the witness weighs a loss that has no mass"); return; }
      sum = sum.plus(u.times(q));
      distance = distance.plus(divergence.cost(p, q, kappa));
    });
    if (cell.sign !== 0 && objective !== null) sum = sum.over(parts.get(cell.s * 2 + cell.part));
    if (cell.sign < 0) taken = taken.minus(sum); else added = added.plus(sum);
  });
  need(distance.atMost(hellinger ? A.negated : R), "the witness is too far away");
  if (objective !== null && objective.ratio) {
    const value = attained === 1 ? null : taken.over(added);
    if (value !== null) need(value.minus(attained).atMost(TINY) && Real.of(attained).minus(value).atMost(1e-6), "the witness has another ratio");
    return { value, room: TINY };
  }
  const value = added.minus(taken), room = TINY.times(scale);
  need(Real.of(attained).minus(value).atMost(room), "the witness attains less");
  need(value.minus(attained).atMost(scale.times(1e-6)), "the witness attains more");
  return { value, room };
}

// ---- Verdict -------------------------------------------------------------------------------------------------------------

function answerProved(place, rho, given) { // its proved bound and the witness's value
  const ratio = place.objective !== null && place.objective.ratio, near = reach(place, rho);
  const proved = Real.of(given.bound).plus(excessOf(valued(place, ratio ? Real.of(given.bound) : ONE), given, near));
  if (given.witness === null) return { proved, value: null };
  const { value, room } = witnessValue(place, given.witness, given.attained, near);
  need(ratio ? given.bound <= given.attained : given.bound >= given.attained, "the bound is worse than what is attained");
  if (!ratio) need(value.atMost(proved.plus(room)), "the witness exceeds the proved bound: there may be no such distribution");
  return { proved, value: ratio ? Real.of(given.attained) : value };
}

const PAIRS = {
  group_loss_difference: [[null, true]], demographic_parity_difference: [[null, true]], demographic_parity_ratio: [[null, true]],
  true_positive_rate_difference: [["+", true]], false_positive_rate_difference: [["+", false]],
  equalized_odds_difference: [["+", true], ["+", false]],
};
const keyOf = (objective) => JSON.stringify(objective && ["plus", "minus", "label", "inside", "ratio"].map((key) => objective[key]));

function objectivesOf(read) {
  const { population: people, question: { metric } } = read, groups = people.groups.map(canonical), labels = people.labels.map(canonical);
  const make = (plus, minus, label, inside = true, ratio = false) => ({ plus, minus, label, inside, ratio });
  need(!/^(selection|demographic|true|false|equalized)_/.test(metric.name) || people.loss === "selected", "the metric is about selections");
  if (metric.name === "loss") return [null];
  if (Object.hasOwn(PAIRS, metric.name)) {
    const one = metric.name === "demographic_parity_ratio" && metric.group !== null ? canonical(metric.group) : null;
    need(one !== null || metric.group === null, "a metric of pairs has no group");
    const positive_ = people.pos_label === null ? -1 : labels.indexOf(canonical(people.pos_label));
    spend(10 * groups.length ** 2);
    const pairs = INDEX(groups.length).flatMap((a) => INDEX(groups.length).filter((b) => b !== a && (one === null || groups[b] === one)).map((b) => [a, b]));
    need(pairs.length > 0, "no group is called so");
    return PAIRS[metric.name].flatMap(([label, inside]) => {
      need(label === null || positive_ >= 0, "no label is called positive");
      return pairs.map(([a, b]) => make(a, b, label === null ? null : positive_, inside, metric.name === "demographic_parity_ratio"));
    });
  }
  need(["group_loss", "selection_rate", "cell_loss"].includes(metric.name), "the metric is unknown");
  const of = INDEX(groups.length).filter((s) => metric.group === null || groups[s] === canonical(metric.group));
  need(of.length > 0, "no group is called so");
  return of.flatMap((s) => (metric.name === "cell_loss" ? INDEX(labels.length) : [null]).map((label) => make(s, null, label)));
}

const isRatio = (read) => read.question.metric.name === "demographic_parity_ratio";

function sourcesOf(read) { // the numbers of the statements that the metric follows from, nothing being left out
  const { question: asked } = read, objectives = objectivesOf(read);
  const together = objectives[0] !== null && objectives[0].minus !== null && asked.confidence === null;
  const everyOf = (one) => keyOf({ ...one, plus: null, minus: null });
  const possible = new Set([...objectives.map(keyOf), ...(together ? objectives.map(everyOf) : [])]), numbers = new Map();
  read.statements.forEach(({ objective, confidence }, i) => {
    const key = keyOf(objective);
    need(possible.has(key), "a statement is not of the metric");
    need(!numbers.has(key), "a statement is there twice");
    numbers.set(key, i);
    if (confidence !== null) {
      const error = ONE.minus(confidence).times(objectives.length);
      need(error.atMost(ONE.minus(asked.confidence)), "the statements together may be wrong too often");
    }
  });
  const sources = [...new Set(objectives.map((one) => numbers.get(keyOf(one)) ?? (together ? numbers.get(everyOf(one)) : undefined)))];
  need(!sources.includes(undefined), "a statement of the metric is missing");
  return sources;
}

function metricProved(read, sources, answered) { // answered: at each radius with a claim, what was proved of each statement
  const ratio = isRatio(read), best = ratio ? smallest : largest, extreme = (list) => list.reduce((x, y) => (ratio ? Math.min : Math.max)(x, y));
  return answered.map(({ point, results }) => located(`rho = ${point.rho}`, () => {
    const claimed = extreme(sources.map((i) => point.answers[i].bound));
    need(ratio ? point.claim.bound <= claimed : claimed <= point.claim.bound, "the claim says more than its statements");
    const attained = sources.map((i) => point.answers[i].attained).filter((x) => x !== null);
    need(attained.length > 0, "no statement of the metric has a witness");
    need(extreme(attained) === point.claim.attained, "the attained value is not that of the statements");
    const proved = best(sources.map((i) => results[i].proved)), values = sources.map((i) => results[i].value).filter((x) => x !== null);
    return { rho: point.rho, ...point.claim, proved: proved.about, value: values.length ? best(values).about : null };
  }));
}

const SHIFTS = {
  general: "anything may change", stratified: "only the sizes of cells change, and of strata that have rows in them", sensitive: "only the sizes of the cells change",
};

function wordsOf({ population: people, question: asked }) { // a question, in words that are not its author's
  const rows = asked.group_limits.rows.length + asked.label_limits.rows.length, { group_limits: g, label_limits: l } = asked;
  return [
    `${asked.metric.name.replaceAll("_", " ")}${asked.metric.group === null ? "" : ` of the group ${shown(asked.metric.group)}`}`,
    people.loss === "selected" ? `selected are rows that are predicted as ${shown(people.pos_label)}` : `the loss is called ${shown(people.loss)}`,
    SHIFTS[asked.shift],
    asked.support === "observed" ? "only losses that occur" : null,
    !asked.fair ? "any base rates" : asked.base_rate_tolerance === null ? "equal base rates" : `base rates that differ by at most ${asked.base_rate_tolerance}`,
    g.skew === null ? null : `group shares differ by at most ${g.skew}`, l.skew === null ? null : `label shares differ by at most ${l.skew}`,
    rows ? `${rows} limits on shares` : null, `rho is the radius of ${DIVERGENCES[asked.divergence].words}`,
    asked.confidence === null ? null : `confidence ${asked.confidence}`,
  ].filter((part) => part !== null).join("; ");
}
const aboutData = ({ rows, weighted, groups, labels }) =>
  `${rows === null ? "an unknown number of" : rows} rows${weighted ? " with weights" : ""}; groups ${listed(groups)}; labels ${listed(labels)}`;

function gateOf(read, points, { threshold, passed }) { // its truth, and its words
  const ratio = isRatio(read), side = ratio ? "at least" : "at most";
  const worst = points.map(({ bound }) => bound).reduce((a, b) => ((ratio ? b < a : b > a) ? b : a));
  need((ratio ? worst >= threshold : worst <= threshold) === passed, "a gate does not say the truth");
  return { threshold, passed, words: `gate ${passed ? "passed" : "failed"}: has to be ${side} ${threshold}, and is ${side} ${worst}` };
}

function questionProved(read, options, notes, counted) {
  const sources = sourcesOf(read), numbered = (i, prove) => (read.statements.length > 1 ? located(`statement ${i}`, prove) : prove());
  const places = read.statements.map((one, i) => numbered(i, () => {
    const place = setting(read, one);
    if (one.sampling !== null && one.sampling.region === "prequential") counted.beyond = true;
    else if (one.sampling !== null) samplingProved(read, place, one.confidence).forEach((note) => notes.add(note));
    return place;
  }));
  const points = metricProved(read, sources, read.points.filter((point) => point.claim !== null).map((point) => {
    if (options.progress) options.progress(counted.radii, options.radii);
    counted.radii += 1;
    return { point, results: point.answers.map((given, i) => located(`rho = ${point.rho}`, () => numbered(i, () => {
      counted.leaves += given.proof.leaves.length;
      counted.witnesses += given.witness === null ? 0 : 1;
      return answerProved(places[i], point.rho, given);
    }))) };
  }));
  return { words: wordsOf(read), points };
}
const located = (where, prove) => {
  try { return prove(); } catch (error) {
    if (error instanceof Unproved) error.message = `${where}: ${error.message}`;
    throw error;
  }
};

const LEFT = [
  "what names look like: a loss may be called almost like one of ours",
  "that the statistics are those of the data, and what the document says for people: where it comes from, producer, excluded rows, the gap aimed at, radii without a claim",
];

function check(bytes, options = {}) { // the verdict on a document, whatever it is
  memory.clear();
  Object.assign(effort, { spent: 0, refused: false, most: options.patient ? 3e8 : 5e6 });
  const notes = new Set(), counted = { radii: 0, leaves: 0, witnesses: 0, beyond: false };
  const result = {
    verdict: "not a certificate", status: 2, reason: null, digest: null, sha256: bytes.length > MOST_BYTES ? null : hex(sha256(bytes)), about: null, questions: [], checked: [], left: LEFT,
  };
  try {
    form(bytes.length <= MOST_BYTES, "the document is longer than 32,000,000 bytes");
    let content;
    try { content = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes); } catch { throw new Malformed("the document is not UTF-8"); }
    const read = within("the document", () => certificate(parse(content))), questions = within("the document", () => fits(read));
    Object.assign(result, { verdict: "not proved", status: 1, digest: read.digest, about: aboutData(read.population) });
    need(`sha256:${hex(sha256(encode(canonical(read.population))))}` === read.digest, "the digest is not that of the population");
    const radii = questions.reduce((sum, one) => sum + one.points.filter((point) => point.claim !== null).length, 0);
    const proved = questions.map((one, i) => {
      const prove = () => questionProved(one, { ...options, radii }, notes, counted);
      return questions.length > 1 ? located(`question ${i} (${one.question.metric.name.slice(0, 80)})`, prove) : prove();
    });
    if (read.confidence !== null) {
      const errors = total(questions.map((one) => ONE.minus(one.question.confidence)));
      need(errors.atMost(ONE.minus(read.confidence)), "the questions together may be wrong too often");
    }
    for (const gate of read.gates) proved[gate.question].gate = gateOf(questions[gate.question], proved[gate.question].points, gate);
    if (counted.beyond) {
      result.beyond = true;
      throw new Unproved("the sample of the region prequential and its bets are left to fairbound verify; all else holds");
    }
    Object.assign(result, { verdict: "the claim is proved", status: 0, questions: proved });
    result.checked = [
      "the text, the entries and how they fit together", "the digest of the statistics",
      `the multipliers of ${counted.leaves} leaves at ${radii === 1 ? "1 radius" : `${radii} radii`}, by weak duality, in exact numbers rounded outward`,
      `${counted.witnesses} worst cases: limits, base rates, distance and value`, "that the metrics follow from their statements",
      ...(read.gates.length ? [`${read.gates.length === 1 ? "the gate says truly whether its bounds keep" : `${read.gates.length} gates say truly whether their bounds keep`} the thresholds`] : []),
      ...(questions.some((one) => one.statements[0].sampling !== null) ? ["the confidence region of the sample, computed anew from the counts"] : []),
    ];
  } catch (error) {
    if (!(error instanceof Malformed || error instanceof Unproved)) notes.add("the checker itself failed");
    Object.assign(result, { reason: error.message, unfinished: effort.refused });
  }
  return Object.assign(result, { notes: [...notes], effort: effort.spent });
}

// ---- Finite samples ------------------------------------------------------------------------------------------------------

const PI = 16n * odd(UNIT / 5n, -1n) - 4n * odd(UNIT / 239n, -1n);
const fixedEnds = (x) => { // the ends as multiples of 2^-256
  const by = BigInt(Math.abs(x.e + FIXED));
  return x.e < -FIXED ? [x.lo >> by, -(-x.hi >> by)] : [x.lo << by, x.hi << by];
};
function psi(t) { // arcsin of the square root, for t from 0 to 1
  spend(20);
  if (t.lo < 0n) return hull(ZERO, psi(positive(t)));
  const rest = ONE.minus(t);
  if (rest.below(t)) return new Real(PI / 2n - 8192n, PI / 2n + 8192n, -FIXED).minus(psi(positive(rest)));
  let y = t.over(rest).sqrt;
  for (let i = 0; i < 2; i += 1) y = y.over(ONE.plus(ONE.plus(y.square).sqrt)); // half the angle
  const [lo, hi] = fixedEnds(y);
  return new Real(4n * (odd(lo, -1n) - 1024n), 4n * (odd(hi, -1n) + 1024n), -FIXED);
}
const ratio = (k, m) => Real.of(k).over(m);
const divergenceOf = (c, t) => c.times(c.over(t).log).plus(ONE.minus(c).times(ONE.minus(c).over(ONE.minus(t)).log)); // kl(c, t)

// Random numbers: the Mersenne Twister, seeded with 32-bit words.
function* twister(words) {
  const N = 624, mt = new Int32Array(N), mixed = (i) => mt[i] ^ (mt[i] >>> 30);
  mt[0] = 19650218;
  for (let i = 1; i < N; i += 1) mt[i] = Math.imul(1812433253, mixed(i - 1)) + i;
  let i = 1, j = 0;
  const step = () => { i += 1; if (i === N) { mt[0] = mt[N - 1]; i = 1; } };
  for (let n = Math.max(N, words.length); n > 0; n -= 1) {
    mt[i] = (mt[i] ^ Math.imul(mixed(i - 1), 1664525)) + words[j] + j;
    step();
    j = (j + 1) % words.length;
  }
  for (let n = N - 1; n > 0; n -= 1) { mt[i] = (mt[i] ^ Math.imul(mixed(i - 1), 1566083941)) - i; step(); }
  mt[0] = 0x80000000;
  const out = new Float64Array(N);
  for (;;) {
    for (i = 0; i < N; i += 1) {
      let y = (mt[i] & 0x80000000) | (mt[(i + 1) % N] & 0x7fffffff);
      mt[i] = mt[(i + 397) % N] ^ (y >>> 1) ^ (y & 1 ? 0x9908b0df : 0);
      y = mt[i];
      y ^= y >>> 11;
      y ^= (y << 7) & 0x9d2c5680;
      y ^= (y << 15) & 0xefc60000;
      out[i] = (y ^ (y >>> 18)) >>> 0;
    }
    for (i = 0; i < N; i += 2) yield (Math.floor(out[i] / 32) * 2 ** 26 + Math.floor(out[i + 1] / 64)) / 2 ** 53;
  }
}

// What the counts must be, cell by cell; in doubles, as writers do it.
function recounted(people, { losses, seed: given }, cells) {
  const M = people.ceiling, B = losses.length - 1, binary = zeroOne(people.loss), out = 1e-12 * M;
  losses.forEach((x, j) => need(x === (j < B ? (M * j) / B : M), "the rounded losses are not evenly spaced"));
  let N = 4096;
  while (N > 16 && N * cells.length > 2 ** 18) N /= 2;
  const edges = [...INDEX(N).map((b) => M * (1 - (1 - b / N) * (1 - b / N))), M];
  const last = (list, x, most) => { let a = 0, b = most; while (a < b) { const c = (a + b + 1) >> 1; if (list[c] <= x) a = c; else b = c - 1; } return a; };
  const numbered = ([low, high, , t]) => {
    if (binary) return low === 0 ? 0 : 1;
    if (low === high) return last(edges, low, N - 1);
    const n = last(edges, low + out, N - 1);
    need(Math.abs(low - edges[n]) <= out && Math.abs(high - edges[n + 1]) <= out, "a bin is not one of the fixed bins");
    return t === 1 && n < N - 1 ? n + 1 : n;
  };
  const valueOf = (n, less) => (binary ? (n ? M : 0) : less ? Math.max(edges[n] - out, 0) : Math.min(edges[n + 1] + out, M));
  const held = cells.map((cell) => {
    const rows = new Map();
    spend(cell.bins.length);
    for (const b of cell.bins) { const n = numbered(b); rows.set(n, (rows.get(n) ?? 0) + b[2]); }
    const pairs = [...rows].sort((a, b) => a[0] - b[0]), words = new DataView(new ArrayBuffer(16 * pairs.length));
    pairs.forEach((pair, i) => pair.forEach((x, j) => words.setBigInt64(16 * i + 8 * j, BigInt(x), true)));
    return { pairs, bytes: new Uint8Array(words.buffer), counts: losses.map(() => 0), less: cell.sign < 0 };
  });
  const order = held.filter((cell) => cell.pairs.length).sort((a, b) => {
    for (let i = 0; i < Math.min(a.bytes.length, b.bytes.length); i += 1) if (a.bytes[i] !== b.bytes[i]) return a.bytes[i] - b.bytes[i];
    return a.bytes.length - b.bytes.length;
  });
  const key = sha256(Uint8Array.from([...encode(`${given},${B};`), ...order.flatMap((cell) => [...sha256(cell.bytes)])]));
  const words = INDEX(8).map((i) => new DataView(key.buffer).getInt32(28 - 4 * i));
  while (words[words.length - 1] === 0) words.pop();
  const random = twister(words);
  let draws = 0;
  for (const { pairs, counts, less } of order) for (const [n, rows] of pairs) {
    const value = valueOf(n, less), j = last(losses, value, B - 1);
    let part = (value - losses[j]) / (losses[j + 1] - losses[j]);
    part = less && value < losses[j + 1] ? part * (1 - 2 ** -50) - 2 ** -52 : part * (1 + 2 ** -50);
    if (part >= 1) counts[j + 1] += rows;
    else if (part <= 0) counts[j] += rows;
    else {
      draws += rows;
      spend(rows / 20); // a random number is made faster than a sum
      need(given !== null && draws <= 2e7, "rounding needs a seed, or too many random numbers");
      for (let row = 0; row < rows; row += 1) counts[random.next().value < part ? j + 1 : j] += 1;
    }
  }
  return { counts: held.map((cell) => cell.counts), random: draws > 0 };
}

const memory = new Map(); // what is the same for many statements
const remembered = (key, make) => { if (!memory.has(key)) memory.set(key, make()); return memory.get(key); };

function budget(err, n, b) { // a little more than the least x, as a double
  const logOf = (x) => { // of the sum, and whether it is certainly at most err; from above
    const X = Real.of(x), decay = X.negated.exp, half = X.sqrt, term = [], q = [];
    if (n + b > 0) {
      term.push(decay, decay.times(half).times(2).over(new Real(PI - 8192n, PI + 8192n, -FIXED).sqrt));
      let piece = term[1], erf = ZERO; // erf(sqrt x), from below
      for (let k = 1; k < 1e5 && (k < x || piece.about > 1e-60); k += 1) { erf = erf.plus(piece); piece = piece.times(X).over(k + 0.5); }
      q.push(ZERO, ONE.minus(erf));
      for (let j = 2; j <= n + b; j += 1) { q.push(q[j - 2].plus(term[j - 2])); term.push(term[j - 2].times(X).over(j / 2)); }
    } else q.push(ZERO);
    let sum = ZERO, choose_ = new Real(1n, 1n, -b);
    for (let i = 0; i <= b; i += 1) { sum = sum.plus(choose_.times(q[n + i])); choose_ = choose_.times(b - i).over(i + 1); }
    return [Math.log(sum.about), sum.atMost(err)];
  };
  const goal = Math.log(err.about);
  let low = 0, high = 1;
  while (!logOf(high)[1]) { low = high; high *= 2; need(high < 1e6, "the confidence is too high"); }
  for (let i = 0; i < 60 && high - low > 1e-13 * high; i += 1) { // the logarithm is nearly straight
    const [a, b_] = [logOf(low)[0], logOf(high)[0]], guess = low + ((a - goal) / (a - b_)) * (high - low);
    const x = i % 3 < 2 && guess > low && guess < high ? (i % 3 ? Math.min(guess + 1e-13 * high, high) : Math.max(guess - 1e-13 * high, low)) : (low + high) / 2;
    if (logOf(x)[1]) high = x; else low = x;
  }
  return high;
}

const oneSided = (k, m, x) => remembered(`${k} ${m} ${x.lo} ${x.e}`, () => { // kappa(x), and beta^2
  const c = k + 1 >= m ? ONE : ratio(k + 1, m), near = psi(c);
  const beta = near.minus(psi(ratio(k, m))).square.times(m).over(2);
  if (2 * (k + 1) >= m) return { kappa: Real.of(4), beta };
  const C = c.about, goal = x.about / m, turn = Math.sqrt(C / (1 - C)), most = (turn / (1 + turn)) * (1 - 1e-15) - C;
  const kl = (d) => -C * Math.log1p(d / C) - (1 - C) * Math.log1p(-d / (1 - C));
  if (kl(most) >= goal) {
    let low = 0, high = most;
    for (let i = 0; i < 60; i += 1) { const d = (low + high) / 2; if (kl(d) >= goal) high = d; else low = d; }
    for (let hair = 1e-15; hair < 1e-6; hair *= 8) {
      const t = Real.of(C + high * (1 + hair)), bend = divergenceOf(c, t);
      if (!x.atMost(bend.times(m)) || !t.square.times(ONE.minus(c)).atMost(c.times(ONE.minus(t).square))) continue;
      return { kappa: smaller(Real.of(4), bend.times(2).over(psi(t).minus(near).square)), beta };
    }
  }
  return { kappa: c.sqrt.plus(ONE.minus(c).sqrt).square.times(2), beta };
});
const twoSided = (k, m, x) => {
  const one = oneSided(k, m, x), two = oneSided(m - k, m, x);
  return { kappa: smaller(one.kappa, two.kappa), beta: larger(one.beta, two.beta) };
};

function growth(steps, x) { // W of the way to a node
  const inner = steps.filter(([k, m]) => k > 0 && k < m);
  if (!inner.length) return ONE;
  const nu = Real.of(Math.sqrt(inner.reduce((sum, [k, m]) => sum + 1 / k - 1 / m, 0) / (2 * x.about)));
  const logs = inner.map(([k, m]) => {
    if (k + 1 === m) return ratio(m, k).log;
    const c = ratio(k + 1, m), w = nu.times(m), t = ONE.plus(w.times(c)).over(ONE.plus(w));
    return t.times(m).over(k).log.minus(w.times(divergenceOf(c, t)));
  });
  return total(logs).plus(nu.times(x)).over(2).exp;
}

function shared(nodes, x) { // nodes: their W, kappa and beta^2
  if (!nodes.length) return ZERO;
  const rough = nodes.map(({ W, kappa, beta }) => ({ least: W.over(kappa).about, room: W.times(beta).about }));
  const least = Math.max(...rough.map((one) => one.least)) * (1 + 1e-12), room = rough.reduce((sum, one) => sum + one.room, 0);
  const cost = (mu) => rough.reduce((sum, one) => sum + (one.room * mu) / (mu - one.least), mu * x.about);
  const choices = [0.35, 0.5, 0.7, 1, 1.4, 2].map((f) => least + f * Math.sqrt((least * room) / x.about));
  const mu = choices.reduce((best, one) => (cost(one) < cost(best) ? one : best));
  return total(nodes.map(({ W, kappa, beta }) => {
    const t = kappa.times(mu).over(W);
    return W.times(beta).times(t).over(t.minus(ONE));
  })).plus(x.times(mu));
}

function halved(rows) { // the two-sided nodes, with the steps above them, and the way to each cell
  const nodes = [], ways = [];
  const halve = (from, to, steps) => {
    if (to - from === 1) { ways[from] = steps; return; }
    const middle = from + ((to - from) >> 1), sum = (a, b) => rows.slice(a, b).reduce((x, y) => x + y, 0);
    const m = sum(from, to), k = sum(from, middle);
    if (m > 0) nodes.push({ k, m, steps });
    halve(from, middle, [...steps, [k, m]]);
    halve(middle, to, [...steps, [m - k, m]]);
  };
  halve(0, rows.length, []);
  return { nodes, ways };
}
const missing = ({ nodes }, x) => shared(nodes.map(({ k, m, steps }) => ({ W: growth(steps, x), ...twoSided(k, m, x) })), x);
const upTo = (counts) => { // the one-sided nodes of a cell: [count, counts up to it]
  let m = 0;
  return counts.map((k) => [k, (m += k)]).slice(1).filter((node) => node[1] > 0);
};

function onSphere(place, cells, err, people) {
  const { sample, M, asked } = place, { random, counts } = recounted(people, sample, cells);
  need(canonical(counts) === canonical(sample.counts.flat()), "the counts of rounded losses are not those of the rows");
  const N = cells.length, B = sample.losses.length - 1, n = people.rows, facts = sample.knowledge;
  const tree = halved(cells.map((cell) => cell.rows));
  const ordered = cells.map((cell, i) => (cell.sign < 0 ? [...counts[i]].reverse() : counts[i]));
  const far = (worst) => need(sample.affinity === 0 || Real.of(sample.affinity).atMost(ONE.minus(worst.over(n))), "the affinity is too large");
  if (asked.shift === "general") {
    need(facts.kind === "losses", "the surrogate should hold rounded losses");
    cells.forEach(({ s, y }, i) => {
      const bins = sample.losses.map((x, j) => [x, x, counts[i][j], 0]).filter((b) => b[2] > 0);
      need(canonical(bins) === canonical(facts.cells[s][y]), "the surrogate does not hold the counts");
    });
    const x = remembered(`x ${err.lo} ${err.e} ${N - 1} ${N * B}`, () => budget(err, N - 1, N * B));
    far(largest(INDEX(32).map((j) => {
      const first = Real.of(x).times(j + 1).over(32), second = Real.of(x).times(32 - j).over(32);
      const nodes = ordered.flatMap((list, i) => {
        const own = upTo(list), W = own.length ? growth(tree.ways[i], first) : ONE;
        return own.map(([k, m]) => ({ W, ...oneSided(k, m, second) }));
      });
      return missing(tree, first).plus(shared(nodes, second));
    })));
    return random;
  }
  need(facts.kind === "mean", "the surrogate should hold means");
  const part = err.over(8), rest = ONE.minus(err.minus(part).over(ONE.minus(part)));
  const each = ONE.minus(rest.log.over(N).exp);
  const x = Real.of(remembered(`x ${each.lo} ${each.e} 0 ${B}`, () => budget(each, 0, B)));
  far(missing(tree, Real.of(remembered(`x ${part.lo} ${part.e} ${N - 1} 0`, () => budget(part, N - 1, 0)))));
  cells.forEach(({ s, y, sign, rows: m }, i) => {
    const mean = Real.of(facts.mean[s][y]), E = sign < 0 ? Real.of(M).minus(mean) : mean;
    if (Real.of(M).atMost(E)) return;
    need(m > 0, "a cell without rows has a mean");
    const list = ordered[i], k = list[list.length - 1];
    if (B === 1) {
      const t = E.over(M), c = ratio(k + 1, m);
      if (k + 1 < m && c.below(t) && x.atMost(divergenceOf(c, t).times(m))) return;
      need(k < m && m <= 20000 && t.lo > 0n, "a mean is too low");
      let sum = ZERO, term = ONE.minus(t).log.times(m).exp;
      const odds = t.over(ONE.minus(t));
      for (let j = 0; j <= k; j += 1) { sum = sum.plus(term); term = term.times(odds).times(m - j).over(j + 1); }
      need(sum.atMost(each), "a mean is too low");
      return;
    }
    const a = ONE.minus(shared(upTo(list).map(([hits, of]) => ({ W: ONE, ...oneSided(hits, of, x) })), x).over(m));
    need(a.lo > 0n, "a mean is too low");
    const values = sample.losses.map((loss) => (sign < 0 ? Real.of(M).minus(loss) : Real.of(loss)));
    if (sign < 0) values.reverse();
    const rough = values.map((value, j) => [value.about, list[j] / m]).filter((one) => one[1] > 0), A = a.about ** 2;
    const upper = (u) => { const eta = M * (1 + Math.exp(u)); return eta - A / rough.reduce((sum, [value, w]) => sum + w / (eta - value), 0); };
    let low = -35, high = 30;
    for (let step = 0; step < 200; step += 1) {
      const one = low + (high - low) / 3, two = high - (high - low) / 3;
      if (upper(one) < upper(two)) high = two; else low = one;
    }
    const eta = Real.of(M * (1 + Math.exp(low)));
    need(Real.of(M).below(eta), "a mean is too low");
    const sum = total(values.map((value, j) => (list[j] ? ratio(list[j], m).over(eta.minus(value)) : ZERO)));
    need(eta.minus(a.square.over(sum)).atMost(E), "a mean is too low");
  });
  return random;
}

function byHoeffding(place, cells, err, people) {
  const { sample, M, asked } = place, facts = sample.knowledge, N = cells.length, n = people.rows;
  const simple = asked.shift === "sensitive" || zeroOne(people.loss);
  need(facts.kind === (simple ? "mean" : "mean_variance"), "the surrogate should hold moments");
  const L = Real.of((simple ? 3 : 4) * N).over(err).log;
  for (const { s, y, sign, rows: m, bins } of cells) {
    const mirrored = (x) => (sign < 0 ? Real.of(M).minus(x) : Real.of(x));
    const edges = bins.flatMap(([low, high, w, t]) => [[mirrored(low), ONE.minus(t).times(w)], [mirrored(high), Real.of(t).times(w)]]);
    const E = mirrored(facts.mean[s][y]);
    let least = Real.of(M), spread = ZERO;
    if (m > 0) {
      const mean = total(edges.map(([x, w]) => x.times(w))).over(m);
      least = smaller(least, mean.plus(L.over(2 * m).sqrt.times(M)));
      spread = total(edges.map(([x, w]) => x.minus(mean).square.times(w))).over(m);
    }
    need(least.atMost(E), "a mean is too low");
    if (simple || m === 0) continue;
    const V = Real.of(facts.variance[s][y]);
    if (least.times(Real.of(M).minus(E).square).atMost(V.times(Real.of(M).minus(least)))) continue;
    need(m > 1, "a variance is too low");
    const root_ = positive(spread).times(m).over(m - 1).sqrt.plus(L.times(2).over(m - 1).sqrt.times(M));
    need(root_.square.atMost(V), "a variance is too low");
  }
  if (sample.affinity === 0) return false;
  const d = L.over(2 * n).sqrt, ends = cells.map(({ rows }) => {
    const p = ratio(rows, n);
    return [p, positive(p.minus(d)), smaller(ONE, p.plus(d))];
  });
  const rough = ends.map((end) => end.map((x) => Math.sqrt(x.about)));
  const at = (nu) => rough.reduce((sum, [p, ...q]) => sum + Math.min(...q.map((x) => p * x - nu * x * x)), nu);
  const nu = Real.of(rough.map(([p, q, r]) => p / (q + r)).reduce((best, one) => (at(one) > at(best) ? one : best)));
  const least = total(ends.map(([p, ...qs]) => smallest(qs.map((q) => p.times(q).sqrt.minus(nu.times(q)))))).plus(nu);
  need(Real.of(sample.affinity).atMost(least), "the affinity is too large");
  return false;
}

function samplingProved(read, place, confidence) { // what it cannot see, in words
  const { population: people, question: asked } = read, { sample, M } = place, { knowledge: facts } = people;
  need(!people.weighted && Number.isInteger(people.rows) && facts.kind === "losses", "a sample is rows without weights, and their losses");
  need(asked.support === "any" && asked.empty_cells === "ceiling", "a sample does not tell which losses there are");
  need(canonical(sample.weight) === canonical(people.weight), "the weights of the surrogate are not those of the rows");
  const cells = place.cells.map(({ s, y, sign }) => {
    const bins = facts.cells[s][y], rows = bins.reduce((sum, b) => sum + b[2], 0);
    need(bins.every((b) => Number.isInteger(b[2])) && rows <= 2 ** 53 && rows === people.weight[s][y], "rows are not whole");
    return { s, y, sign, bins, rows };
  });
  need(cells.reduce((sum, cell) => sum + BigInt(cell.rows), 0n) === BigInt(people.rows), "the cells' rows do not add up");
  const err = ONE.minus(confidence), notes = [];
  if (sample.region === "hoeffding") {
    byHoeffding(place, cells, err, people);
    return ["the choice of the region, to be made without looking at the rows"];
  }
  need(sample.region === "sphere" && sample.losses !== null, "the region is unknown");
  const random = onSphere(place, cells, err, people), B = sample.losses.length - 1, x = 0.8 * people.rows ** 0.2;
  const even = (z) => (Math.abs(z % 1) === 0.5 ? 2 * Math.round(z / 2) : Math.round(z));
  if (sample.seed) notes.push("the choice of the seed, to be made without looking at the rows");
  if (B !== (zeroOne(people.loss) ? 1 : Math.max(2, even(x)))) notes.push("the choice of the number of losses, to be made without looking at the rows");
  if (random && !["zero_one", "selected", "brier", "jsd", "absolute"].includes(people.loss)) notes.push("the choice of the largest loss, likewise");
  return notes;
}

// ---- Node, and workers ---------------------------------------------------------------------------------------------------

if (typeof module !== "undefined" && module.exports) {
  module.exports = { check };
  if (require.main === module) {
    const [file, ...flags] = process.argv.slice(2);
    try {
      const result = check(require("node:fs").readFileSync(file ?? ""), { patient: flags.includes("--patient") });
      console.log(result.reason === null ? result.verdict : `${result.verdict}: ${result.reason}`);
      if (result.about !== null) console.log(`  about the data: ${result.about}`);
      for (const { words, points, gate } of result.questions) {
        console.log(`  ${words}`);
        for (const { rho, bound, attained, proved } of points) console.log(`    rho ${rho}: claimed ${bound}, the proof gives ${proved}; attained ${attained}`);
        if (gate) console.log(`    ${gate.words}`);
      }
      for (const part of ["checked", "left", "notes"]) for (const line of result[part]) console.log(`  ${part === "checked" ? part : "not checked"}: ${line}`);
      process.exitCode = result.status;
    } catch (error) {
      console.error(`usage: node checker.js certificate.json [--patient]\n${error.message}`);
      process.exitCode = 2;
    }
  }
} else if (typeof WorkerGlobalScope !== "undefined" && self instanceof WorkerGlobalScope) {
  self.onmessage = ({ data: { bytes, patient } }) => {
    self.postMessage({ result: check(bytes, { patient, progress: (done, of) => self.postMessage({ done, of }) }) });
  };
}
