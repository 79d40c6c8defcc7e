// The chain of the benchmark on solana as a process of its own: a cluster in memory with two nodes, and what the benchmark asks
// about it. It listens on the port that the environment names: GET / has the URLs of the nodes, GET /blocks?from=HEIGHT the blocks,
// GET /effects the number of memos, POST /fund and /swallow change the cluster.
import { createHash } from "node:crypto"
import * as http from "node:http"
import type { AddressInfo } from "node:net"
import { parseArgs } from "node:util"
import * as Cluster from "../../../testkit/solana/Cluster.ts"
import * as Node from "../../../testkit/solana/Node.ts"
import { serverOf } from "../../../testkit/solana/Serving.ts"
import * as Machine from "../../harness/Machine.ts"
import { memoProgram } from "../../../src/networks/solana/rules/Programs.ts"
import type { BlockTime, Funding, Swallowing } from "./Control.ts"

const { values } = parseArgs({ options: { "block-ms": { type: "string", default: "400" } } })

/** By height. */
const times: Array<BlockTime> = []
let effects = 0

const cluster = Cluster.make({
  record: ({ slot, transactions }) => {
    times.push({ slot, at: Machine.now() })
    effects += transactions.filter(
      ({ error, wire }) => error === null && wire.message.keys.includes(memoProgram)
    ).length
  }
})
// The first block was there before anybody could record it.
times.unshift({ slot: 0, at: Machine.now() })

const nodes = [Node.make(cluster, ""), Node.make(cluster, "")]

/** How often each signature was sent, so that each send of it has a chance of its own. */
const sends = new Map<string, number>()

/** Drops `percent` of all sends, in a way that is the same in each run with the same signatures. */
const swallow = ({ percent }: Swallowing) => {
  sends.clear()
  const isSwallowed = (signature: string): boolean => {
    const count = (sends.get(signature) ?? 0) + 1
    sends.set(signature, count)
    return (createHash("sha256").update(`${signature} ${count}`).digest()[0] ?? 0) < percent * 2.56
  }
  cluster.keepsBack = percent === 0 ? undefined : isSwallowed
}

/** The funds are finalized before anybody is answered. */
const fund = ({ addresses, lamports }: Funding) => {
  for (const address of addresses) cluster.fund(address, BigInt(lamports))
  cluster.produce(Cluster.finality + 1)
}

const bodyOf = async (request: http.IncomingMessage): Promise<unknown> => {
  const parts: Array<Buffer> = []
  for await (const part of request) parts.push(part)
  return JSON.parse(Buffer.concat(parts).toString())
}

const listen = (server: http.Server, port: number): Promise<string> =>
  new Promise((resolve) => {
    server.listen(port, "127.0.0.1", () => resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`))
  })

const servers = nodes.map(serverOf)
const urls = await Promise.all(servers.map((server) => listen(server, 0)))

const answer = async (request: http.IncomingMessage): Promise<unknown> => {
  const { pathname, searchParams } = new URL(request.url ?? "/", "http://localhost")
  if (pathname === "/blocks") return times.slice(Number(searchParams.get("from")))
  if (pathname === "/effects") return effects
  if (pathname === "/fund") fund((await bodyOf(request)) as Funding)
  if (pathname === "/swallow") swallow((await bodyOf(request)) as Swallowing)
  return { urls }
}

const control = http.createServer(async (request, response) => {
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(await answer(request)))
})
control.keepAliveTimeout = 60_000
await listen(control, Number(process.env.PORT))

const timer = setInterval(() => {
  // Nobody asks what a node was asked.
  for (const node of nodes) node.seen.length = 0
  cluster.produce()
}, Number(values["block-ms"]))

process.once("SIGTERM", () => {
  clearInterval(timer)
  for (const server of [control, ...servers]) {
    server.close()
    server.closeAllConnections()
  }
})
