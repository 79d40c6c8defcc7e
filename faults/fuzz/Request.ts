// Makes a request for an operation of the document, in which some parts are invalid.
import * as Headers from "./Headers.ts"
import * as Hostile from "./Hostile.ts"
import * as OpenApi from "./OpenApi.ts"
import type { Random } from "./Random.ts"
import * as Values from "./Values.ts"
import type { World } from "./World.ts"

/** A request and its operation. */
export interface Request {
  readonly method: string
  readonly host: string
  readonly target: string
  readonly fields: ReadonlyArray<Headers.Field>
  readonly body: Buffer | undefined
  readonly isChunked: boolean
  /** Absent: the document does not contain the method and path. */
  readonly operation: OpenApi.Operation | undefined
}

/** Operations that read all data, which grows with every request. */
const costly = new Set(["masterKey.rotate", "audit.verify"])

const usual = OpenApi.operations.filter(({ id }) => !costly.has(id))

const operation = (random: Random): OpenApi.Operation =>
  random.pick(random.chance(0.995) ? usual : OpenApi.operations.filter(({ id }) => costly.has(id)))

const percent = (text: string) => encodeURIComponent(text.toWellFormed())

const odds = [
  "%00",
  "%2e%2e%2f",
  "..",
  "%",
  "%zz",
  "%c0%af",
  "%ED%A0%80",
  ";x=1",
  "a%2Fb",
  "%u0041",
  "\u00e9",
  "%0d%0a"
]

const segment = (random: Random, world: World, { schema, name }: OpenApi.Parameter): string => {
  if (random.chance(0.85)) return percent(String(Values.fitting(random, world, schema, name)))
  return random.pick([...odds, percent(Hostile.text(random)), "x".repeat(random.pick([37, 5000]))])
}

const query = (random: Random, world: World, parameters: ReadonlyArray<OpenApi.Parameter>): string => {
  const pairs = parameters
    .filter((parameter) => parameter.in === "query" && random.chance(0.3))
    .map((parameter): readonly [string, string] => [
      parameter.name,
      percent(
        random.chance(0.75)
          ? String(Values.fitting(random, world, parameter.schema, parameter.name))
          : Hostile.text(random)
      )
    ])
  if (random.chance(0.04)) pairs.push(random.pick(pairs.length === 0 ? [["page", "1"] as const] : pairs))
  if (random.chance(0.04)) pairs.push([random.pick(["__proto__", "page[]", "", "%", "%00", "a%zz"]), "1"])
  const text = pairs.map(([name, value]) => `${name}=${value}`).join("&")
  return text === "" ? random.pick(["", "", "", "", "?", "?&&=&"]) : `?${text}`
}

/** Spellings of a path that must not reach another route. */
const respell = (random: Random, path: string): string =>
  random.pick([
    `${path}/`,
    `/${path}`,
    path.replaceAll("/", "//"),
    path.toUpperCase(),
    path.replace("/v1", "/./v1"),
    path.replace("/v1", "/x/../v1"),
    path.replace("/api", "/%61pi"),
    `${path}%20`,
    `${path};jsessionid=1`,
    `${path}#fragment`,
    `http://other.example${path}`,
    `//other.example${path}`,
    `${path}/${"a/".repeat(400)}`,
    path.slice(1),
    "*"
  ])

const otherMethods = [
  "PUT",
  "OPTIONS",
  "TRACE",
  "HEAD",
  "PROPFIND",
  "QUERY",
  "get",
  "DELETE",
  "POST",
  "PATCH",
  "CONNECT"
]

const json = (random: Random, world: World, schema: OpenApi.Schema): string => {
  const value = Values.fitting(random, world, schema, "body")
  const text = JSON.stringify(random.chance(0.5) ? value : Values.broken(random, value))
  if (random.chance(0.9)) return text
  return random.pick([
    ...Hostile.jsonTexts,
    text.slice(0, random.below(text.length)),
    text.replace("{", `{"__proto__":{"paused":true},`),
    text.replace(/^\{("[^"]*":)/, '{$1"twice",$1'),
    text.replace(/:/, ":\u0000"),
    text.replace(/"(\w)/, '"\\ud800$1'),
    `${text}${text}`,
    `\ufeff${text}`,
    `${" ".repeat(2_000_000)}${text}`
  ])
}

const body = (random: Random, world: World, { bodies }: OpenApi.Operation) => {
  const [first = ["application/json", {}] as const] = bodies
  const [type, schema] = bodies.length === 0 ? first : random.pick(bodies)
  const text = json(random, world, schema)
  const encoding = random.chance(0.97) ? "utf8" : random.pick(["utf16le", "latin1"] as const)
  return { type, bytes: Buffer.from(text, encoding) }
}

/** The host of requests to the API, which answers for every host. */
const anyHost = "fuzz.example"

export const make = (random: Random, world: World): Request => {
  const described = operation(random)
  const filled = described.parameters
    .filter((parameter) => parameter.in === "path")
    .reduce((path, at) => path.replace(`{${at.name}}`, () => segment(random, world, at)), described.path)
  const isRespelt = random.chance(0.04)
  const path = isRespelt ? respell(random, filled) : filled
  const isOther = random.chance(0.03)
  const method = isOther ? random.pick(otherMethods) : described.method
  const sent =
    described.bodies.length > 0 ? (random.chance(0.97) ? body(random, world, described) : undefined) : undefined
  const unasked = sent === undefined && random.chance(0.03) ? body(random, world, described) : undefined
  const payload = sent ?? unasked
  const declared = described.parameters
    .filter((parameter) => parameter.in === "header" && random.chance(0.2))
    .map((at): Headers.Field => [at.name, String(Values.fitting(random, world, at.schema, at.name)).slice(0, 300)])
  const streamed: ReadonlyArray<Headers.Field> =
    described.id === "events.list" && random.chance(0.1) ? [["accept", "text/event-stream"]] : []
  return {
    method,
    host: anyHost,
    target: path + query(random, world, described.parameters),
    fields: [
      ...Headers.authorization(random, world),
      ...(payload === undefined ? [] : [Headers.contentType(random, payload.type)]),
      ...declared.filter(([name]) => name !== "Idempotency-Key" && name !== "X-Relayer-Debug"),
      ...(method === "POST" ? Headers.idempotency(random) : []),
      ...streamed,
      ...Headers.oddities(random, world)
    ],
    body: payload?.bytes,
    isChunked: random.chance(0.15),
    operation: isRespelt || isOther ? undefined : described
  }
}

const chunkSize = (random: Random, left: number) => Math.min(left, random.pick([1, 7, 100, 10_000, left]))

const chunked = (random: Random, bytes: Buffer): ReadonlyArray<Buffer> => {
  const parts: Array<Buffer> = []
  for (let at = 0, count = 0; at < bytes.length; count++) {
    // A body in a million chunks of one byte would only slow the run down.
    const size = count > 50 ? bytes.length - at : chunkSize(random, bytes.length - at)
    parts.push(Buffer.from(`${size.toString(16)}\r\n`), bytes.subarray(at, at + size), Buffer.from("\r\n"))
    at += size
  }
  return [...parts, Buffer.from(random.chance(0.1) ? "0\r\nx-trailer: 1\r\n\r\n" : "0\r\n\r\n")]
}

/** The bytes on the wire. Header fields are Latin-1, so other characters change. */
export const encode = (random: Random, { method, host, target, fields, body, isChunked }: Request): Buffer => {
  const length: ReadonlyArray<Headers.Field> =
    body === undefined ? [] : [isChunked ? ["transfer-encoding", "chunked"] : ["content-length", String(body.length)]]
  const lines = [["host", host] as const, ...fields, ...length].map(([name, value]) => `${name}: ${value}`)
  const head = Buffer.from(`${method} ${target} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`, "latin1")
  if (body === undefined) return head
  return Buffer.concat([head, ...(isChunked ? chunked(random, body) : [body])])
}
