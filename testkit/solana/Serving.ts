// Serves nodes of a cluster in memory over HTTP, and lets the cluster make blocks.
import { Effect, Schedule } from "effect"
import * as http from "node:http"
import type { IncomingMessage } from "node:http"
import * as Target from "../Target.ts"
import { finality, life } from "./Cluster.ts"
import type { Cluster } from "./Cluster.ts"
import * as Node from "./Node.ts"

interface Call {
  readonly id: unknown
  readonly method: string
  readonly params?: ReadonlyArray<unknown>
}

const isBatch = (body: Call | ReadonlyArray<Call>): body is ReadonlyArray<Call> => Array.isArray(body)

const bodyOf = async (request: IncomingMessage): Promise<Call | ReadonlyArray<Call>> => {
  const parts: Array<Buffer> = []
  for await (const part of request) parts.push(part)
  return JSON.parse(Buffer.concat(parts).toString())
}

/** The back end at a URL. While it is away, connections end; a silent one keeps them open. */
const listenerOf = (backend: Node.Backend): http.RequestListener => {
  const answerOne = ({ id, method, params = [] }: Call) => {
    const answer = backend.answer(method, params)
    return answer === undefined ? undefined : { jsonrpc: "2.0", id, ...answer }
  }
  return async (request, response) => {
    const body = await bodyOf(request)
    if (backend.isAway) return void response.destroy()
    if (backend.trouble === "silent") return
    if (backend.trouble === "limited") return void response.writeHead(429, { "retry-after": "1" }).end()
    const answers = isBatch(body) ? body.map(answerOne) : [answerOne(body)]
    if (answers.includes(undefined)) return void response.destroy()
    response.writeHead(200, { "content-type": "application/json" })
    response.end(JSON.stringify(isBatch(body) ? answers : answers[0]))
  }
}

/** A server for the back end. Its connections outlast the pauses between requests of the service. */
export const serverOf = (backend: Node.Backend): http.Server => {
  const server = http.createServer(listenerOf(backend))
  server.keepAliveTimeout = 60_000
  return server
}

/** The URL of the back end, until the scope closes. */
export const serve = (backend: Node.Backend) => Effect.map(Target.listen(serverOf(backend)), ({ url }) => url())

/** A node with its URL. */
export const node = Effect.fnUntraced(function* (cluster: Cluster) {
  const made = Node.make(cluster, "")
  return Object.assign(made, { url: yield* serve(made) })
})

/** A block in each time of a block, until the scope closes. */
export const run = (cluster: Cluster, millis: number) =>
  Effect.sync(() => cluster.produce()).pipe(Effect.repeat(Schedule.spaced(millis)), Effect.forkScoped)

/** Blocks after the last transaction: bytes that have not landed until then are dead, and a proof of that is final. */
const busyFor = 2 * (life + finality)

/** What a service asks while something depends on the height, such as the bound of a restore, and not while it is idle. */
const asksForHeight = "getEpochInfo"

/**
 * Makes the next block of a chain that rests when nothing can happen any more, so that its file does not grow. A transaction or a
 * question for the height keeps it busy.
 */
export const pace = (cluster: Cluster, node: Node.Node) => {
  let due = busyFor
  return () => {
    const isAwaited = node.count(asksForHeight) > 0 || cluster.pool.size > 0
    // Only tests ask what a node was asked.
    node.seen.length = 0
    if (isAwaited || (cluster.blocks.at(-1)?.transactions.length ?? 0) > 0) due = busyFor
    if (due === 0) return
    due -= 1
    cluster.produce()
  }
}
