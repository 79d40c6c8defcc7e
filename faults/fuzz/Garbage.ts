// Bytes that are not a request, are several requests, or that a proxy and the service might read differently.
import type { Random } from "./Random.ts"
import type { World } from "./World.ts"

export interface Garbage {
  readonly name: string
  /** Written one after the other. */
  readonly chunks: ReadonlyArray<Buffer>
  /** Whether the connection is cut at once, without waiting for a response. */
  readonly isCut: boolean
}

const path = "/api/v1/relayers"

const smuggled = "GET /api/v1/signers HTTP/1.1\r\nhost: smuggled\r\n\r\n"

const get = (world: World, more: ReadonlyArray<string> = []) =>
  [
    `GET ${path}?per_page=1 HTTP/1.1`,
    "host: fuzz",
    `authorization: Bearer ${world.administrator}`,
    ...more,
    "",
    ""
  ].join("\r\n")

const post = (world: World, more: ReadonlyArray<string>, body: string) =>
  [
    `POST ${path} HTTP/1.1`,
    "host: fuzz",
    `authorization: Bearer ${world.administrator}`,
    "content-type: application/json",
    ...more,
    "",
    body
  ].join("\r\n")

const bytes = (random: Random, count: number) => Buffer.from(random.times(count, () => random.below(256)))

const lengths = ["-1", "+5", "0x5", "5, 5", "5,6", "5 5", "", "1e3", "99999999999999999999", "٣", "5\u000b"]
const codings = [
  "chunked, identity",
  "identity, chunked",
  "xchunked",
  " chunked",
  "chunked\u000b",
  "CHUNKED",
  "gzip",
  ""
]
const sizes = [
  "5;a=b",
  "0x5",
  "-5",
  "5 ",
  " 5",
  "05",
  "FFFFFFFFFFFFFFFFF",
  "5\u0000",
  "g",
  "",
  "5;\n",
  `5;${"x".repeat(20_000)}`
]

/** Each name says what is wrong with the bytes. */
const makers: Readonly<Record<string, (random: Random, world: World) => string | Buffer>> = {
  "random bytes": (random) => bytes(random, random.pick([1, 10, 500, 5000])),
  "nothing but line ends": (random) => "\r\n".repeat(random.pick([1, 20, 5000])),
  "a TLS handshake": () => Buffer.from("16030100c8010000c403035f", "hex"),
  "an HTTP/2 preface": () => "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
  "an HTTP/0.9 request": () => `GET ${path}\r\n`,
  "another version": (random, world) =>
    get(world).replace("1.1", random.pick(["1.0", "2.0", "9.9", "1.1.1", "1", "A.B"])),
  "a protocol of another kind": (random, world) =>
    get(world).replace("HTTP/1.1", random.pick(["ICE/1.0", "HTTP", "http/1.1"])),
  "a broken request line": (random) =>
    random.pick([
      `GET  ${path} HTTP/1.1`,
      `GET\t${path} HTTP/1.1`,
      " GET / HTTP/1.1",
      "GET",
      "GET / HTTP/1.1 x",
      "G\0T / HTTP/1.1"
    ]) + "\r\nhost: fuzz\r\n\r\n",
  "an invalid target": (random) =>
    `GET ${random.pick(["x", "http://", "http://[", "//", "/\0", "/ /", "\\", "?", "#", "/%", "*", `/${"x".repeat(90_000)}`])} HTTP/1.1\r\nhost: fuzz\r\n\r\n`,
  "no host": () => `GET ${path} HTTP/1.1\r\n\r\n`,
  "two hosts": (_, world) => get(world, ["host: other"]),
  "an invalid host": (random) =>
    `GET ${path} HTTP/1.1\r\nhost: ${random.pick(["", "a b", "a/b", "[", "\u00e9"])}\r\n\r\n`,
  "a folded header": (_, world) => get(world, ["x-folded: a", "  b", "\tc"]),
  "bare line feeds": (_, world) => get(world).replaceAll("\r\n", "\n"),
  "a bare carriage return": (_, world) => get(world, ["x-a: b\rx-b: c"]),
  "a header without a colon": (_, world) => get(world, ["nothing"]),
  "a space before the colon": (_, world) => post(world, ["content-length : 2"], "{}"),
  "a header without a name": (_, world) => get(world, [": nothing"]),
  "control characters in a header": (random, world) =>
    get(world, [`x-a: ${random.pick(["\0", "\u0001", "\u007f", "\u000b"])}b`]),
  "headers of 100 kB": (random, world) =>
    get(
      world,
      random.times(100, () => `x-a: ${"x".repeat(1000)}`)
    ),
  "5,000 headers": (random, world) =>
    get(
      world,
      random.times(5000, () => "a: b")
    ),
  "content-length and chunked": (_, world) =>
    post(world, ["content-length: 2", "transfer-encoding: chunked"], `0\r\n\r\n${smuggled}`),
  "chunked and content-length": (_, world) =>
    post(world, ["transfer-encoding: chunked", "content-length: 4"], `0\r\n\r\n${smuggled}`),
  "two content-lengths": (random, world) =>
    post(world, ["content-length: 2", `content-length: ${random.pick(["2", "80", "0"])}`], `{}${smuggled}`),
  "an invalid content-length": (random, world) =>
    post(world, [`content-length: ${random.pick(lengths)}`], `{"a":${smuggled}`),
  "an invalid transfer-encoding": (random, world) =>
    post(world, [`transfer-encoding: ${random.pick(codings)}`], `0\r\n\r\n${smuggled}`),
  "two transfer-encodings": (_, world) =>
    post(world, ["transfer-encoding: chunked", "transfer-encoding: identity"], `0\r\n\r\n${smuggled}`),
  "an invalid chunk size": (random, world) =>
    post(world, ["transfer-encoding: chunked"], `${random.pick(sizes)}\r\n{"a":\r\n0\r\n\r\n${smuggled}`),
  "a chunk longer than it says": (_, world) => post(world, ["transfer-encoding: chunked"], `2\r\n{"a":1}\r\n0\r\n\r\n`),
  "chunks with bare line feeds": (_, world) => post(world, ["transfer-encoding: chunked"], `2\n{}\n0\n\n${smuggled}`),
  "trailers that are headers": (_, world) =>
    post(world, ["transfer-encoding: chunked"], "2\r\n{}\r\n0\r\nauthorization: Bearer x\r\ncontent-length: 5\r\n\r\n"),
  "a body that never comes": (_, world) => post(world, ["content-length: 100"], ""),
  "half of a body": (_, world) => post(world, ["content-length: 100"], '{"name":'),
  "a GET with a body": (_, world) => get(world, [`content-length: ${smuggled.length}`]) + smuggled,
  "pipelined requests": (random, world) => random.times(random.between(2, 20), () => get(world)).join(""),
  "pipelined, then garbage": (random, world) => Buffer.concat([Buffer.from(get(world)), bytes(random, 50)]),
  "a change behind a refusal": (_, world) =>
    `GET /x HTTP/1.1\r\nhost: a\r\n\r\n${post(world, ["content-length: 2"], "{}")}`,
  "an invalid expectation": (random, world) =>
    post(world, [`expect: ${random.pick(["200-ok", "x", "100-continue, x"])}`, "content-length: 2"], "{}"),
  "an upgrade": (random, world) =>
    get(world, ["connection: upgrade", `upgrade: ${random.pick(["websocket", "h2c", "x"])}`]) +
    random.pick(["", smuggled, "\0\0"]),
  "an upgrade with a body": (random, world) =>
    post(
      world,
      ["connection: upgrade", "upgrade: x", random.pick(["content-length: 2", "transfer-encoding: chunked"])],
      "{}"
    ),
  "a tunnel": (random) => `CONNECT ${random.pick(["127.0.0.1:5432", "/", "x"])} HTTP/1.1\r\nhost: a\r\n\r\n${smuggled}`,
  "an unknown method": (random, world) =>
    get(world).replace("GET", random.pick(["BREW", "G", "GETT", "X".repeat(5000), "M-SEARCH"]))
}

const names = Object.keys(makers)

const pieces = (random: Random, whole: Buffer): ReadonlyArray<Buffer> => {
  const count = random.pick([1, 1, 1, 2, 5])
  const cuts = random.times(count - 1, () => random.below(whole.length)).sort((a, b) => a - b)
  return [...cuts, whole.length].map((end, index) => whole.subarray(cuts[index - 1] ?? 0, end))
}

/** In every fifth case, some bytes are changed. */
const mutated = (random: Random, whole: Buffer): Buffer => {
  if (random.chance(0.8) || whole.length === 0) return whole
  const changed = Buffer.from(whole)
  for (let count = random.between(1, 4); count > 0; count--) changed[random.below(changed.length)] = random.below(256)
  return changed
}

export const make = (random: Random, world: World): Garbage => {
  const name = random.pick(names)
  const made = makers[name]?.(random, world) ?? ""
  const whole = mutated(random, typeof made === "string" ? Buffer.from(made, "latin1") : made)
  const isCut = random.chance(0.15)
  const sent = isCut ? whole.subarray(0, random.between(1, whole.length)) : whole
  return { name, chunks: pieces(random, sent), isCut }
}
