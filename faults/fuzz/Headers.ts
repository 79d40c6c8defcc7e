// Header fields of a request: usual ones, and ones that have caused bugs in servers.
import * as Hostile from "./Hostile.ts"
import type { Random } from "./Random.ts"
import { marker } from "./World.ts"
import type { World } from "./World.ts"

export type Field = readonly [name: string, value: string]

/** Usually a caller that is allowed to send the request. */
export const authorization = (random: Random, world: World): ReadonlyArray<Field> => {
  if (random.chance(0.7)) return [["authorization", `Bearer ${world.administrator}`]]
  if (random.chance(0.6)) return [["authorization", `Bearer ${random.pick(world.keys)}`]]
  const good = random.pick(world.keys)
  return random.pick<ReadonlyArray<Field>>([
    [],
    [["authorization", ""]],
    [["authorization", "Bearer"]],
    [["authorization", `bearer  ${good} `]],
    [["authorization", `Basic ${marker}`]],
    [["authorization", `Bearer ${good.slice(0, -1)}`]],
    [["authorization", `Bearer ${"x".repeat(7000)}`]],
    [["authorization", `Bearer ${good}\u00e9`]],
    [
      ["authorization", `Bearer ${good}`],
      ["authorization", `Bearer ${world.administrator}`]
    ],
    [
      ["authorization", "Bearer x"],
      ["authorization", `Bearer ${good}`]
    ]
  ])
}

const contentTypes = [
  "application/json; charset=utf-8",
  "application/json;charset=utf-16",
  "APPLICATION/JSON",
  "application/json, text/plain",
  "application/x-json",
  "application/merge-patch+json",
  "text/plain",
  "text/html; charset=\ud800",
  "multipart/form-data",
  "multipart/form-data; boundary=x",
  "application/x-www-form-urlencoded",
  "application/octet-stream",
  "",
  ";",
  "*/*",
  "json"
]

export const contentType = (random: Random, usual: string): Field =>
  random.chance(0.9) ? ["content-type", usual] : ["content-type", random.pick(contentTypes)]

/** Unusual printable text. */
const oddText = (random: Random) =>
  Array.from(Hostile.text(random).slice(0, 2000))
    .filter((letter) => letter >= " " && letter !== "\u007f")
    .join("")

const odd: ReadonlyArray<(random: Random, world: World) => ReadonlyArray<Field>> = [
  (random) => [["x-relayer-debug", random.pick(["true", "true", "TRUE", "1", ""])]],
  (random) => [["x-request-id", random.pick(["trace-1", "a".repeat(129), "<b>", "a b", "\u00e9"])]],
  (random) => [["if-match", random.pick(["", "*", '"', '"x"', "1", `"${"9".repeat(400)}"`, '"1",,"', 'W/"-1"', ","])]],
  (random) => [["if-none-match", random.pick(["*", '"1"'])]],
  (random) => [["last-event-id", random.pick(["0", "-1", "9".repeat(30), "x", "", "1, 2"])]],
  (random) => [["accept", random.pick(["*/*;q=0", "text/html", "x".repeat(2000), "text/event-stream;q=x", ",,;", ""])]],
  (random) => [["accept-encoding", random.pick(["gzip, br", "identity;q=0", "*;q=0"])]],
  (random) => [["accept-charset", random.pick(["utf-16", "*;q=0"])]],
  (random) => [["content-encoding", random.pick(["gzip", "br", "identity", "x"])]],
  (random) => [["expect", random.pick(["100-continue", "200-ok", ""])]],
  () => [["range", "bytes=0-0,-1,5-4"]],
  (random) => [["traceparent", random.pick(["x", `00-${"0".repeat(32)}-${"0".repeat(16)}-01`, "ff-00-00-00"])]],
  () => [["b3", "0"]],
  (random) => [["cookie", random.pick(["a", "a=1; a=2", "=;=;", `a=${"x".repeat(4000)}`])]],
  (random) => [["x-forwarded-for", random.pick(["127.0.0.1", "\u00e9", "x".repeat(500)])]],
  () => [["x-forwarded-proto", "https, gopher"]],
  () => [["x-forwarded-host", "evil.example"]],
  () => [["x-http-method-override", "DELETE"]],
  () => [["x-original-url", "/api/v1/master-key/rotate"]],
  () => [["origin", "null"]],
  () => [["te", "trailers, deflate;q=0.5"]],
  (random) => [["connection", random.pick(["close", "keep-alive, x-relayer-debug", "authorization", "Upgrade"])]],
  (random) => [
    ["connection", "Upgrade"],
    ["upgrade", random.pick(["websocket", "h2c", "TLS/1.0", "\u00e9"])],
    ["sec-websocket-key", random.pick(["dGhlIHNhbXBsZSBub25jZQ==", "x"])],
    ["sec-websocket-version", random.pick(["13", "99"])]
  ],
  (random) => [[random.pick(["__proto__", "constructor", "x-a", "toString"]), oddText(random)]],
  (random) => random.times(random.pick([50, 200, 1900]), (): Field => ["x-many", "1"]),
  (random) => [["x-long", "x".repeat(random.pick([8000, 15_000, 20_000, 70_000]))]]
]

/** A few keys, so that some are repeated. Usually none. */
export const oddities = (random: Random, world: World): ReadonlyArray<Field> =>
  random.chance(0.65) ? [] : random.times(random.between(1, 2), () => random.pick(odd)(random, world)).flat()

const keys = ["one", "two", "three", "four", "five"]

export const idempotency = (random: Random): ReadonlyArray<Field> => {
  if (random.chance(0.8)) return []
  return random.chance(0.8)
    ? [["idempotency-key", random.pick(keys)]]
    : [["idempotency-key", random.pick(["", " ", "x".repeat(255), "x".repeat(256), "\u00e9", "a, b", "\t"])]]
}
