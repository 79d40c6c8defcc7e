// The cases of the benchmark. Each loads a contender for some seconds and fails if a response is not the expected one.
import { Effect } from "effect"
import * as Client from "./Client.ts"
import * as Consoles from "./Consoles.ts"
import * as Fill from "./Fill.ts"
import { usualConnections } from "./Goals.ts"
import type { Request } from "./Load.ts"
import * as Measure from "./Measure.ts"
import type { Target } from "./Measure.ts"
import * as Pgbench from "./Pgbench.ts"
import * as Writes from "./Writes.ts"

type Errors =
  | Effect.Error<ReturnType<typeof reads>>
  | Effect.Error<ReturnType<typeof Writes.writes>>
  | Effect.Error<ReturnType<typeof Pgbench.run>>

type Run = (target: Target, connections: number, seconds: number) => Effect.Effect<Measure.Reading, Errors>

export interface Case {
  readonly name: string
  readonly about: string
  /** At every size with the usual number of connections, or only at the first size. */
  readonly sizes: "all" | "first"
  readonly contenders: ReadonlyArray<string>
  /** The numbers of connections in a full run. */
  readonly connections: ReadonlyArray<number>
  readonly run: Run
}

const list = "/api/v1/relayers?per_page=10"
const one = "/api/v1/relayers/@ID@"
const deepPage = (size: number) => `${list}&page=${Math.max(1, size / 10)}`

/** Bytes by which names and totals may change the length of a response. */
const slack = 20

const reads = Effect.fnUntraced(function* (target: Target, path: string, connections: number, seconds: number) {
  const { ids } = target.installation
  const { body } = yield* Client.get(target.server, path.replace("@ID@", Client.firstId(ids)))
  const plan = { requests: [{ method: "GET" as const, path }], ids, from: 0 }
  const { reading } = yield* Measure.load(target, plan, connections, seconds, body.length - slack)
  return reading
})

/** A path to the last ten relayers, with a cursor of the server. */
const cursor = Effect.fnUntraced(function* ({ server, installation }: Target) {
  const before = yield* Client.get(server, `${list}&page=${Math.max(1, installation.size / 10 - 1)}`)
  return `${list}&cursor=${before.cursor}`
})

const create: Request = {
  method: "POST",
  path: "/api/v1/relayers",
  body: JSON.stringify({
    name: "Relayer of a benchmark",
    network: "sepolia",
    network_type: "evm",
    paused: false,
    signer_id: `${Fill.freshSigner}@N@`,
    policies: Fill.policies
  })
}

const readList: Request = { method: "GET", path: list }
const readOne: Request = { method: "GET", path: one }

/** Ten requests, one of which creates a relayer. */
const mixed = [readList, readOne, readList, readOne, create, readList, readOne, readList, readOne, readOne]

/** Seconds until V8 has compiled the code of a list. */
const compiled = 12

/** Warms up, so that the first case does not include the compilation. */
export const warm = (target: Target) =>
  target.server.contender === Pgbench.contender ? Effect.void : reads(target, list, usualConnections, compiled)

/** pgbench does not use HTTP. */
const creates: Run = (target, connections, seconds) =>
  target.server.contender === Pgbench.contender
    ? Pgbench.run(target.installation, connections, seconds)
    : Writes.writes(target, [create], connections, seconds)

export const mixOfReadsAndCreates: Run = (target, connections, seconds) =>
  Writes.writes(target, mixed, connections, seconds)

const api = ["service", Consoles.contender, "before", "fastify"]

export const cases: ReadonlyArray<Case> = [
  {
    name: "list",
    about: "ten relayers, first page, with the total",
    sizes: "all",
    contenders: [...api, "limit"],
    connections: [usualConnections, 1, 512],
    run: (target, connections, seconds) => reads(target, list, connections, seconds)
  },
  {
    name: "cursor",
    about: "the last ten relayers, by cursor",
    sizes: "all",
    contenders: api,
    connections: [usualConnections],
    run: (target, connections, seconds) =>
      Effect.flatMap(cursor(target), (path) => reads(target, path, connections, seconds))
  },
  {
    name: "deep",
    about: "the last ten relayers, by the number of the page",
    sizes: "all",
    contenders: api,
    connections: [usualConnections],
    run: (target, connections, seconds) => reads(target, deepPage(target.installation.size), connections, seconds)
  },
  {
    name: "get",
    about: "one relayer, at random",
    sizes: "all",
    contenders: [...api, "limit"],
    connections: [usualConnections, 1, 512],
    run: (target, connections, seconds) => reads(target, one, connections, seconds)
  },
  {
    name: "mix",
    about: "nine reads, then one is created",
    sizes: "first",
    contenders: api,
    connections: [usualConnections],
    run: mixOfReadsAndCreates
  },
  {
    name: "create",
    about: "an evm relayer with policies",
    sizes: "first",
    contenders: [...api, Pgbench.contender],
    connections: [usualConnections, 1, 512],
    run: creates
  }
]
