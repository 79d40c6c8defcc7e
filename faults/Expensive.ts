// The requests that cost the service most: at least four for each endpoint with a body, and those that are known to be expensive. Each is
// sent alone; then the twenty that occupied the event loop longest are sent together. Health has to answer meanwhile.
import { Effect } from "effect"
import * as fs from "node:fs"
import * as path from "node:path"
import * as Examples from "../src/api/Examples.ts"
import type { Listening } from "../testkit/process/Service.ts"
import { apiKey } from "../testkit/process/Service.ts"
import type { Case } from "./Case.ts"
import * as Requests from "./Requests.ts"
import * as World from "./World.ts"

/** Milliseconds within which health answers while one request is served. */
const promised = 250

/**
 * Milliseconds within which health answers while the twenty worst are served: half of the second after which Kubernetes counts a probe as failed.
 * Eighty rounds on a machine with two cores took 35 to 473 ms, half of them more than 200.
 */
const promisedTogether = 500

/** Milliseconds between two requests for health. */
const probing = 20

/** The requests that are sent together, and how often each is sent. */
const worst = 20
const repetitions = 3

/** Other work only adds to a measurement, so the smallest of these counts. */
const rounds = 3

/** Almost as many bytes as a body may have: 1 MiB. */
const bytes = 1_000_000

interface Expensive {
  readonly name: string
  readonly method: string
  readonly path: string
  readonly body: string
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly requestBody?: object }>>>>
}

const documentFile = path.resolve(import.meta.dirname, "../openapi.json")

/** Every endpoint that takes a body. */
const endpoints = (): ReadonlyArray<readonly [method: string, path: string]> => {
  const { paths } = JSON.parse(fs.readFileSync(documentFile, "utf8")) as Document
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { requestBody }]) =>
      requestBody === undefined ? [] : [[method, path] as const]
    )
  )
}

const ids: Readonly<Record<string, string>> = {
  relayer_id: "r",
  signer_id: "s",
  notification_id: "n",
  network_id: "evm:sepolia",
  key_id: "00000000-0000-7000-8000-000000000000",
  transaction_id: "00000000-0000-7000-8000-000000000000",
  position: "1"
}

const filled = (path: string) => path.replaceAll(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? "1")

const members = (count: number) => Array.from({ length: count }, (_, n) => `"field${n}":${n}`).join(",")

/** Bodies that cost much whatever the endpoint expects. */
const shapes: Readonly<Record<string, (example: object) => string>> = {
  "unknown fields": () => `{${members(9900)}}`,
  "deep lists": () => `{"name":${"[".repeat(bytes / 2 - 100)}${"]".repeat(bytes / 2 - 100)}}`,
  "a long number": () => `{"value":${"7".repeat(bytes - 100)}}`,
  "long texts": (example) => {
    const fields = Object.entries(example)
    const text = "x".repeat(Math.floor((bytes - 10_000) / Math.max(1, fields.length)))
    return JSON.stringify(
      Object.fromEntries(fields.map(([name, value]) => [name, typeof value === "string" ? text : value]))
    )
  },
  "long lists": (example) => {
    const items = Array.from({ length: 9000 }, () => "0x70997970c51812dc3a010c7d01b50e0d17dc79c8")
    return JSON.stringify({ ...example, policies: { whitelist_receivers: items }, scopes: items, transactions: items })
  }
}

const exampleOf = (method: string, path: string): object =>
  (Examples.requests as Readonly<Record<string, object>>)[`${method} ${path}`] ?? {}

const generic = (): ReadonlyArray<Expensive> =>
  endpoints().flatMap(([method, path]) =>
    Object.entries(shapes).map(([shape, body]) => ({
      name: `${method.toUpperCase()} ${path}: ${shape}`,
      method: method.toUpperCase(),
      path: filled(path),
      body: body(exampleOf(method, path))
    }))
  )

/** Structs whose types are hashed for each of them. */
const typedData = (nameLength: number, structs: number) => {
  const name = `T${"a".repeat(nameLength)}`
  return JSON.stringify({
    domain: { name: "x" },
    primaryType: "L",
    types: { L: [{ name: "a", type: `${name}[]` }], [name]: [{ name: "b", type: "uint8" }] },
    message: { a: Array.from({ length: structs }, () => ({ b: 1 })) }
  })
}

const own = (name: string, path: string, body: string): Expensive => ({ name, method: "POST", path, body })

const known = (): ReadonlyArray<Expensive> => {
  const rpc = Array.from({ length: 100 }, (_, id) => ({ jsonrpc: "2.0", id, method: "eth_accounts", params: [] }))
  const transaction = { to: "0x70997970c51812dc3a010c7d01b50e0d17dc79c8", value: "1", gas_limit: 10_000_000 }
  return [
    own("typed data with a long name", "/api/v1/relayers/r/sign-typed-data", typedData(30_000, 700)),
    own("typed data with many structs", "/api/v1/relayers/r/sign-typed-data", typedData(200, 4900)),
    own("a long message", "/api/v1/relayers/r/sign", JSON.stringify({ message: "x".repeat(bytes - 100) })),
    own("calls of a wallet", "/api/v1/relayers/r/rpc", JSON.stringify(rpc)),
    own(
      "a large transaction",
      "/api/v1/relayers/r/transactions",
      JSON.stringify({ ...transaction, data: `0x${"ab".repeat(120_000)}` })
    ),
    own(
      "a batch",
      "/api/v1/relayers/r/transactions/batch",
      JSON.stringify({
        transactions: Array.from({ length: 100 }, () => ({ ...transaction, data: `0x${"ab".repeat(4000)}` }))
      })
    ),
    own(
      "a large configuration",
      "/api/v1/configuration/plan",
      JSON.stringify({
        configuration: {
          version: 1,
          name: "large",
          signers: Object.fromEntries(Array.from({ length: 2000 }, (_, n) => [`s${n}`, { type: "plain" }]))
        }
      })
    )
  ]
}

const prepare = Effect.fnUntraced(function* (service: Listening) {
  yield* service.call("/api/v1/signers", { body: { id: "s", type: "plain" } })
  yield* service.call("/api/v1/notifications", { body: { id: "n", type: "webhook", url: "https://example.com/n" } })
  const relayer = { id: "r", name: "R", network: "sepolia", network_type: "evm", paused: false, signer_id: "s" }
  yield* service.call("/api/v1/relayers", { body: relayer })
})

const post = (service: Listening, { body, method, path }: Expensive) =>
  fetch(`${service.baseUrl}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${apiKey}`,
      "content-type": method === "PATCH" ? "application/merge-patch+json" : "application/json"
    },
    body
  }).then(
    async (response) => (await response.arrayBuffer(), response.status),
    () => 0
  )

/** Milliseconds for which the main thread of the service has had a processor. */
const processorTime = ({ pid }: Listening): number =>
  Number(fs.readFileSync(`/proc/${pid}/task/${pid}/schedstat`, "utf8").split(" ")[0]) / 1e6

/**
 * The most that the service has worked while a request for health waited, in milliseconds of processor time: how long that request waits on a
 * machine without other work. The time on the wall would also measure what else runs on the machine.
 */
const longestWait = async (service: Listening, work: () => Promise<unknown>): Promise<number> => {
  const waits: Array<Promise<number>> = []
  const ask = async () => {
    const before = processorTime(service)
    const { status } = await Requests.send(`${service.baseUrl}/v1/health`)
    return status === 200 ? processorTime(service) - before : Number.POSITIVE_INFINITY
  }
  const probe = () => waits.push(ask())
  probe()
  const timer = setInterval(probe, probing)
  await work()
  probe()
  clearInterval(timer)
  return Math.max(...(await Promise.all(waits)))
}

export const Expensive: Case = {
  name: "expensive",
  promise: `health answers within ${promised} ms while each of the most expensive requests is served, and within ${promisedTogether} ms while twenty are`,
  isShort: true,
  run: ({ amount, tally }) =>
    Effect.gen(function* () {
      const world = yield* World.make
      const service = yield* world.listen()
      yield* prepare(service)
      const all = [...known(), ...generic()]
      const measure = (work: () => Promise<unknown>) => Effect.promise(() => longestWait(service, work))
      // The first requests compile code.
      yield* measure(async () => {
        for (const one of all) await post(service, one)
      })

      const measured: Array<{ readonly one: Expensive; readonly delay: number; readonly status: number }> = []
      for (const one of all) {
        let status = 0
        const delay = yield* measure(async () => void (status = await post(service, one)))
        measured.push({ one, delay, status })
        tally.expect(status > 0 && status !== 500, `${one.name}: the answer is no 500: ${status}`)
      }
      const top = measured.toSorted((one, other) => other.delay - one.delay).slice(0, worst)
      tally.set("requests", all.length)
      tally.set("endpoints", endpoints().length)
      tally.set(
        "slowest alone",
        top
          .slice(0, 3)
          .map(({ delay, one, status }) => `${one.name} (${status}) ${delay.toFixed(0)} ms`)
          .join("; ")
      )
      for (const { delay, one } of top) {
        tally.expect(delay <= promised, `${one.name}: health answers within ${promised} ms: ${delay.toFixed(0)} ms`)
      }
      // Each client sends one after the other: 20 bodies of 1 MiB at once would measure the sender.
      const sendTogether = measure(() =>
        Promise.all(
          top.map(async ({ one }) => {
            for (let n = 0; n < amount(repetitions, 1); n++) await post(service, one)
          })
        )
      )
      let together = Number.POSITIVE_INFINITY
      for (let round = 0; round < rounds && together > promisedTogether; round++) {
        together = Math.min(together, yield* sendTogether)
      }
      tally.set("together, longest wait of health, ms of processor time", Math.round(together))
      tally.expect(
        together <= promisedTogether,
        `all twenty at once: health answers within ${promisedTogether} ms: ${together.toFixed(0)} ms`
      )
    })
}
