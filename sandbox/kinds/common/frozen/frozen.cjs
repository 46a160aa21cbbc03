// Preload for Node (`node --require frozen.cjs …`): a wall clock that stands still, and random values that are the same
// each time. What stands still is said by QUARTERTURN_FREEZE: {"clock": "2026-03-02T09:00:00Z", "ids": true}. Timers
// and `performance.now()` go on, so timeouts work. It serves reproducible tasks and isolates nothing.
"use strict";

const crypto = require("node:crypto");
const { syncBuiltinESMExports } = require("node:module");

function stopClock(now) {
  const RealDate = Date;
  RealDate.now = () => now;
  globalThis.Date = new Proxy(RealDate, {
    construct: (target, values, made) => Reflect.construct(target, values.length ? values : [now], made),
    apply: () => new RealDate(now).toString(),
  });
  RealDate.prototype.constructor = globalThis.Date;
}

// One stream for each way to ask, so that one more random number shifts no id.
function stream(name) {
  let number = 0;
  return (size) => {
    const label = `quarterturn/random/v1 ${name} ${number++}`;
    return size ? crypto.createHash("shake256", { outputLength: size }).update(label).digest() : Buffer.alloc(0);
  };
}

function repeatRandom() {
  const [bytes, numbers, uuids] = ["bytes", "numbers", "uuids"].map(stream);
  const later = (done, value) => void setImmediate(done, null, value);
  const filled = (target, offset = 0, size = undefined) => {
    const view = ArrayBuffer.isView(target)
      ? Buffer.from(target.buffer, target.byteOffset, target.byteLength)
      : Buffer.from(target);
    const unit = target.BYTES_PER_ELEMENT ?? 1;
    const end = size === undefined ? view.length : (offset + size) * unit;
    bytes(end - offset * unit).copy(view, offset * unit);
    return target;
  };
  const fraction = () => numbers(6).readUIntBE(0, 6) / 2 ** 48;
  const integer = (low, high) => low + Math.floor(fraction() * (high - low));
  const uuid = () => {
    const raw = uuids(16);
    raw[6] = (raw[6] & 0x0f) | 0x40;
    raw[8] = (raw[8] & 0x3f) | 0x80;
    return raw.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
  };

  Math.random = fraction;
  const randomBytes = (size, done) => (done ? later(done, bytes(size)) : bytes(size));
  const put = (target, functions) => {
    for (const [name, value] of Object.entries(functions))
      Object.defineProperty(target, name, { value, configurable: true, enumerable: true, writable: true });
  };
  put(crypto.webcrypto, { getRandomValues: (target) => filled(target), randomUUID: uuid });
  put(crypto, {
    randomBytes,
    pseudoRandomBytes: randomBytes,
    randomFillSync: filled,
    randomFill: (target, ...rest) => later(rest.pop(), filled(target, ...rest)),
    randomInt: (...values) => {
      const done = typeof values.at(-1) === "function" ? values.pop() : undefined;
      const value = values.length > 1 ? integer(values[0], values[1]) : integer(0, values[0]);
      return done ? later(done, value) : value;
    },
    randomUUID: uuid,  // `getRandomValues` is taken from webcrypto
  });
  syncBuiltinESMExports();
}

const { clock, ids } = JSON.parse(process.env.QUARTERTURN_FREEZE);
if (clock) stopClock(Date.parse(clock));
if (ids) repeatRandom();
