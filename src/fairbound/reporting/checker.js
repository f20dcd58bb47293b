// The second checker of certificates, format 2.0: written from docs/specification.md alone, whose sections explain and prove
// what is done here. It needs nothing but the language, runs in Node (`node checker.js certificate.json`), in a worker and in
// a page, and shares no line with `fairbound verify`. Every double of a document is taken as exactly the number it is; all
// else is computed between two bounds, and a condition counts only if it holds for all numbers between them.
"use strict";

class Malformed extends Error {} // not a certificate
class Unproved extends Error {} // a certificate whose claim is not proved
const form = (holds, why) => { if (!holds) throw new Malformed(why); };
const need = (holds, why) => { if (!holds) throw new Unproved(why); };

const trail = []; // where in the document the check is: it stays there if something fails
const at = (step, act) => { trail.push(step); const value = act(); trail.pop(); return value; };

const effort = { spent: 0, most: Infinity, refused: false }; // steps that were made, and may be
const spend = (steps) => {
  effort.refused = effort.spent + steps > effort.most;
  need(!effort.refused, "takes too much work (more is spent on it with --patient)");
  effort.spent += steps;
};
const INDEX = (n) => Array.from({ length: n }, (_, i) => i);

// ---- Numbers: intervals whose ends are whole multiples of a power of two -------------------------------------------------

const KEEP = 192; // bits that rounding leaves
const ROOM = 1n << 320n; // ends are exact up to this size
const FAR = 640; // what lies so many bits below another number is rounded before it is added

const bits = (n) => (n === 0n ? 0 : Math.ceil(Math.log2(Math.abs(Number(n))))); // at most one off
const down = (n, d) => (n < 0n ? -((-n + d - 1n) / d) : n / d); // the quotient rounded down, for d > 0
const least = (a, b) => (a < b ? a : b), most = (a, b) => (a < b ? b : a);

class Real { // some real number from lo · 2^e to hi · 2^e
  constructor(lo, hi, e) { this.lo = lo; this.hi = hi; this.e = e; }
  static rounded(lo, hi, e) { // outward, if the ends have become long
    spend(1);
    const real = new Real(lo, hi, e);
    return hi > ROOM || lo < -ROOM ? real.to(e + Math.max(bits(lo), bits(hi)) - KEEP) : real;
  }
  static of(x) { // a double, exactly
    if (x instanceof Real) return x;
    need(Number.isFinite(x), "a number is not finite");
    let e = 0;
    for (; !Number.isInteger(x); e -= 1) x *= 2;
    return new Real(BigInt(x), BigInt(x), e);
  }
  get zero() { return this.lo === 0n && this.hi === 0n; }
  get negated() { return new Real(-this.hi, -this.lo, this.e); }
  to(e) { // the same with another exponent
    const by = BigInt(Math.abs(e - this.e));
    return e > this.e ? new Real(this.lo >> by, -(-this.hi >> by), e) : new Real(this.lo << by, this.hi << by, e);
  }
  plus(other) {
    const [a, b] = aligned(this, Real.of(other));
    return Real.rounded(a.lo + b.lo, a.hi + b.hi, a.e);
  }
  minus(other) { return this.plus(Real.of(other).negated); }
  times(other) {
    const a = this, b = Real.of(other), e = a.e + b.e;
    if (a.lo >= 0n && b.lo >= 0n) return Real.rounded(a.lo * b.lo, a.hi * b.hi, e);
    const ends = [a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi];
    return Real.rounded(ends.reduce(least), ends.reduce(most), e);
  }
  over(other) {
    let a = this, b = Real.of(other);
    if (b.hi < 0n) [a, b] = [a.negated, b.negated];
    need(b.lo > 0n, "a number is divided by what may be zero");
    if (a.zero) return a;
    const by = Math.max(0, KEEP + bits(b.hi) - Math.max(bits(a.lo), bits(a.hi)));
    const lo = a.lo << BigInt(by), hi = a.hi << BigInt(by);
    return Real.rounded(down(lo, lo < 0n ? b.lo : b.hi), -down(-hi, hi < 0n ? b.hi : b.lo), a.e - b.e - by);
  }
  get square() { const x = this.times(this); return x.lo < 0n ? positive(x) : x; }
  get sqrt() { need(this.lo >= 0n, "a square root of what may be negative"); return this.rising(root, 4); }
  get log() { need(this.lo > 0n, "a logarithm of what may not be positive"); return this.rising(logarithm); }
  get exp() { return this.rising(exponential); }
  rising(f, steps = 20) { // f encloses the values of a function that does not fall
    spend(steps);
    return this.lo === this.hi ? f(this.lo, this.e) : hull(f(this.lo, this.e), f(this.hi, this.e));
  }
  power(exponent) { // of what is not negative; where it may be 0 the exponent is positive
    if (this.lo > 0n) return this.log.times(exponent).exp;
    need(this.lo === 0n && Real.of(exponent).lo > 0n, "a power is not finite");
    return this.zero ? ZERO : hull(ZERO, new Real(this.hi, this.hi, this.e).power(exponent));
  }
  atMost(other) { return this.minus(other).hi <= 0n; }
  below(other) { return this.minus(other).hi < 0n; }
  near(other, room) { return this.minus(other).atMost(room) && Real.of(other).minus(this).atMost(room); }
  get about() { // a double near its middle, for people and for choices that need not be right
    const n = (this.lo + this.hi) / 2n, by = Math.max(0, bits(n) - 60), e = this.e + by;
    return Number(n >> BigInt(by)) * 2 ** Math.floor(e / 2) * 2 ** Math.ceil(e / 2);
  }
}
const ZERO = new Real(0n, 0n, 0), ONE = new Real(1n, 1n, 0), TWO = new Real(2n, 2n, 0);
const aligned = (a, b) => { // both with one exponent
  const e = a.zero ? b.e : b.zero ? a.e : Math.max(Math.min(a.e, b.e), Math.max(a.e, b.e) - FAR);
  return [a.e === e ? a : a.to(e), b.e === e ? b : b.to(e)];
};
const hull = (a, b) => { // from the low end of a to the high end of b
  const [x, y] = aligned(a, b);
  return Real.rounded(x.lo, y.hi, x.e);
};
const extreme = (choose, winner) => (one, other) => {
  const a = Real.of(one), b = Real.of(other), [x, y] = aligned(a, b);
  if (x.lo >= y.hi) return winner(a, b);
  if (y.lo >= x.hi) return winner(b, a);
  return new Real(choose(x.lo, y.lo), choose(x.hi, y.hi), x.e);
};
const larger = extreme(most, (above) => above), smaller = extreme(least, (_, below) => below);
const largest = (list) => list.reduce(larger), smallest = (list) => list.reduce(smaller);
const positive = (x) => larger(x, ZERO);
const total = (list) => list.reduce((sum, x) => sum.plus(x), ZERO);
const dot = (a, b) => {
  spend(a.length);
  return a.reduce((sum, x, n) => (x === 0 || b[n] === 0 || x.zero ? sum : sum.plus(Real.of(x).times(b[n]))), ZERO);
};

const root = (n, e) => { // Newton's method from above falls until it is there
  if (n === 0n) return ZERO;
  const by = 2 * KEEP - bits(n) + ((bits(n) + e) % 2), m = n << BigInt(by);
  let x = (BigInt(Math.ceil(Math.sqrt(Number(m >> 300n)))) + 1n) << 150n, next = (x + m / x) >> 1n;
  while (next < x) [x, next] = [next, (next + m / next) >> 1n];
  return new Real(x, x * x === m ? x : x + 1n, (e - by) / 2);
};

// Functions in whole multiples of 2^-256, each step rounded by less than one of them. A series has less than 100 terms, and
// the errors of one call stay below 1024 of these units for each power of two that is split off.
const FIXED = 256, UNIT = 1n << 256n;
const fixed = (value, error, e = -FIXED) => new Real(value - error, value + error, e);
const fixedPoint = (n, e) => (e < -FIXED ? n >> BigInt(-FIXED - e) : n << BigInt(e + FIXED));
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
const LN2 = 2n * odd(UNIT / 3n, 1n), PI = 16n * odd(UNIT / 5n, -1n) - 4n * odd(UNIT / 239n, -1n);
const logarithm = (n, e) => {
  let k = bits(n), m = fixedPoint(n, -k);
  if (m * m < UNIT * UNIT / 2n) { m <<= 1n; k -= 1; }
  const value = 2n * odd(((m - UNIT) << 256n) / (m + UNIT), 1n) + BigInt(k + e) * LN2;
  return fixed(value, 2048n * BigInt(Math.abs(k + e) + 1));
};
const exponential = (n, e) => {
  if (n !== 0n && bits(n) + e > 40) {
    need(n < 0n, "an exponential is too large");
    return new Real(0n, 1n, -1e9);
  }
  const x = fixedPoint(n, e), k = (2n * x + LN2) / (2n * LN2), r = x - k * LN2;
  let sum = 0n, term = UNIT;
  for (let j = 1n; term > 2n || term < -2n; j += 1n) {
    sum += term;
    term = ((term * r) >> 256n) / j;
  }
  return fixed(sum, 4096n * (most(k, -k) + 1n), Number(k) - FIXED);
};
const arc = (n, e) => { // four times the arctangent of what is at most 0.45
  const y = fixedPoint(n, e);
  return fixed(4n * odd(y, -1n), 8192n);
};
const psi = (t) => { // arcsin of the square root, for t from 0 to 1
  if (t.lo < 0n) return hull(ZERO, psi(positive(t)));
  const rest = ONE.minus(t);
  if (rest.below(t)) return fixed(PI / 2n, 8192n).minus(psi(positive(rest)));
  const halved = (y) => y.over(ONE.plus(ONE.plus(y.square).sqrt)); // the tangent of half the angle
  return halved(halved(t.over(rest).sqrt)).rising(arc);
};

// ---- Text: strict JSON, canonical text, digest ---------------------------------------------------------------------------

const MOST_BYTES = 32e6, DEEPEST = 14;

class Written { constructor(value) { this.value = value; } } // a whole number written with a fraction or an exponent

// A name, or a text, for people: nothing that cannot be seen, and not too much.
const shown = (value) => {
  const hidden = (unit) => `\\u{${unit.codePointAt(0).toString(16)}}`;
  const all = JSON.stringify(value).replace(/[\p{C}\p{Zl}\p{Zp}]/gu, hidden);
  return all.length > 80 ? `${all.slice(0, 80)} ...` : all;
};
const listed = (names) => `${names.slice(0, 20).map(shown).join(", ")}${names.length > 20 ? ` and ${names.length - 20} more` : ""}`;

const LITERAL = /null|true|false|-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?/y;

function parse(text) { // whole literals that are no double come out as BigInt
  let place = 0, deep = 0;
  const fail = (why) => form(false, `${why} (character ${place} of the text)`);
  const next = () => {
    while (text[place] <= " " && " \t\n\r".includes(text[place])) place += 1;
    return text[place];
  };
  const takes = (mark) => {
    const comes = next() === mark;
    if (comes) place += 1;
    return comes;
  };
  const string = () => { // its first quote is read
    const start = place - 1;
    while (place < text.length && text[place] !== '"') place += text[place] === "\\" ? 2 : 1;
    place += 1;
    try { return JSON.parse(text.slice(start, place)); } catch { return fail("has a text that is not JSON's"); }
  };
  const literal = () => {
    LITERAL.lastIndex = place;
    const [found, fraction, exponent] = LITERAL.exec(text) ?? fail("is not JSON"), value = JSON.parse(found);
    place = LITERAL.lastIndex;
    if (typeof value !== "number" || (Number.isSafeInteger(value) && !fraction && !exponent)) return value;
    if (!Number.isFinite(value)) fail("has a number that is too large");
    if (fraction || exponent) return Number.isInteger(value) ? new Written(value) : value;
    return BigInt(found) === BigInt(value) ? value : BigInt(found);
  };
  const entries = (end, read) => {
    deep += 1;
    if (deep > DEEPEST) fail("is nested deeper than any certificate");
    for (let first = true; !takes(end); first = false) {
      if (!first && !takes(",")) fail("is not JSON");
      read();
    }
    deep -= 1;
  };
  const value = () => {
    const first = next();
    if (!'"[{'.includes(first)) return literal();
    place += 1;
    if (first === '"') return string();
    if (first === "[") { const list = []; entries("]", () => list.push(value())); return list; }
    const object = Object.create(null);
    entries("}", () => {
      if (!takes('"')) fail("is not JSON");
      const key = string();
      if (key in object) fail(`has two entries ${shown(key)}`);
      if (!takes(":")) fail("is not JSON");
      object[key] = value();
    });
    return object;
  };
  const document = value();
  if (next() !== undefined) fail("is followed by something");
  return document;
}

const view = new DataView(new ArrayBuffer(8));
function canonical(value) {
  if (typeof value === "number") {
    view.setFloat64(0, value + 0);
    return view.getBigUint64(0).toString(16).padStart(16, "0");
  }
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value === "string") {
    return JSON.stringify(value).replace(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
  }
  if (value === null || typeof value === "boolean") return String(value);
  return `{${Object.keys(value).sort().map((key) => `${canonical(key)}:${canonical(value[key])}`).join(",")}}`;
}
const same = (a, b) => canonical(a) === canonical(b);
const distinct = (values) => new Set(values.map(canonical)).size === values.length;

const primes = (count) => {
  const found = [];
  for (let n = 2; found.length < count; n += 1) if (found.every((p) => n % p)) found.push(n);
  return found;
};
// 32 bits of the fractions of square and cubic roots: in doubles no root is near enough to a whole number of them to go wrong.
const START = primes(8).map((p) => p ** (1 / 2) * 2 ** 32), ROUNDS = primes(64).map((p) => (p ** (1 / 3) * 2 ** 32) | 0);

function sha256(bytes) { // as bytes
  const padded = new Uint8Array((((bytes.length + 8) >> 6) + 1) << 6);
  padded.set(bytes);
  padded[bytes.length] = 128;
  const data = new DataView(padded.buffer), state = Int32Array.from(START), w = new Int32Array(64);
  data.setBigUint64(padded.length - 8, BigInt(bytes.length) * 8n);
  const turn = (x, ...by) => by.reduce((sum, n) => sum ^ ((x >>> n) | (x << (32 - n))), 0);
  for (let block = 0; block < padded.length; block += 64) {
    for (let i = 0; i < 16; i += 1) w[i] = data.getInt32(block + 4 * i);
    for (let i = 16; i < 64; i += 1) {
      const x = w[i - 15], y = w[i - 2];
      w[i] = w[i - 16] + (turn(x, 7, 18) ^ (x >>> 3)) + w[i - 7] + (turn(y, 17, 19) ^ (y >>> 10));
    }
    let [a, b, c, d, e, f, g, h] = state;
    for (let i = 0; i < 64; i += 1) {
      const one = (h + turn(e, 6, 11, 25) + ((e & f) ^ (~e & g)) + ROUNDS[i] + w[i]) | 0;
      const two = (turn(a, 2, 13, 22) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
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

// ---- Divergences ---------------------------------------------------------------------------------------------------------

// Of each what people call it, f'(inf) if it is finite, the offset, whether radii are at most 1, whether variances are dropped,
// the conjugate g(z) for lam > 0, and p h(q/p): what an atom of mass p adds if it has the mass q, to be at most R - o in all.
const DIVERGENCES = {
  hellinger: () => ({
    words: "Hellinger's distance", slope: ZERO, offset: ONE, bounded: true, drops: false,
    conjugate: (z, lam) => { need(z.hi < 0n, "a value reaches its multiplier"); return lam.square.over(z.times(-4)); },
    cost: (p, q) => p.times(q).sqrt.negated,
  }),
  total_variation: () => ({
    words: "total variation", slope: ONE, offset: ZERO, bounded: true, drops: true,
    conjugate: (z, lam) => { need(z.atMost(lam), "a value is too far above its multiplier"); return positive(z); },
    cost: (p, q) => positive(q.minus(p)),
  }),
  kl: () => ({
    words: "Kullback-Leibler divergence", slope: null, offset: ONE, bounded: false, drops: false,
    conjugate: (z, lam) => lam.times(z.over(lam).exp),
    cost: (p, q) => (q.zero ? q : q.times(q.over(p).log).minus(q)),
  }),
  chi_squared: () => ({
    words: "chi squared", slope: null, offset: ONE, bounded: false, drops: false,
    conjugate: (z, lam) => positive(z.plus(lam.times(2))).square.over(lam.times(4)),
    cost: (p, q) => q.times(q.over(p).minus(2)),
  }),
  trimming: () => ({
    words: "trimming, the share of the population that is taken away", slope: null, offset: ZERO, bounded: true, drops: true,
    conjugate: (z, lam, kappa) => kappa.times(positive(z)),
    cost: (p, q, kappa) => { need(q.atMost(kappa.times(p)), "the witness is too dense"); return ZERO; },
  }),
  cressie_read: (order) => {
    const a = Real.of(order), b = a.minus(ONE), steep = order < 1;
    return {
      words: `Cressie-Read divergence of order ${order}`, slope: steep ? ONE.over(b.negated) : null, offset: ONE.over(a),
      bounded: false, drops: order > 2,
      conjugate: (z, lam) => {
        const u = ONE.plus(b.times(z).over(lam));
        need(!steep || u.lo > 0n, "a value is too far above its multiplier");
        return lam.over(a).times(positive(u).power(a.over(b)));
      },
      cost: (p, q) => (q.zero ? q : q.times(q.over(p).power(b).minus(a)).over(a.times(b))),
    };
  },
};

// ---- The document: each type reads a value, or refuses it ----------------------------------------------------------------

const certificate = (() => {
  const size = { // how many there are of what, as far as the document was read
    get omega() { return this.axis === "part" ? this.labels : this.searched; }, // of forms F and P
    get other() { return this.axis === "group" ? this.labels : this.groups; }, // shares of the side that is not searched
  };
  const noted = (key, type) => (value) => {
    const read = type(value);
    size[key] = Array.isArray(read) ? read.length : read;
    return read;
  };
  const when = (right, why) => (value) => { form(right(value), why); return value; };
  const or = (type) => (value) => (value === null ? null : type(value));
  const choice = (...choices) => when((value) => choices.includes(value), `is not one of ${choices.join(", ")}`);
  const texts = (most) => when(
    (value) => typeof value === "string" && value.length <= 2 * most && [...value].length <= most, "is not a text, or too long",
  );
  const isWhole = (value) => typeof value === "bigint" || Number.isInteger(value);
  const whole = (high) => when((value) => isWhole(value) && value >= 0 && value <= high, `is not whole, from 0 to ${high}`);
  const between = (low, high) => (value) => {
    const x = value instanceof Written ? value.value : value;
    form(typeof x === "number" && x >= low && x <= high, `is not a number from ${low} to ${high}`);
    return x;
  };
  const list = (type, length) => (value) => {
    form(Array.isArray(value), "is not a list");
    form(length === undefined || value.length === (size[length] ?? length), `has not ${size[length] ?? length} entries`);
    return value.map((entry, i) => at(i, () => type(entry)));
  };
  const table = (type) => list(list(type, "labels"), "groups");
  const isObject = (value) => value !== null && typeof value === "object" && Object.getPrototypeOf(value) === null;
  const object = (types) => (value) => {
    form(isObject(value), "is not an object");
    for (const key of Object.keys(value)) form(Object.hasOwn(types, key), `has an unknown entry ${shown(key)}`);
    return Object.fromEntries(Object.entries(types).map(([key, type]) => {
      form(key in value, `lacks ${key}`);
      return [key, at(`.${key}`, () => type(value[key]))];
    }));
  };
  const variant = (key, types) => (value) => { // the one that its entry `key` names
    const chosen = isObject(value) ? value[key] : null;
    form(typeof chosen === "string" && Object.hasOwn(types, chosen), `has no ${key} out of ${Object.keys(types).join(", ")}`);
    return object({ [key]: text, ...types[chosen] })(value);
  };

  const number = between(-1e100, 1e100), amount = between(0, 1e100), share = between(0, 1), radius = between(0, 1e9);
  const count = whole(2 ** 53), text = texts(10000), truth = choice(true, false), numbers = table(number), amounts = table(amount);
  const namePart = (value) => (typeof value === "string" ? text(value) : typeof value === "boolean" ? value : number(value));
  const name = (value) => {
    if (!Array.isArray(value)) return namePart(value);
    form(value.length > 0 && value.length <= 100, "is no name");
    return list(namePart)(value);
  };
  const digits = when((value) => typeof value === "string" && [...value].length === 64, "is no text of 64 characters");

  const knowledge = variant("kind", {
    losses: { cells: table(list(list(amount, 4))), rows: amount },
    mean: { mean: amounts },
    mean_variance: { mean: amounts, variance: amounts },
    strata: { names: noted("strata", list(name)), cells: table(list(list(amount, 2), "strata")) },
  });
  const limits = (side) => object({
    skew: or(share), rows: noted(`${side} limits`, list(list(between(-2, 2), side))), most: list(between(-2, 2), `${side} limits`),
  });
  const searched = list(number, "searched"), omega = list(number, "omega");
  const multipliers = { lam: amount, group_mu: list(number, "groups limits"), label_mu: list(number, "labels limits") };
  const fractions = { zeta: numbers, slope: or(numbers), centre: searched, omega, nu: or(list(number, "groups")), ...multipliers };
  const roles = { plus: numbers, minus: numbers, plus_slope: or(numbers), minus_slope: or(numbers) };
  const leaf = variant("form", {
    T: {
      w: numbers, centre: searched, gamma: searched, omega: searched, ...multipliers,
      relaxed: choice("none", "plus", "minus", "both"),
    },
    F: { base: or(searched), offset: or(list(number, "other")), ...fractions },
    P: { sets: list(object({ ...fractions, ...roles, omega: list(number, "labels") })) },
  });
  const witness = object({
    group_mass: list(amount, "groups"), label_mass: list(amount, "labels"), mass: or(amounts), unseen: amounts,
    reweighting: table(list(amount)),
  });
  const proof = object({
    axis: noted("axis", choice("label", "group", "part")), floors: noted("searched", list(share)),
    splits: list(or(list(amount, 3))), leaves: list(leaf),
  });
  const sampling = object({
    region: text, affinity: share, weight: amounts, knowledge, losses: or(noted("losses", list(amount))),
    counts: or(table(list(count, "losses"))), seed: or((value) => BigInt(whole(2 ** 64)(value))),
  });
  const objective = object({ plus: or(count), minus: or(count), label: or(count), inside: truth, ratio: truth });
  const answer = object({ bound: number, attained: or(number), witness: or(witness), proof });
  const claim = object({ bound: number, attained: or(number) });
  const question = object({
    measure: count, metric: object({ name: text, group: or(name) }), shift: choice("general", "stratified", "sensitive"),
    support: choice("any", "observed"), empty_cells: choice("refuse", "ceiling"), divergence: choice(...Object.keys(DIVERGENCES)),
    order: or(between(0.1, 10)), fair: truth, base_rate_tolerance: or(share), group_limits: limits("groups"),
    label_limits: limits("labels"), confidence: or(share), tol: amount,
    statements: list(object({ objective: or(objective), confidence: or(share), sampling: or(sampling) })),
    distance: or(radius), points: list(object({ rho: radius, claim: or(claim), answers: list(answer) })),
  });
  const population = object({
    groups: noted("groups", list(name)), labels: noted("labels", list(name)), rows: or(amount), excluded_rows: count,
    weighted: truth, weight: amounts,
    measures: list(object({ loss: texts(200), pos_label: or(name), ceiling: or(amount), knowledge })),
  });
  const versioned = or(object({ name: text, version: or(text) }));
  const role = choice("group", "label", "prediction", "probability", "losses", "weight", "stratum");
  const provenance = object({
    date: or(text), note: or(text), files: list(object({ name: text, sha256: digits })), columns: list(object({ role, name: text })),
    cuts: list(object({ name: text, at: or(list(number)), quantiles: or(count) })),
    meanings: list(object({ label: name, words: text })), model: versioned, data: versioned,
  });
  return object({
    format: choice("fairbound-certificate"), version: choice("2.0.0"), producer: text, provenance, population,
    confidence: or(share), questions: list(question),
    gates: list(object({ question: count, threshold: number, passed: truth })), digest: text,
  });
})();

// ---- What fits together --------------------------------------------------------------------------------------------------

const zeroOne = (loss) => loss === "zero_one" || loss === "selected";
const isEvery = (objective) => objective !== null && objective.plus === null && objective.minus === null; // every two groups
const within = (x) => form(x === null || (x > 0 && x < 1), "a confidence is not between 0 and 1");
const divergenceOf = (asked) => DIVERGENCES[asked.divergence](asked.order);

function fits({ population: people, questions, gates, confidence }) { // the questions, each with what it is about
  const { groups, labels, measures, weight } = people, manyNames = (names) => names.length > 1 && distinct(names);
  form(manyNames(groups) && manyNames(labels), "there are fewer than two groups or labels, or two have one name");
  form(measures.length > 0 && questions.length > 0, "there is no measure, or no question");
  form(distinct(measures.map(({ loss, pos_label }) => [loss, pos_label])), "two measures have one name");
  for (const { loss, pos_label, ceiling, knowledge } of measures) {
    form(pos_label === null || loss === "selected", "pos_label is for selections");
    known(ceiling, weight, knowledge);
    form(!["brier", "jsd", "absolute"].includes(loss) || (ceiling !== null && ceiling <= 1), "the loss cannot be so large");
    if (!zeroOne(loss)) continue;
    form(ceiling === 1 && knowledge.kind !== "mean_variance", "a loss that is 0 or 1 has another ceiling, or variances");
    const bins = knowledge.kind === "losses" ? knowledge.cells.flat(2) : [];
    form(bins.every(([low, high]) => low === high && (low === 0 || low === 1)), "a bin of a loss that is 0 or 1 is neither");
  }
  within(confidence);
  form(distinct(gates.map((gate) => gate.question)), "a question has two gates");
  form(gates.every((gate) => gate.question < questions.length), "a gate is of no question");
  return questions.map((asked, i) => at(`.questions[${i}]`, () => {
    within(asked.confidence);
    form((asked.confidence === null) === (confidence === null), "a confidence is missing");
    form(asked.measure < measures.length, "there is no such measure");
    const one = { people: { ...people, ...measures[asked.measure] }, asked };
    questionFits(one);
    return one;
  }));
}

function known(M, weight, knowledge, sampled = false) { // weights and losses of a population, or of a surrogate
  const { kind, cells, mean, variance, names } = knowledge, below = (x) => M === null || x <= M;
  const addUp = (parts, w) => total(parts.map(Real.of)).near(w, Real.of(w).times(1e-9));
  form(weight.flat().some((w) => w > 0), "no cell has weight");
  form(kind !== "strata" || (names.length > 0 && distinct(names)), "there is no stratum, or two have one name");
  weight.forEach((row, s) => row.forEach((w, y) => {
    const right = {
      losses: () => addUp(cells[s][y].map((bin) => bin[2]), w)
        && cells[s][y].every(([low, high, v, t]) => low <= high && v > 0 && t <= 1 && below(high)),
      strata: () => addUp(cells[s][y].map(([v]) => v), w)
        && cells[s][y].every(([v, loss]) => below(loss) && (v > 0 || loss === 0 || sampled)),
      mean: () => M !== null && M > 0 && mean[s][y] <= M,
      mean_variance: () => right.mean() && variance[s][y] <= mean[s][y] * (M - mean[s][y]) * (1 + 1e-9),
    };
    form(right[kind](), `the losses of group ${s} and label ${y} do not fit together`);
  }));
}

function questionFits({ people, asked }) {
  const { statements, points, label_limits: labels, base_rate_tolerance: tolerance } = asked, metric = asked.metric.name;
  const stratified = asked.shift === "stratified", ratio = statements.some(({ objective }) => objective !== null && objective.ratio);
  form(tolerance === null || (asked.fair && tolerance > 0), "a tolerance is not allowed");
  const free = labels.skew === null && !labels.rows.length;
  form((tolerance === null && asked.fair) || free, "limits on labels are for equal base rates");
  form(asked.confidence === null || asked.divergence === "hellinger", "a confidence is for Hellinger's distance");
  const ordered = asked.divergence === "cressie_read";
  form((asked.order !== null) === ordered && asked.order !== 1, "an order is for cressie_read, and is not 1");
  form(!stratified || asked.support === "observed", "within strata only losses that occur are spoken of");
  form(statements.length > 0, "there is no statement");
  form(metric !== "loss" || (statements.length === 1 && asked.metric.group === null), "a loss is one statement");
  statements.forEach(({ objective, confidence, sampling }, i) => at(`.statements[${i}]`, () => {
    within(confidence);
    form((confidence === null) === (asked.confidence === null), "a confidence is missing");
    form((sampling === null) === (confidence === null), "a confidence needs a sample, and only that");
    form((objective === null) === (metric === "loss"), "an objective does not fit the metric");
    const two = objective === null || ((objective.plus === null) === (objective.minus === null) && objective.label === null);
    form(two || !objective.ratio, "a ratio is of two groups");
    if (sampling !== null) sampleFits(people, sampling, statements[0].sampling, stratified);
  }));

  const of = (claimed) => points.filter(({ claim }) => (claim !== null) === claimed).map(({ rho }) => rho);
  const radii = of(true), nearest = [asked.distance ?? 0, ...of(false)];
  form(radii.length > 0, "no radius has a claim");
  form(asked.distance !== null || points.length === 1, "a single certificate has one radius");
  form(!divergenceOf(asked).bounded || [...nearest, ...radii].every((x) => x <= 1), "a radius is above 1");
  const far = radii.reduce(least);
  form(nearest.every((x) => Real.of(x).minus(far).atMost(1e-9)), "a radius without a claim exceeds one with a claim");
  points.forEach(({ claim, answers }, i) => at(`.points[${i}]`, () => {
    form(answers.length === (claim === null ? 0 : statements.length), "has not an answer to each statement");
    form(claim === null || plausible(claim), "a bound is impossible");
    answers.forEach((given, j) => at(`.answers[${j}]`, () => answerFits(people, given, statements[j].objective)));
  }));

  function plausible({ bound, attained }) {
    return [bound, attained ?? bound].every((x) => (metric !== "loss" && !ratio) || (x >= 0 && (!ratio || x <= 1)));
  }
  function answerFits({ groups, labels: those }, { witness, proof, ...given }, objective) {
    form(plausible(given), "a bound is impossible");
    form((witness === null) === (given.attained === null), "a witness is there if and only if a value is attained");
    form(witness === null || !isEvery(objective), "a witness is of two groups");
    const parts = objective !== null && objective.label !== null ? 2 : 1;
    const searched = { label: those.length, group: groups.length, part: parts }[proof.axis];
    form(proof.floors.length === searched, "floors are not one for each searched share");
  }
}

function sampleFits({ ceiling: M, knowledge: data }, { region, seed, weight, knowledge, losses, counts }, first, stratified) {
  form(M !== null && M > 0, "there is no largest loss");
  form((knowledge.kind === "strata") === stratified, "a surrogate has strata if and only if the shift is stratified");
  form(!stratified || (data.kind === "strata" && same(knowledge.names, data.names)), "a surrogate has other strata");
  known(M, weight, knowledge, true);
  form((losses === null) === (counts === null), "rounded losses and counts belong together");
  const rising = (x, i) => i === 0 || losses[i - 1] < x;
  const right = losses === null || (losses.length > 1 && losses[0] === 0 && losses.at(-1) === M && losses.every(rising));
  form(right, "rounded losses do not increase from 0 to the ceiling");
  form(region === first.region && seed === first.seed && same(losses, first.losses), "statements have different samples");
  form((region !== "hoeffding" && !stratified) || (losses === null && seed === null), "there are no rounded losses here");
}

// ---- Values, atoms, peaks ------------------------------------------------------------------------------------------------

const TINY = ONE.over(1e12); // the leeway, delta

// The atoms (loss, share of the cell) of what is known of a cell: those for the bound, and those for the witness.
const LAWS = {
  losses: ({ cells }, here) => {
    const bins = here(cells).map((b) => b.map(Real.of)), all = total(bins.map((b) => b[2]));
    return [
      bins.flatMap(([low, high, w, t]) => [[low, w.times(ONE.minus(t)).over(all)], [high, w.times(t).over(all)]]),
      bins.map(([low, high, w, t]) => [low.plus(t.times(high.minus(low))), w.over(all)]),
    ];
  },
  strata: ({ cells }, here) => {
    const all = total(here(cells).map(([w]) => Real.of(w)));
    const atoms = here(cells).map(([w, mean]) => [Real.of(mean), Real.of(w).over(all)]);
    return [atoms, atoms];
  },
  mean: ({ mean }, here, M) => {
    const high = Real.of(here(mean)).over(M), atoms = [[ZERO, ONE.minus(high)], [Real.of(M), high]];
    return [atoms, atoms];
  },
  mean_variance: ({ mean, variance }, here, M, sign, drops) => {
    if (drops) return LAWS.mean({ mean }, here, M);
    const E = Real.of(here(mean)), V = Real.of(here(variance)), way = sign < 0 ? E : Real.of(M).minus(E);
    if (way.zero) return LAWS.mean({ mean }, here, M); // all losses are 0, or M
    const far = V.over(V.plus(way.square)), close = ONE.minus(far), step = V.over(way);
    const atoms = sign < 0 ? [[ZERO, far], [E.plus(step), close]] : [[E.minus(step), close], [Real.of(M), far]];
    return [atoms, atoms];
  },
};

const valueOf = (sign, loss) => (sign > 0 ? loss : sign < 0 ? loss.negated : ZERO);

// What a statement is about: of each cell its sign, part and mass, the losses that there may be, and the two laws of atoms.
function setting({ people, asked }, { objective, sampling }) {
  const M = people.ceiling, { weight, knowledge } = sampling ?? people, { kind } = knowledge, divergence = divergenceOf(asked);
  const S = people.groups.length, C = people.labels.length, { plus, minus, label, inside } = objective ?? {};
  const sensitive = asked.shift === "sensitive", observed = asked.support === "observed", every = isEvery(objective);
  need(objective === null || plus !== minus || every, "an objective compares a group with itself");
  need(!every || sampling === null, "no sample is one for every two groups");
  need((plus ?? 0) < S && (minus ?? 0) < S && (label ?? 0) < C, "an objective names what is not there");
  need(sensitive || (asked.shift === "stratified") === (kind === "strata"), "strata belong to stratified shifting");
  need(!observed || sensitive || "cells" in knowledge, "with moments one cannot tell which losses occur");
  const parted = objective !== null && label !== null, mass = total(weight.flat().map(Real.of));
  const counts = (y) => !parted || (y === label) === inside;
  const made = (signOf) => weight.flatMap((row, s) => row.map((w, y) => {
    const sign = counts(y) ? signOf(s) : 0, part = parted && y !== label ? 1 : 0, empty = w === 0;
    return { s, y, sign, part, empty, p: Real.of(w).over(mass), ...law((rows) => rows[s][y], empty, sign) };
  }));
  const cells = made((s) => (objective === null || s === plus ? 1 : s === minus ? -1 : 0));
  const tolerance = asked.base_rate_tolerance === null ? ZERO : smaller(ONE, TINY.plus(asked.base_rate_tolerance));
  const e = asked.fair ? tolerance : ONE;
  return {
    asked, objective, sampling, S, C, M, divergence, cells, counted: INDEX(C).filter(counts),
    every: every ? { zeta: cells, plus: made(() => 1), minus: made(() => -1) } : null, // by roles
    sides: objective === null ? [] : [plus, minus].filter((s) => s !== null), ratio: objective !== null && objective.ratio,
    hellinger: asked.divergence === "hellinger", e, equal: e.zero, any: e.lo === e.hi && e.minus(ONE).zero,
    limited: { group: widened(asked.group_limits, S), label: widened(asked.label_limits, C) },
    stray: asked.shift === "general" ? !observed : asked.shift === "stratified" && sampling !== null,
  };

  function law(here, empty, sign) { // the least and the largest loss, and the atoms
    const highest = () => { need(M !== null, "there is no largest loss"); return Real.of(M); };
    need(!empty || !(sensitive || observed) || asked.empty_cells === "ceiling", "a cell is empty");
    if (empty) return { low: ZERO, high: highest(), bound: [], attained: [] };
    let [bound, attained] = LAWS[kind](knowledge, here, M, sign, divergence.drops), ends;
    if (sensitive) {
      ends = ["mean" in knowledge ? Real.of(here(knowledge.mean)) : total(attained.map(([loss, part]) => loss.times(part)))];
      bound = attained = [[ends[0], ONE]];
    } else if (kind === "strata") ends = attained.filter(([, part]) => sampling !== null || !part.zero).map(([mean]) => mean);
    else ends = observed ? here(knowledge.cells).flatMap(([low, high]) => [Real.of(low), Real.of(high)]) : [ZERO, highest()];
    bound = sign === 0 ? [[ZERO, ONE]] : bound.filter(([, part]) => !part.zero);
    return { low: smallest(ends), high: largest(ends), bound, attained };
  }
}

const widened = ({ skew, rows, most: highest }, n) => ({
  skew: skew === null ? null : Real.of(skew).plus(TINY), rows, n,
  most: highest.map((b, j) => Real.of(b).plus(TINY.times(Math.max(0, ...rows[j].map(Math.abs))))),
});

// The same with the values that a proof is about: of each cell its atoms (value, mass), its ceiling and its peak.
function valued(place, factor) {
  const { S, C, objective, every, counted, sides } = place, infinite = place.divergence.slope === null;
  const evaluated = (those, groups) => {
    const cells = those.map((cell) => {
      const value = (loss) => (cell.sign > 0 ? loss.times(factor) : valueOf(cell.sign, loss));
      const atoms = cell.bound.map(([loss, part]) => [value(loss), part.times(cell.p)]), values = atoms.map(([u]) => u);
      const ceiling = value(cell.sign > 0 ? cell.high : cell.low);
      return { ...cell, atoms, ceiling, peak: largest(infinite && values.length ? values : [ceiling, ...values]) };
    });
    for (const s of objective === null || place.equal ? [] : groups) {
      const highest = largest(counted.map((y) => cells[s * C + y].peak));
      for (const y of counted) cells[s * C + y].peak = highest;
    }
    return cells;
  };
  const cells = evaluated(place.cells, sides);
  const roles = every && Object.fromEntries(Object.entries(every).map(([role, those]) => [role, evaluated(those, INDEX(S))]));
  const highest = (role, y) => largest(INDEX(S).map((s) => roles[role][s * C + y].peak));
  const height = (y) => (every ? [highest("plus", y), highest("minus", y)] : sides.map((s) => cells[s * C + y].peak));
  const top = largest(objective === null ? cells.map((cell) => cell.peak) : counted.map((y) => total(height(y))));
  return { ...place, cells, every: roles, top };
}

// The leeway: R, the largest ratio kappa, and for Hellinger's distance the affinity A = 1 - R.
function reach({ asked, hellinger, sampling }, rho) {
  if (asked.divergence === "trimming") return { R: ZERO, A: null, kappa: ONE.plus(TINY).over(ONE.minus(rho)) };
  if (!hellinger) return { R: Real.of(rho).plus(TINY.times(ONE.plus(rho))), A: null, kappa: ONE };
  let A = ONE.minus(Real.of(rho).square);
  if (sampling !== null) {
    const a = Real.of(sampling.affinity);
    A = A.times(a).minus(positive(ONE.minus(A.square).times(ONE.minus(a.square))).sqrt);
  }
  A = positive(A.minus(TINY));
  return { R: ONE.minus(A), A, kappa: ONE };
}

// ---- Shares and pieces ---------------------------------------------------------------------------------------------------

function support({ skew, rows, most: highest }, v, mu) { // sigma(v; mu)
  need(mu.every((x) => x >= 0), "a multiplier is negative");
  const rest = v.map((x, n) => Real.of(x).minus(total(rows.map((row, j) => Real.of(mu[j]).times(row[n])))));
  const fixed = dot(mu, highest);
  if (skew === null) return fixed.plus(largest(rest));
  const mean = total(rest).over(rest.length), order = [...rest].sort((a, b) => b.minus(a).about);
  const turn = order[Math.floor(1 / skew.about)]; // no more than 1/skew entries should exceed t
  const t = turn === undefined ? mean : larger(turn, mean);
  return fixed.plus(t).plus(skew.times(total(rest.map((x) => positive(x.minus(t))))));
}
const supportOf = (place, side, one) => (one.omega.every((x) => x === 0) ? ZERO : supported(place, side, one, one.omega));
const supported = ({ limited }, side, one, v) => support(limited[side], v, one[`${side}_mu`]);

// sigma_e(v; nu). All of it is made of sums over groups of a term(v, s) each: `summed` makes a function of such a term.
function rates({ C, e }, nu, summed) {
  const rows = summed((v, s) => largest(v.slice(s * C, s * C + C)));
  if (nu === null) return rows;
  const above = (v, s, y) => v[s * C + y].minus(nu[s]), level = total(nu.map(Real.of));
  const columns = INDEX(C).map((y) => summed((v, s) => above(v, s, y)));
  const excess = summed((v, s) => total(INDEX(C).map((y) => positive(above(v, s, y)))));
  const common = (pair) => positive(largest(columns.map((sum) => sum(pair))));
  return (pair) => smaller(rows(pair), level.plus(common(pair)).plus(e.times(excess(pair))));
}

function leastShares({ skew, rows, most: highest, n }) {
  const low = INDEX(n).map(() => (skew === null ? ZERO : positive(ONE.minus(skew.times(n - 1)).over(n))));
  const high = INDEX(n).map(() => ONE);
  rows.forEach((row, j) => {
    const [first, second] = [...row].sort((a, b) => a - b), b = highest[j];
    row.forEach((a, i) => {
      const l = Real.of(a === first ? second : first); // the least of the others
      if (l.below(a)) high[i] = smaller(high[i], positive(b.minus(l).over(Real.of(a).minus(l))));
      else if (Real.of(a).below(l)) low[i] = larger(low[i], l.minus(b).over(l.minus(a)));
    });
  });
  const all = total(high);
  return low.map((x, i) => larger(x, ONE.minus(all.minus(high[i]))));
}

function leastOf({ limited, equal, e, C, cells }, axis, parts) { // of the shares that are searched
  if (axis === "group") return leastShares(limited.group);
  if (axis === "part" && parts === 1) return [ONE];
  if (axis === "part" && !equal) return [ZERO, e];
  const labels = equal ? leastShares(limited.label) : INDEX(C).map(() => ZERO);
  return axis === "label" ? labels : [0, 1].map((part) => total(labels.filter((_, y) => cells[y].part === part)));
}

function* pieces(place, { axis, floors, splits }) { // the corners of each leaf, in the order of the leaves
  need(axis !== "part" || place.objective !== null, "parts are for objectives");
  const low = floors.map(Real.of), n = floors.length, rest = ONE.minus(total(low)), bounds = leastOf(place, axis, n);
  need(low.every((x, i) => x.atMost(bounds[i])), "a floor is above what shares can be");
  need(rest.lo >= 0n, "floors add up to more than 1");
  need(n <= 4096, "a piece has too many corners");
  spend(n ** 2);
  const open = [{ depth: 0, corners: low.map((x, i) => low.with(i, rest.plus(x))) }];
  for (const split of splits) {
    need(open.length > 0, "too many pieces");
    const { depth, corners } = open.pop();
    if (split === null) { yield corners; continue; }
    const [i, j, t] = split, right = (k) => Number.isInteger(k) && k < n;
    need(right(i) && right(j) && i !== j && t > 0 && t < 1, "a cut is not between two corners");
    need(depth < 400, "pieces are cut too often");
    const x = corners[i].map((a, k) => a.plus(corners[j][k].minus(a).times(t)));
    spend(2 * n);
    for (const k of [j, i]) open.push({ depth: depth + 1, corners: corners.with(k, x) });
  }
  need(open.length === 0, "pieces are missing");
}

// ---- The forms of leaves: each is a function of the corners of a piece ---------------------------------------------------

// What stands for a value u in a cell, at a corner: phi u + psi.
function substitutes(place, relaxed, claimed) {
  const { objective, counted, cells, C } = place, none = [ZERO, ZERO];
  if (objective === null) {
    need(relaxed === "none", "there is nothing to relax");
    return () => [ONE, ZERO];
  }
  const t = place.ratio ? ZERO : Real.of(claimed), given = ["plus", "minus"].filter((side) => objective[side] !== null);
  const kept = given.filter((side) => relaxed !== side && relaxed !== "both");
  if (kept.length === 2) {
    return (cell, x) => {
      const other = x[cell.s === objective.plus ? objective.minus : objective.plus];
      return cell.sign === 0 ? none : [other, cell.sign > 0 ? t.times(other).negated : ZERO];
    };
  }
  const replaced = given.filter((side) => !kept.includes(side)).map((side) => objective[side]);
  const heights = INDEX(C).map((y) => total(replaced.map((s) => cells[s * C + y].peak)).minus(t));
  if (kept.length) return (cell) => (cell.s === objective[kept[0]] && cell.sign !== 0 ? [ONE, heights[cell.y]] : none);
  const those = counted.map((y) => heights[y]), highest = objective.label === null ? null : largest(those);
  return (cell) => [ZERO, highest ?? heights[cell.y]];
}

// What forms T and F of a loss share: level + constant + sigma(omega) + the largest, over the corners x, of
// <linear - omega, x> + the sum of terms(x).
function searched(place, axis, one, level, constant, linear, terms) {
  const fixed = level.plus(constant).plus(supportOf(place, axis, one)), slope = linear.map((x, n) => Real.of(x).minus(one.omega[n]));
  return (corners) => fixed.plus(largest(corners.map((x) => terms(x).reduce((sum, term) => sum.plus(term), dot(slope, x)))));
}

function tilted(place, axis, one, { R, kappa }, claimed) { // form T
  const { S, C, e, equal, any, objective, cells, divergence } = place, { slope } = divergence, byLabel = axis === "label";
  need(byLabel || (axis === "group" && (equal || any)), "form T searches labels, or groups if base rates are equal or arbitrary");
  const both = one.relaxed === "none" && place.sides.length === 2;
  need(!both || (!byLabel && (equal || objective.label === null)), "form T keeps both sides only where groups are searched");
  const substitute = substitutes(place, one.relaxed, claimed), lam = Real.of(one.lam), { centre, gamma } = one;
  const [n, others, other] = byLabel ? [C, S, "group"] : [S, C, "label"];
  const d = byLabel && !equal ? smaller(ONE, e.times(C - 1)) : ZERO, rest = ONE.minus(d);
  const w = INDEX(others).map((b) => INDEX(n).map((a) => Real.of(byLabel ? one.w[b][a] : one.w[a][b])));
  const highest = !byLabel && any ? INDEX(n).map((a) => largest(w.map((row) => row[a]))) : null;
  const W = w.map((row) => highest ?? row);
  const tilt = W.map((row) => row.map((x, a) => rest.times(x).minus(gamma[a])));
  const levels = W.map((row) => rest.times(dot(centre, row)).plus(d.zero ? ZERO : d.times(largest(row))));
  const constant = lam.times(R.minus(divergence.offset)).minus(dot(gamma, centre));
  return searched(place, axis, one, supported(place, other, one, levels), constant, gamma, (x) => {
    const moved = x.map((share, a) => share.minus(centre[a])), slant = tilt.map((row) => dot(row, moved));
    return cells.flatMap((cell) => {
      const [a, b] = byLabel ? [cell.y, cell.s] : [cell.s, cell.y];
      const [phi, psi] = substitute(cell, x), past = w[b][a].minus(slant[b]).minus(psi);
      const low = slope === null || phi.times(cell.ceiling).minus(lam.times(slope)).atMost(past);
      need(low, "a multiplier is below its ceiling");
      return cell.atoms.map(([u, p]) => {
        const z = phi.times(u).minus(past);
        need(!lam.zero || z.hi <= 0n, "a value is above its multiplier");
        return lam.zero ? ZERO : p.times(divergence.conjugate(z, lam, kappa));
      });
    });
  });
}

function fraction(a, c, q, x, z) { // Term(a, c, q) at a corner x, with the centre z
  const slope = c.minus(a.times(q)), turn = q.times(slope), below = c.plus(q.times(x));
  const itself = () => a.plus(x).over(below);
  if (turn.hi <= 0n && below.lo > 0n) return itself();
  const n = c.plus(q.times(z));
  need(n.lo > 0n, "a fraction's centre is not where it is defined");
  const tangent = a.plus(z).over(n).plus(slope.over(n.square).times(x.minus(z)));
  if (turn.lo >= 0n) return tangent;
  need(below.lo > 0n, "a fraction is not defined at a corner");
  return larger(itself(), tangent);
}

function fractional(place, axis, one, near) { // form F
  const { S, equal, cells, objective } = place, { base, offset, centre } = one, byLabel = axis === "label", lam = Real.of(one.lam);
  need((objective === null) === (base !== null) && (base === null) === (offset === null), "base and offset are for a loss, both");
  if (objective !== null) return compared(place, axis, [one], [null], { zeta: cells }, near);
  need(place.hellinger && centre.every((x) => x > 0), "form F is for Hellinger's distance, and centres are positive");
  need(axis !== "part" && one.slope === null, "form F of a loss searches labels or groups, without slope");
  need(equal || (axis === "group" && offset.every((x) => x === 0)), "form F of a loss searches groups, without offset");
  const zeta = one.zeta.flat().map(Real.of), sides = (cell) => (byLabel ? [cell.y, cell.s] : [cell.s, cell.y]);
  const summed = (term) => () => total(INDEX(S).map((s) => term(zeta, s))), levels = offset.map(Real.of);
  cells.forEach((cell, i) => { const b = sides(cell)[1]; levels[b] = levels[b].plus(zeta[i]); });
  const level = equal ? supported(place, byLabel ? "group" : "label", one, levels) : rates(place, one.nu, summed)();
  return searched(place, axis, one, level, lam.times(near.A).negated, base, (x) => cells.flatMap((cell, i) => {
    const [n, b] = sides(cell), height = Real.of(base[n]).plus(offset[b]), z = Real.of(centre[n]);
    need(zeta[i].plus(x[n].times(height.minus(cell.ceiling))).lo >= 0n, "a multiplier is below its ceiling");
    const atoms = lam.zero ? [] : cell.atoms;
    return atoms.map(([u, p]) => p.times(lam.square.over(4)).times(fraction(ZERO, zeta[i], height.minus(u), x[n], z)));
  }));
}

// Form F of means, which has one set and one pair, and form P, of each pair by the set that is best for it.
function compared(place, axis, sets, pairs, roles, { A }) {
  const { S, C, e, equal } = place;
  need(place.hellinger && axis === "part" && sets.length > 0, "these forms are for Hellinger's distance, and search parts");
  return (corners) => {
    const proved = sets.map((one) => proves(one, corners));
    return largest(pairs.map((_, i) => smallest(proved.map((bounds) => bounds[i]))));
  };

  function proves(one, corners) { // of each pair
    const { centre, omega } = one, lam = Real.of(one.lam), parts = centre.length;
    need(centre.every((x) => x > 0), "a centre is not positive");
    need(equal || omega.every((x) => x === 0), "omega is for equal base rates");
    const labels = INDEX(parts).map((n) => INDEX(C).filter((y) => place.cells[y].part === n));
    const fixed = supportOf(place, "label", one).minus(lam.times(A));
    const played = Object.entries(roles).map(([role, cells]) => {
      const slope = one[role === "zeta" ? "slope" : `${role}_slope`];
      const low = one[role].flat().map(Real.of), rise = slope === null ? low.map(() => ZERO) : slope.flat().map(Real.of);
      return cells.map((cell, i) => ({ ...cell, low: low[i], rise: rise[i] }));
    });
    const ends = !equal && parts === 2 ? [[ZERO, ZERO], [e, e.negated]] : [[ZERO, ZERO]];
    const bounds = corners.map((x) => {
      const theta = played.map((cells) => cells.map((cell) => {
        const height = cell.low.plus(x[cell.part].times(cell.rise));
        need(cell.ceiling.atMost(height), "a multiplier is below its ceiling");
        return height;
      }));
      const terms = (a) => ({ low, rise, part, atoms }) => total(atoms.map(([u, p]) =>
        p.times(fraction(a[part], low.minus(u), rise, x[part], Real.of(centre[part])))));
      const pull = (s) => largest(played.flatMap((cells) => ends.map((a) => total(cells.slice(s * C, s * C + C).map(terms(a))))));
      const pulled = lam.zero ? ZERO : lam.square.over(4).times(supported(place, "group", one, INDEX(S).map(pull)));
      // A sum over groups of one term each: what it is if no group counts, and what a and b have more.
      const summed = (term) => {
        const [own, plus, minus] = theta.map((heights) => INDEX(S).map((s) => term(heights, s))), all = total(own);
        return (pair) => (pair ? pair.reduce((sum, s, k) => sum.plus((k ? minus : plus)[s].minus(own[s])), all) : all);
      };
      const highest = (those) => summed((heights, s) => largest(those.map((y) => heights[s * C + y])));
      const column = (y) => summed((heights, s) => heights[s * C + y]);
      let level;
      if (equal) {
        const columns = labels.map((those, n) => those.map((y) => [column(y), x[n].times(omega[y])]));
        level = (pair) => total(columns.map((those) => largest(those.map(([sum, off]) => sum(pair).minus(off)))));
      } else if (parts === 1) level = rates(place, one.nu, summed);
      else {
        const rows = labels.map(highest);
        level = (pair) => total(rows.map((sum) => sum(pair)));
      }
      return pairs.map((pair) => level(pair).plus(pulled));
    });
    return pairs.map((_, i) => largest(bounds.map((proved) => proved[i])).plus(fixed));
  }
}

// Form P: every two groups.
const paired = (place, axis, one, near) => compared(place, axis, one.sets, pairsOf(place.S), place.every, near);

const FORMS = { T: tilted, F: fractional, P: paired };

function excessOf(place, { bound, proof }, near) { // what the proof lacks, at most 0, or nothing is proved
  const { ratio } = place, leaves = proof.leaves[Symbol.iterator]();
  let excess = null, inside = ratio; // inside: the claim stands inside of a proof
  for (const corners of pieces(place, proof)) {
    const { value: one, done } = leaves.next();
    need(!done, "leaves are missing");
    need((one.form === "P") === (place.every !== null), "form P is for statements of every two groups, which take no other");
    const proved = FORMS[one.form](place, proof.axis, one, near, bound)(corners);
    const stated = ratio || (one.form === "T" && place.objective !== null), own = stated ? proved : proved.minus(bound);
    const over = ratio ? own : smaller(own, place.top.minus(bound));
    need(over.hi <= 0n, `a leaf proves no more than ${(over.about + bound).toPrecision(9)}`);
    inside ||= stated;
    excess = excess === null ? over : larger(excess, over);
  }
  need(leaves.next().done, "there are leaves without a piece");
  return inside ? ZERO : excess;
}

// ---- The witness ---------------------------------------------------------------------------------------------------------

function obeys({ skew, rows, most: highest }, shares, side) {
  need(skew === null || largest(shares).minus(smallest(shares)).atMost(skew), `${side} shares of the witness differ too much`);
  rows.forEach((row, j) => need(dot(row, shares).atMost(highest[j]), `${side} shares of the witness break a limit`));
}

function massesOf({ S, C, e, equal, any, limited }, { group_mass: groups, label_mass: labels, mass }) { // of each cell
  const normal = (given) => {
    const sum = total(given.map(Real.of));
    need(sum.near(ONE, TINY), "shares of the witness do not add up to 1");
    return given.map((x) => Real.of(x).over(sum));
  };
  if (mass === null) {
    const k = normal(groups), r = normal(labels);
    obeys(limited.group, k, "group");
    obeys(limited.label, r, "label");
    return k.flatMap((x) => r.map((z) => x.times(z)));
  }
  need(!equal, "the witness has unequal base rates");
  const masses = normal(mass.flat()), rows = INDEX(S).map((s) => masses.slice(s * C, s * C + C)), sums = rows.map(total);
  const columns = INDEX(C).map((y) => total(rows.map((row) => row[y])));
  const add = (given, those) => given.every((x, i) => those[i].near(x, TINY.times(2)));
  need(add(groups, sums) && add(labels, columns), "masses of the witness do not add up");
  obeys(limited.group, sums, "group");
  const base = rows.flatMap((row, s) => (sums[s].zero ? [] : [row.map((x) => x.over(sums[s]))]));
  const spread = (y) => largest(base.map((row) => row[y])).minus(smallest(base.map((row) => row[y])));
  need(any || INDEX(C).every((y) => spread(y).atMost(e)), "base rates of the witness differ too much");
  return masses;
}

// Its value, every condition being met; the values of the place are without factor.
function witnessValue(place, witness, attained, { R, kappa }) {
  const { cells, objective, divergence } = place, masses = massesOf(place, witness), size = (u) => larger(u, u.negated);
  const parts = [], partOf = ({ s, part }) => 2 * s + part;
  cells.forEach((cell, i) => { parts[partOf(cell)] = (parts[partOf(cell)] ?? ZERO).plus(masses[i]); });
  let distance = ZERO, scale = ZERO;
  const sums = cells.map((cell, i) => { // of the values of each cell
    const again = witness.reweighting[cell.s][cell.y], unseen = witness.unseen[cell.s][cell.y], laws = cell.attained;
    need(again.length >= laws.length && again.slice(laws.length).every((x) => x === 0), "the witness weighs what is not there");
    need(unseen === 0 || cell.empty || place.stray, "losses occur that cannot");
    const all = total(again.map(Real.of)).plus(unseen);
    need(all.lo > 0n, "the witness leaves a cell without weights");
    const unit = masses[i].over(all), stray = unit.times(unseen);
    const ceiling = valueOf(cell.sign, cell.sign > 0 ? cell.high : cell.low);
    need(divergence.slope !== null || stray.zero, "the witness has losses that the data do not have");
    if (divergence.slope !== null) distance = distance.plus(stray.times(divergence.slope));
    scale = larger(scale, size(ceiling));
    const sum = laws.reduce((before, [loss, part], j) => {
      const p = part.times(cell.p), u = valueOf(cell.sign, loss), q = unit.times(again[j]);
      scale = larger(scale, size(u));
      need(!p.zero || again[j] === 0, "the witness weighs a loss that has no mass");
      if (p.zero) return before;
      distance = distance.plus(divergence.cost(p, q, kappa));
      return before.plus(u.times(q));
    }, ceiling.times(stray));
    return cell.sign !== 0 && objective !== null ? sum.over(parts[partOf(cell)]) : sum;
  });
  need(distance.atMost(R.minus(divergence.offset)), "the witness is too far away");
  const added = total(sums.filter((_, i) => cells[i].sign >= 0)), taken = total(sums.filter((_, i) => cells[i].sign < 0));
  if (place.ratio) {
    const value = attained === 1 ? null : taken.negated.over(added);
    const right = value === null || (value.minus(attained).atMost(TINY) && Real.of(attained).minus(value).atMost(1e-6));
    need(right, "the witness has another ratio");
    return { value, room: TINY };
  }
  const value = added.plus(taken), room = TINY.times(scale);
  need(Real.of(attained).minus(value).atMost(room), "the witness attains less");
  need(value.minus(attained).atMost(scale.times(1e-6)), "the witness attains more");
  return { value, room };
}

// ---- Verdict -------------------------------------------------------------------------------------------------------------

function answerProved(place, rho, given) { // its proved bound and the witness's value
  const { ratio } = place, near = reach(place, rho), bound = Real.of(given.bound);
  const proved = bound.plus(excessOf(valued(place, ratio ? bound : ONE), given, near));
  if (given.witness === null) return { proved, value: null };
  const { value, room } = witnessValue(place, given.witness, given.attained, near);
  need(ratio ? given.bound <= given.attained : given.bound >= given.attained, "the bound is worse than what is attained");
  need(ratio || value.atMost(proved.plus(room)), "the witness exceeds the proved bound: there may be no such distribution");
  return { proved, value: ratio ? Real.of(given.attained) : value };
}

// Of metrics of pairs: for each of their objectives whether it is about the positive label, and whether about those rows.
const PAIRS = {
  group_loss_difference: [[false, true]], demographic_parity_difference: [[false, true]], demographic_parity_ratio: [[false, true]],
  true_positive_rate_difference: [[true, true]], false_positive_rate_difference: [[true, false]],
  equalized_odds_difference: [[true, true], [true, false]],
};
const isRatio = ({ asked }) => asked.metric.name === "demographic_parity_ratio";
const pairsOf = (n) => {
  spend(10 * n * n);
  return INDEX(n).flatMap((a) => INDEX(n).filter((b) => b !== a).map((b) => [a, b]));
};

function objectivesOf({ people, asked: { metric } }) {
  const { name, group } = metric, groups = people.groups.map(canonical), labels = people.labels.map(canonical), S = groups.length;
  const ratio = name === "demographic_parity_ratio", mine = (s) => group === null || groups[s] === canonical(group);
  const selective = /^(selection|demographic|true|false|equalized)_/.test(name);
  need(!selective || people.loss === "selected", "the metric is about selections");
  if (name === "loss") return [null];
  const chosen = labels.indexOf(people.pos_label === null ? null : canonical(people.pos_label)), ofPairs = Object.hasOwn(PAIRS, name);
  need(ofPairs || ["group_loss", "selection_rate", "cell_loss"].includes(name), "the metric is unknown");
  need(!ofPairs || group === null || ratio, "a metric of pairs has no group");
  need(!ofPairs || chosen >= 0 || !PAIRS[name][0][0], "no label is called positive");
  const sides = ofPairs ? pairsOf(S).filter(([, b]) => mine(b)) : INDEX(S).filter(mine).map((s) => [s, null]);
  const rows = ofPairs ? PAIRS[name].map(([about, inside]) => [about ? chosen : null, inside])
    : name === "cell_loss" ? INDEX(labels.length).map((label) => [label, true]) : [[null, true]];
  need(sides.length > 0, "no group is called so");
  return rows.flatMap(([label, inside]) => sides.map(([plus, minus]) => ({ plus, minus, label, inside, ratio })));
}

function sourcesOf(one) { // the numbers of the statements that the metric follows from, nothing being left out
  const { statements, confidence } = one.asked, objectives = objectivesOf(one), found = new Map();
  const keyOf = (objective) => canonical(objective);
  const keysOf = (objective) => (objective === null || objective.minus === null || confidence !== null ? [keyOf(objective)]
    : [keyOf(objective), keyOf({ ...objective, plus: null, minus: null })]);
  const possible = new Set(objectives.flatMap(keysOf));
  statements.forEach(({ objective, confidence: own }, i) => {
    need(possible.has(keyOf(objective)), "a statement is not of the metric");
    need(!found.has(keyOf(objective)), "a statement is there twice");
    found.set(keyOf(objective), i);
    const error = ONE.minus(own ?? 1).times(objectives.length);
    need(error.atMost(ONE.minus(confidence ?? 1)), "the statements together may be wrong too often");
  });
  const sources = new Set(objectives.map((objective) => found.get(keysOf(objective).find((key) => found.has(key)))));
  need(!sources.has(undefined), "a statement of the metric is missing");
  return [...sources];
}

function pointProved(one, sources, { rho, claim, answers }, results) { // the metric, from what was proved of each statement
  const [worst, best] = isRatio(one) ? [least, smallest] : [most, largest], claimed = sources.map((i) => answers[i].bound).reduce(worst);
  need(worst(claim.bound, claimed) === claim.bound, "the claim says more than its statements");
  const attained = sources.map((i) => answers[i].attained).filter((x) => x !== null);
  need(attained.length > 0, "no statement of the metric has a witness");
  need(attained.reduce(worst) === claim.attained, "the attained value is not that of the statements");
  const values = sources.map((i) => results[i].value).filter((x) => x !== null);
  const proved = best(sources.map((i) => results[i].proved)).about;
  return { rho, ...claim, proved, value: values.length ? best(values).about : null };
}

const SHIFTS = {
  general: "anything may change", sensitive: "only the sizes of the cells change",
  stratified: "only the sizes of the cells, and of their strata, change",
};

function wordsOf({ people, asked }) { // a question, in words that are not its author's
  const { group_limits: g, label_limits: l, metric, base_rate_tolerance: tolerance } = asked, rows = g.rows.length + l.rows.length;
  return [
    `${metric.name.replaceAll("_", " ")}${metric.group === null ? "" : ` of the group ${shown(metric.group)}`}`,
    people.loss === "selected" ? `selected are rows that are predicted as ${shown(people.pos_label)}`
      : `the loss is called ${shown(people.loss)}`,
    SHIFTS[asked.shift],
    asked.support === "observed" && asked.confidence === null && "only losses and strata that occur",
    !asked.fair ? "any base rates" : tolerance === null ? "equal base rates" : `base rates that differ by at most ${tolerance}`,
    g.skew !== null && `group shares differ by at most ${g.skew}`,
    l.skew !== null && `label shares differ by at most ${l.skew}`,
    rows > 0 && `${rows} limits on shares`,
    `rho is the radius of ${divergenceOf(asked).words}`,
    asked.confidence !== null && `confidence ${asked.confidence}`,
  ].filter((part) => part !== false).join("; ");
}
const aboutData = ({ rows, weighted, groups, labels }) =>
  `${rows ?? "an unknown number of"} rows${weighted ? " with weights" : ""}; groups ${listed(groups)}; labels ${listed(labels)}`;

function gateOf(one, points, { threshold, passed }) { // its truth, and its words
  const [side, choose] = isRatio(one) ? ["at least", least] : ["at most", most];
  const worst = points.map(({ bound }) => bound).reduce(choose);
  need((choose(worst, threshold) === threshold) === passed, "a gate does not say the truth");
  return { threshold, passed, words: `gate ${passed ? "passed" : "failed"}: has to be ${side} ${threshold}, and is ${side} ${worst}` };
}

function questionProved(one, counted, notes, progress) {
  const { asked } = one, sources = sourcesOf(one);
  const numbered = (i, prove) => (asked.statements.length > 1 ? at(`statement ${i}`, prove) : prove());
  const places = asked.statements.map((stated, i) => numbered(i, () => {
    const place = setting(one, stated);
    if (stated.sampling !== null && stated.sampling.region === "prequential") counted.beyond = true;
    else if (stated.sampling !== null) samplingProved(one, place, stated.confidence).forEach((note) => notes.add(note));
    return place;
  }));
  const points = asked.points.filter((point) => point.claim !== null).map((point) => at(`rho = ${point.rho}`, () => {
    progress(counted.radii);
    counted.radii += 1;
    return pointProved(one, sources, point, point.answers.map((given, i) => numbered(i, () => {
      counted.leaves += given.proof.leaves.length;
      counted.witnesses += given.witness === null ? 0 : 1;
      return answerProved(places[i], point.rho, given);
    })));
  }));
  return { words: wordsOf(one), points };
}

const LEFT = [
  "what names look like: a loss may be called almost like one of ours",
  "that the statistics are those of the data, and what the document says for people: where it comes from, producer, "
    + "excluded rows, the gap aimed at, radii without a claim",
];
const BEYOND = "the sample of the region prequential and its bets are left to fairbound verify; all else holds";

const inWords = (n, one, many) => `${n} ${n === 1 ? one : many}`;
const checkedOf = (read, { leaves, radii, witnesses }) => [
  "the text, the entries and how they fit together", "the digest of the statistics",
  `the multipliers of ${inWords(leaves, "leaf", "leaves")} at ${inWords(radii, "radius", "radii")}, by weak duality, rounded outward`,
  `${inWords(witnesses, "worst case", "worst cases")}: limits, base rates, distance and value`, "that the metrics follow from their statements",
  read.gates.length && `what ${inWords(read.gates.length, "gate says", "gates say")} of the bounds`,
  read.confidence !== null && "the confidence region of the sample, computed anew from the counts",
].filter(Boolean);

function documentProved(read, questions, counted, notes, progress) { // what was proved of each question
  need(`sha256:${hex(sha256(encode(canonical(read.population))))}` === read.digest, "the digest is not that of the population");
  const radii = questions.flatMap(({ asked }) => asked.points.filter((point) => point.claim !== null)).length;
  const proved = questions.map((one, i) => {
    const prove = () => questionProved(one, counted, notes, (done) => progress(done, radii));
    return questions.length > 1 ? at(`question ${i} (${shown(one.asked.metric.name).slice(1, -1)})`, prove) : prove();
  });
  const errors = total(read.questions.map((asked) => ONE.minus(asked.confidence ?? 1)));
  need(errors.atMost(ONE.minus(read.confidence ?? 1)), "the questions together may be wrong too often");
  for (const gate of read.gates) proved[gate.question].gate = gateOf(questions[gate.question], proved[gate.question].points, gate);
  need(!counted.beyond, BEYOND);
  return proved;
}

function check(bytes, { patient = false, progress = () => {} } = {}) { // the verdict on a document, whatever it is
  memory.clear();
  trail.length = 0;
  Object.assign(effort, { spent: 0, refused: false, most: patient ? 3e8 : 5e6 });
  const notes = new Set(), counted = { radii: 0, leaves: 0, witnesses: 0, beyond: false }, long = bytes.length > MOST_BYTES;
  const result = {
    verdict: "not a certificate", status: 2, reason: null, digest: null, sha256: long ? null : hex(sha256(bytes)), about: null,
    questions: [], checked: [], left: LEFT,
  };
  try {
    form(!long, "the document is longer than 32,000,000 bytes");
    const read = at("the document", () => certificate(parse(decode(bytes)))), questions = at("the document", () => fits(read));
    Object.assign(result, { verdict: "not proved", status: 1, digest: read.digest, about: aboutData(read.population) });
    const proved = documentProved(read, questions, counted, notes, progress);
    Object.assign(result, { verdict: "the claim is proved", status: 0, questions: proved, checked: checkedOf(read, counted) });
  } catch (error) {
    if (!(error instanceof Malformed || error instanceof Unproved)) notes.add("the checker itself failed");
    const where = trail.map((step) => (typeof step === "number" ? `[${step}]` : step)).join(": ").replace(/: (?=[[.])/g, "");
    const clause = error instanceof Malformed && /^(is|has|lacks) /.test(error.message);
    result.reason = `${where}${!where ? "" : clause ? " " : ": "}${error.message}`;
    Object.assign(result, { unfinished: effort.refused, ...(error.message === BEYOND && { beyond: true }) });
  }
  return Object.assign(result, { notes: [...notes], effort: effort.spent });
}
const decode = (bytes) => {
  try { return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes); } catch { return form(false, "is not UTF-8"); }
};

// ---- Finite samples ------------------------------------------------------------------------------------------------------

const sumOf = (list) => list.reduce((sum, x) => sum + x, 0); // in doubles
const ratio = (k, m) => Real.of(k).over(m);
const kl = (c, t) => c.times(c.over(t).log).plus(ONE.minus(c).times(ONE.minus(c).over(ONE.minus(t)).log));

function* twister(words) { // random numbers: the Mersenne Twister, seeded with 32-bit words
  const N = 624, mt = new Int32Array(N), mixed = (i) => mt[i] ^ (mt[i] >>> 30), out = new Float64Array(N);
  mt[0] = 19650218;
  for (let i = 1; i < N; i += 1) mt[i] = Math.imul(1812433253, mixed(i - 1)) + i;
  let i = 1;
  const stir = (times, factor, added) => {
    for (let j = 0; j < times; j += 1) {
      mt[i] = (mt[i] ^ Math.imul(mixed(i - 1), factor)) + added(j % words.length);
      i += 1;
      if (i === N) { mt[0] = mt[N - 1]; i = 1; }
    }
  };
  stir(Math.max(N, words.length), 1664525, (j) => words[j] + j);
  stir(N - 1, 1566083941, () => -i);
  mt[0] = 0x80000000;
  for (;;) {
    for (i = 0; i < N; i += 1) {
      let y = (mt[i] & 0x80000000) | (mt[(i + 1) % N] & 0x7fffffff);
      y = mt[i] = mt[(i + 397) % N] ^ (y >>> 1) ^ (y & 1 ? 0x9908b0df : 0);
      y ^= y >>> 11;
      y ^= (y << 7) & 0x9d2c5680;
      y ^= (y << 15) & 0xefc60000;
      out[i] = (y ^ (y >>> 18)) >>> 0;
    }
    for (i = 0; i < N; i += 2) yield (Math.floor(out[i] / 32) * 2 ** 26 + Math.floor(out[i + 1] / 64)) / 2 ** 53;
  }
}

const lastUpTo = (list, x, high) => { // the number of the last entry that is not above x, at most `high`
  let a = 0, b = high;
  while (a < b) { const c = (a + b + 1) >> 1; if (list[c] <= x) a = c; else b = c - 1; }
  return a;
};

// What the counts must be, cell by cell, and whether chance decided; in doubles, as writers do it.
function recounted(people, { losses, seed: given }, cells) {
  const M = people.ceiling, B = losses.length - 1, binary = zeroOne(people.loss), out = 1e-12 * M;
  need(losses.every((x, j) => x === (j < B ? (M * j) / B : M)), "the rounded losses are not evenly spaced");
  let N = 4096;
  while (N > 16 && N * cells.length > 2 ** 18) N /= 2;
  const edges = [...INDEX(N).map((b) => M * (1 - (1 - b / N) * (1 - b / N))), M];
  const numberOf = ([low, high, , t]) => {
    if (binary) return low === 0 ? 0 : 1;
    if (low === high) return lastUpTo(edges, low, N - 1);
    const n = lastUpTo(edges, low + out, N - 1);
    need(Math.abs(low - edges[n]) <= out && Math.abs(high - edges[n + 1]) <= out, "a bin is not one of the fixed bins");
    return t === 1 && n < N - 1 ? n + 1 : n;
  };
  const valueAt = (n, less) => {
    if (binary) return n ? M : 0;
    return less ? Math.max(edges[n] - out, 0) : Math.min(edges[n + 1] + out, M);
  };
  const held = cells.map((cell) => {
    const rows = new Map();
    spend(cell.parts.length);
    for (const bin of cell.parts) rows.set(numberOf(bin), (rows.get(numberOf(bin)) ?? 0) + bin[2]);
    const pairs = [...rows].sort((a, b) => a[0] - b[0]), words = new DataView(new ArrayBuffer(16 * pairs.length));
    pairs.flat().forEach((x, i) => words.setBigInt64(8 * i, BigInt(x), true));
    const bytes = new Uint8Array(words.buffer);
    return { pairs, bytes, key: hex(bytes), counts: losses.map(() => 0), less: cell.sign < 0 };
  });
  const order = held.filter((cell) => cell.pairs.length).sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
  const key = sha256(Uint8Array.from([...encode(`${given},${B};`), ...order.flatMap((cell) => [...sha256(cell.bytes)])]));
  const words = INDEX(8).map((i) => new DataView(key.buffer).getInt32(28 - 4 * i));
  while (words.at(-1) === 0) words.pop();
  const random = twister(words);
  let draws = 0;
  for (const { pairs, counts, less } of order) for (const [n, rows] of pairs) {
    const value = valueAt(n, less), j = lastUpTo(losses, value, B - 1), exact = (value - losses[j]) / (losses[j + 1] - losses[j]);
    const part = less && value < losses[j + 1] ? exact * (1 - 2 ** -50) - 2 ** -52 : exact * (1 + 2 ** -50);
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
const remembered = (key, make) => {
  if (!memory.has(key)) memory.set(key, make());
  return memory.get(key);
};

// The budget x(err; n, b), hardly more than the least one.
const budget = (err, n, b) => remembered(`${err.lo} ${err.e} ${n} ${b}`, () => {
  const enough = (x) => {
    const X = Real.of(x), decay = X.negated.exp, term = [decay, decay.times(X.sqrt).times(2).over(fixed(PI, 8192n).sqrt)];
    let piece = term[1], erf = ZERO; // erf(sqrt x), from below, so that all is from above
    for (let k = 1; k < 1e5 && (k < x || piece.about > 1e-60); k += 1) {
      erf = erf.plus(piece);
      piece = piece.times(X).over(k + 0.5);
    }
    const Q = [ZERO, ONE.minus(erf)];
    for (let j = 2; j <= n + b; j += 1) {
      Q.push(Q[j - 2].plus(term[j - 2]));
      term.push(term[j - 2].times(X).over(j / 2));
    }
    let sum = ZERO, chosen = new Real(1n, 1n, -b);
    for (let i = 0; i <= b; i += 1) { sum = sum.plus(chosen.times(Q[n + i])); chosen = chosen.times(b - i).over(i + 1); }
    return sum.atMost(err);
  };
  let low = 0, high = 1;
  while (!enough(high)) { low = high; high *= 2; need(high < 1e6, "the confidence is too high"); }
  for (let i = 0; i < 50; i += 1) { const x = (low + high) / 2; if (enough(x)) high = x; else low = x; }
  return Real.of(high);
});

const oneSided = (k, m, x) => remembered(`${k} ${m} ${x.lo} ${x.e}`, () => { // kappa(x), and beta^2
  const c = k + 1 >= m ? ONE : ratio(k + 1, m), near = psi(c), beta = near.minus(psi(ratio(k, m))).square.times(m).over(2);
  if (2 * (k + 1) >= m) return { kappa: Real.of(4), beta };
  const C = c.about, goal = x.about / m, turn = Math.sqrt(C / (1 - C)), far = (turn / (1 + turn)) * (1 - 1e-15) - C;
  const enough = (d) => -C * Math.log1p(d / C) - (1 - C) * Math.log1p(-d / (1 - C)) >= goal;
  if (enough(far)) {
    let low = 0, high = far;
    for (let i = 0; i < 60; i += 1) { const d = (low + high) / 2; if (enough(d)) high = d; else low = d; }
    for (let hair = 1e-15; hair < 1e-6; hair *= 8) {
      const t = Real.of(C + high * (1 + hair)), bend = kl(c, t);
      if (!x.atMost(bend.times(m)) || !t.square.times(ONE.minus(c)).atMost(c.times(ONE.minus(t).square))) continue;
      return { kappa: smaller(4, bend.times(2).over(psi(t).minus(near).square)), beta };
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
  const nu = Real.of(Math.sqrt(sumOf(inner.map(([k, m]) => 1 / k - 1 / m)) / (2 * x.about)));
  const logs = inner.map(([k, m]) => {
    if (k + 1 === m) return ratio(m, k).log;
    const c = ratio(k + 1, m), w = nu.times(m), t = ONE.plus(w.times(c)).over(ONE.plus(w));
    return t.times(m).over(k).log.minus(w.times(kl(c, t)));
  });
  return total(logs).plus(nu.times(x)).over(2).exp;
}

function shared(nodes, x) { // nodes: their W, kappa and beta^2
  if (!nodes.length) return ZERO;
  const rough = nodes.map(({ W, kappa, beta }) => ({ low: W.over(kappa).about, room: W.times(beta).about }));
  const low = Math.max(...rough.map((one) => one.low)) * (1 + 1e-12), room = sumOf(rough.map((one) => one.room));
  const cost = (mu) => mu * x.about + sumOf(rough.map((one) => (one.room * mu) / (mu - one.low)));
  const choices = [0.35, 0.5, 0.7, 1, 1.4, 2].map((f) => low + f * Math.sqrt((low * room) / x.about));
  const mu = choices.reduce((best, one) => (cost(one) < cost(best) ? one : best));
  return x.times(mu).plus(total(nodes.map(({ W, kappa, beta }) => {
    const t = kappa.times(mu).over(W);
    return W.times(beta).times(t).over(t.minus(ONE));
  })));
}

function halved(rows) { // the two-sided nodes, with the steps above them, and the way to each cell
  const nodes = [], ways = [];
  const halve = (from, to, steps) => {
    if (to - from === 1) { ways[from] = steps; return; }
    const middle = from + ((to - from) >> 1), m = sumOf(rows.slice(from, to)), k = sumOf(rows.slice(from, middle));
    if (m > 0) nodes.push({ k, m, steps });
    halve(from, middle, [...steps, [k, m]]);
    halve(middle, to, [...steps, [m - k, m]]);
  };
  halve(0, rows.length, []);
  return { nodes, ways };
}
const missing = ({ nodes }, x) => shared(nodes.map(({ k, m, steps }) => ({ W: growth(steps, x), ...twoSided(k, m, x) })), x);
const upTo = (pairs) => { // the one-sided nodes of a cell's values: [rows, rows up to them]
  let m = 0;
  return pairs.map(([, k]) => [k, (m += k)]).slice(1).filter((node) => node[1] > 0);
};

// Whether, at the cost x or with the error `each`, a share t is an upper limit: of k hits in m rows, ...
const limitsHits = (t, k, m, x, each) => {
  const c = ratio(k + 1, m);
  if (k >= m || t.lo <= 0n || !t.below(ONE)) return false;
  if (k + 1 < m && c.below(t) && x.atMost(kl(c, t).times(m))) return true;
  if (m > 20000) return false;
  let sum = ZERO, term = ONE.minus(t).log.times(m).exp;
  const odds = t.over(ONE.minus(t));
  for (let j = 0; j <= k; j += 1) { sum = sum.plus(term); term = term.times(odds).times(m - j).over(j + 1); }
  return sum.atMost(each);
};
// ... of rows with the mean share e, ...
const limitsMean = (t, e, m, each) => ONE.atMost(t) || (e.below(t) && each.log.negated.atMost(kl(e, t).times(m)));
// ... or a mean E, of m rows with so many of each value up to M; eta is the best one that is found in doubles.
const limitsValues = (E, M, pairs, m, x) => {
  const a = ONE.minus(shared(upTo(pairs).map(([k, n]) => ({ W: ONE, ...oneSided(k, n, x) })), x).over(m));
  if (a.lo <= 0n) return false;
  const held = pairs.filter(([, k]) => k > 0), rough = held.map(([value, k]) => [value.about, k / m]);
  const etaAt = (u) => M * (1 + Math.exp(u));
  const upper = (u) => etaAt(u) - a.about ** 2 / sumOf(rough.map(([value, w]) => w / (etaAt(u) - value)));
  let low = -35, high = 30;
  for (let step = 0; step < 200; step += 1) {
    const one = low + (high - low) / 3, two = high - (high - low) / 3;
    if (upper(one) < upper(two)) high = two; else low = one;
  }
  const eta = Real.of(etaAt(low)), sum = () => total(held.map(([value, k]) => ratio(k, m).over(eta.minus(value))));
  return Real.of(M).below(eta) && eta.minus(a.square.over(sum())).atMost(E);
};

function onSphere({ sampling, M, asked }, cells, err, people) { // whether chance decided
  const { losses, affinity, knowledge } = sampling, n = people.rows, N = cells.length, tree = halved(cells.map((cell) => cell.rows));
  const far = (worst) => need(affinity === 0 || ONE.minus(worst.over(n)).minus(affinity).lo >= 0n, "the affinity is too large");
  const rounded = asked.shift === "stratified" ? null : recounted(people, sampling, cells), B = rounded ? losses.length - 1 : 1;
  need(!rounded || same(rounded.counts, sampling.counts.flat()), "the counts of rounded losses are not those of the rows");
  const held = rounded && cells.map(({ sign }, i) => { // value and rows
    const pairs = losses.map((loss, j) => [mirrored(sign, M, loss), rounded.counts[i][j]]);
    return sign < 0 ? pairs.reverse() : pairs;
  });
  if (asked.shift === "general") {
    const bins = rounded.counts.map((counts) => counts.flatMap((k, j) => (k > 0 ? [[losses[j], losses[j], k, 0]] : [])));
    need(knowledge.kind === "losses" && same(bins, knowledge.cells.flat()), "the surrogate does not hold the rounded losses");
    const x = budget(err, N - 1, N * B);
    far(largest(INDEX(32).map((j) => {
      const first = x.times(j + 1).over(32), second = x.times(32 - j).over(32);
      const nodes = held.flatMap((pairs, i) => {
        const own = upTo(pairs), W = own.length ? growth(tree.ways[i], first) : ONE;
        return own.map(([k, m]) => ({ W, ...oneSided(k, m, second) }));
      });
      return missing(tree, first).plus(shared(nodes, second));
    })));
    return rounded.random;
  }
  need(!rounded || knowledge.kind === "mean", "the surrogate should hold means");
  const part = err.over(8), rest = ONE.minus(err.minus(part).over(ONE.minus(part))), each = ONE.minus(rest.log.over(N).exp);
  far(missing(tree, budget(part, N - 1, 0)));
  const binary = rounded ? B === 1 : zeroOne(people.loss), x = rounded || binary ? budget(each, 0, B) : null;
  const limits = ({ rows: m, E, edges }, i) => {
    if (rounded && !binary) return limitsValues(E, M, held[i], m, x);
    const t = E.over(M), e = rounded ? null : meanOf(edges(), m).over(M);
    if (!binary) return limitsMean(t, smaller(ONE, e.plus(TINY)), m, each);
    const k = rounded ? held[i].at(-1)[1] : Math.round(e.times(m).about);
    return (rounded || e.times(m).near(k, 1e-6)) && limitsHits(t, k, m, x, each);
  };
  need(cells.every((cell, i) => Real.of(M).atMost(cell.E) || (cell.rows > 0 && limits(cell, i))), "a mean is too low");
  return rounded !== null && rounded.random;
}
const mirrored = (sign, M, x) => (sign < 0 ? Real.of(M).minus(x) : Real.of(x));
const meanOf = (edges, m) => total(edges.map(([x, w]) => x.times(w))).over(m);

function byHoeffding({ sampling, M, asked }, cells, err, people) {
  const { affinity, knowledge } = sampling, N = cells.length, n = people.rows;
  const simple = asked.shift !== "general" || zeroOne(people.loss), kind = simple ? "mean" : "mean_variance";
  need(asked.shift === "stratified" || knowledge.kind === kind, "the surrogate should hold moments");
  const L = Real.of((simple ? 3 : 4) * N).over(err).log;
  for (const { s, y, rows: m, E, edges } of cells) {
    const mean = m > 0 ? meanOf(edges(), m) : null, low = m > 0 ? smaller(M, mean.plus(L.over(2 * m).sqrt.times(M))) : Real.of(M);
    need(low.atMost(E), "a mean is too low");
    if (simple || m === 0) continue;
    const V = Real.of(knowledge.variance[s][y]), gap = Real.of(M).minus(E);
    if (low.times(gap.square).atMost(V.times(Real.of(M).minus(low)))) continue;
    need(m > 1, "a variance is too low");
    const spread = positive(total(edges().map(([x, w]) => x.minus(mean).square.times(w)))).over(m - 1).sqrt;
    need(spread.plus(L.times(2).over(m - 1).sqrt.times(M)).square.atMost(V), "a variance is too low");
  }
  if (affinity === 0) return;
  const d = L.over(2 * n).sqrt, shares = cells.map(({ rows }) => ratio(rows, n));
  const ends = shares.map((p) => [p, positive(p.minus(d)), smaller(ONE, p.plus(d))]);
  const rough = ends.map((end) => end.map((x) => Math.sqrt(x.about)));
  const gain = (nu) => nu + sumOf(rough.map(([p, ...q]) => Math.min(...q.map((x) => p * x - nu * x * x))));
  const nu = Real.of(rough.map(([p, q, r]) => p / (q + r)).reduce((best, one) => (gain(one) > gain(best) ? one : best)));
  const near = nu.plus(total(ends.map(([p, ...qs]) => smallest(qs.map((q) => p.times(q).sqrt.minus(nu.times(q)))))));
  need(Real.of(affinity).atMost(near), "the affinity is too large");
}

// The cells of a sample, or if it has strata the places: rows, losses and limit of the mean, mirrored if it is subtracted.
function sampled({ knowledge: facts, weight, rows, ceiling: M }, { cells, sampling: { knowledge: claims } }) {
  const exact = (weights) => {
    need(weights.every(Number.isInteger), "rows are not whole");
    return weights.reduce((sum, x) => sum + BigInt(x), 0n);
  };
  const stratified = facts.kind === "strata";
  need(exact(weight.flat()) === exact([rows]), "the cells' rows do not add up");
  return cells.flatMap(({ s, y, sign }) => {
    const parts = facts.cells[s][y], m = weight[s][y], own = { s, y, sign };
    need(m <= 2 ** 53 && exact(parts.map((one) => one[stratified ? 0 : 2])) === exact([m]), "rows do not add up");
    const edgesOf = (list) => list.map(([x, w]) => [mirrored(sign, M, x), w]);
    const edges = () => edgesOf(parts.flatMap(([low, high, w, t]) => [[low, ONE.minus(t).times(w)], [high, Real.of(t).times(w)]]));
    if (!stratified) return [{ ...own, rows: m, parts, edges, E: "mean" in claims ? mirrored(sign, M, claims.mean[s][y]) : null }];
    return parts.map(([w, mean], j) => {
      const [claimed, E] = claims.cells[s][y][j];
      need(claimed === w, "the weights of the surrogate are not those of the rows");
      return { ...own, rows: w, edges: () => edgesOf([[mean, w]]), E: mirrored(sign, M, E) };
    });
  });
}

function samplingProved({ people, asked }, place, confidence) { // what it cannot see, in words
  const { sampling } = place, { rows, loss, knowledge, weighted } = people, stratified = asked.shift === "stratified";
  const right = knowledge.kind === (stratified ? "strata" : "losses") && !weighted && Number.isInteger(rows);
  need(right, "a sample is rows without weights, and their losses");
  const free = asked.support === (stratified ? "observed" : "any") && asked.empty_cells === "ceiling";
  need(free, "a sample does not tell which losses there are");
  need(same(sampling.weight, people.weight), "the weights of the surrogate are not those of the rows");
  const cells = sampled(people, place), err = ONE.minus(confidence), notes = [];
  const choice = (what) => notes.push(`the choice of ${what}, to be made without looking at the rows`);
  const even = (x) => (Math.abs(x % 1) === 0.5 ? 2 * Math.round(x / 2) : Math.round(x)), usual = Math.max(2, even(0.8 * rows ** 0.2));
  let random = stratified;
  if (stratified) choice("the strata, and of where columns are cut");
  if (sampling.region === "hoeffding") {
    byHoeffding(place, cells, err, people);
    choice("the region");
  } else {
    need(sampling.region === "sphere" && (stratified || sampling.losses !== null), "the region is unknown");
    random = onSphere(place, cells, err, people) || stratified;
    if (sampling.seed) choice("the seed");
    if (!stratified && sampling.losses.length - 1 !== (zeroOne(loss) ? 1 : usual)) choice("the number of losses");
  }
  if (random && !zeroOne(loss) && !["brier", "jsd", "absolute"].includes(loss)) choice("the largest loss");
  return notes;
}

// ---- Node, and workers ---------------------------------------------------------------------------------------------------

if (typeof module !== "undefined" && module.exports) {
  module.exports = { check };
  if (require.main === module) {
    const [file, ...flags] = process.argv.slice(2);
    try {
      const result = check(require("node:fs").readFileSync(file ?? ""), { patient: flags.includes("--patient") });
      const radius = ({ rho, bound, attained, proved }) =>
        `    rho ${rho}: claimed ${bound}, the proof gives ${proved}; attained ${attained}`;
      const lines = [
        `${result.verdict}${result.reason === null ? "" : `: ${result.reason}`}`,
        result.about === null ? [] : `  about the data: ${result.about}`,
        result.questions.map(({ words, points, gate }) => [`  ${words}`, points.map(radius), gate ? `    ${gate.words}` : []]),
        result.checked.map((line) => `  checked: ${line}`),
        [...result.left, ...result.notes].map((line) => `  not checked: ${line}`),
      ];
      console.log(lines.flat(3).join("\n"));
      process.exitCode = result.status;
    } catch (error) {
      console.error(`usage: node checker.js certificate.json [--patient]\n${error.message}`);
      process.exitCode = 2;
    }
  }
} else if (typeof WorkerGlobalScope !== "undefined" && self instanceof WorkerGlobalScope) {
  self.onmessage = ({ data: { bytes, patient } }) => {
    let told = Date.now();
    const progress = (done, of) => {
      if (Date.now() - told < 100) return;
      told = Date.now();
      self.postMessage({ done, of });
    };
    self.postMessage({ result: check(bytes, { patient, progress }) });
  };
}
