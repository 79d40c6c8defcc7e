// Texts, values and JSON that have broken parsers, encoders and databases.
import type { Random } from "./Random.ts"

/** No text may look like a stack trace, because the verdict would mistake its echo for one. */
const texts = [
  "",
  " ",
  "\0",
  "a\0b",
  "\ud800",
  "x\udfff",
  "\ud83d\ude00",
  "\u202e\u0645\u0631\u062d\u0628\u0627",
  "e\u0301\u0327",
  "\ufeffid",
  "\uffff",
  "\u2028\u2029",
  "\r\nx-injected: 1\r\n",
  "%s%n%d",
  "${7*7}{{7*7}}",
  "' OR 1=1; DROP TABLE relayers; --",
  "\\",
  '"',
  "$1",
  "E'\\000'",
  "%",
  "_",
  "<script>alert(1)</script>",
  "../../../../etc/passwd",
  "file:///etc/passwd",
  "javascript:alert(1)",
  "http://169.254.169.254/latest/meta-data/",
  "http://[::1]:22/",
  "http://0x7f000001/",
  "http://user:pass@127.0.0.1:1/",
  "https://\ud800.example.invalid/",
  "null",
  "undefined",
  "NaN",
  "true",
  "-1",
  "1e3",
  "0x10",
  "18446744073709551616",
  "340282366920938463463374607431768211456",
  "9".repeat(400),
  "0000-00-00T00:00:00Z",
  "9999-12-31T23:59:59.999Z",
  "+275760-09-13T00:00:00.001Z",
  "-271821-04-20T00:00:00Z",
  "294277-01-01",
  "infinity",
  "__proto__",
  "constructor",
  "toString"
] as const

const long = ["x".repeat(257), "é".repeat(1025), "\ud83d\ude00".repeat(3000), "a b ".repeat(20_000)]

export const text = (random: Random): string => (random.chance(0.05) ? random.pick(long) : random.pick(texts))

const numbers = ["0", "-0", "-1", "1.5", "1e3", "1e999", "-1e999", "1e-400", "9007199254740993", "2147483648"]
const digits = [
  "18446744073709551616",
  "340282366920938463463374607431768211456",
  `-${"9".repeat(300)}`,
  "9".repeat(5000)
]

const nested = (depth: number): unknown => {
  let value: unknown = null
  for (let level = 0; level < depth; level++) value = level % 2 === 0 ? [value] : { a: value }
  return value
}

const prototypes = [
  '{"__proto__":{"paused":true}}',
  '{"constructor":{"prototype":{"a":1}}}',
  '{"toString":1,"length":-1}'
]

/** A JSON value that a field does not expect. */
export const value = (random: Random): unknown => {
  const makers: ReadonlyArray<() => unknown> = [
    () => null,
    () => random.chance(0.5),
    () => JSON.rawJSON(random.pick(numbers)),
    () => JSON.rawJSON(random.pick(digits)),
    () => text(random),
    () => text(random),
    () => [],
    () => ({}),
    () => random.times(random.pick([1, 3, 1001]), () => text(random)),
    () => nested(random.pick([2, 40, 1000])),
    () => JSON.parse(random.pick(prototypes)),
    () => ({ [text(random)]: text(random), rawJSON: "1" })
  ]
  return random.pick(makers)()
}

/** JSON texts that no serializer writes. */
export const jsonTexts = [
  "",
  " ",
  "null",
  "[]",
  '"',
  "{",
  "}{",
  '{"a":1,}',
  "{'a':1}",
  '{"a":01}',
  '{"a":+1}',
  '{"a":NaN}',
  '{"a":"\u0001"}',
  '{"a":"\\x41"}',
  '{"a":"\\ud800"}',
  '{"\\ud800":1}',
  '{"\\u0000":1}',
  '{"a":"\\u0000"}',
  '/* */{"a":1}',
  "\ufeff{}",
  "{}{}",
  "{}\0",
  '{"a":1,"a":2}',
  '{"__proto__":null}',
  `{"a":${"9".repeat(20_000)}}`,
  `${"[".repeat(5000)}${"]".repeat(5000)}`,
  `${'{"a":'.repeat(5000)}1${"}".repeat(5000)}`,
  `"${"x".repeat(100_000)}"`
] as const
