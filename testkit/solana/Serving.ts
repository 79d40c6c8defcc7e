// Serves nodes of a cluster in memory over HTTP, and lets the cluster make blocks.
import { Effect, Schedule } from "effect"
import * as http from "node:http"
import type { IncomingMessage } from "node:http"
import * as Target from "../Target.ts"
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

/** A node with its URL. While it is away, its connections end. */
export const node = Effect.fnUntraced(function* (cluster: Cluster) {
  const made = Node.make(cluster, "")
  const answerOne = ({ id, method, params = [] }: Call) => ({ jsonrpc: "2.0", id, ...made.answer(method, params) })
  const server = http.createServer(async (request, response) => {
    const body = await bodyOf(request)
    if (made.isAway) return void response.destroy()
    const answers = isBatch(body) ? body.map(answerOne) : answerOne(body)
    response.end(JSON.stringify(answers))
  })
  const { url } = yield* Target.listen(server)
  return Object.assign(made, { url: url() })
})

/** A block in each time of a block, until the scope closes. */
export const run = (cluster: Cluster, millis: number) =>
  Effect.sync(() => cluster.produce()).pipe(Effect.repeat(Schedule.spaced(millis)), Effect.forkScoped)
