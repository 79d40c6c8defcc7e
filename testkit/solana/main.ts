// Runs a cluster with one node as a process of its own: `node testkit/solana/main.ts --port 8899 --data DIRECTORY`.
// If another program has the port, it listens on a free one. It writes one line of JSON when it listens:
// `{"url":"http://127.0.0.1:8899","bank":"transfers"}`.
import { parseArgs } from "node:util"
import { listenAt } from "../Target.ts"
import * as Bank from "./Bank.ts"
import * as Cluster from "./Cluster.ts"
import { open } from "./Journal.ts"
import * as Machine from "./Machine.ts"
import * as Node from "./Node.ts"
import { pace, serverOf } from "./Serving.ts"
import * as Svm from "./Svm.ts"

const { values } = parseArgs({
  options: {
    port: { type: "string", default: "0" },
    /** Milliseconds between two blocks. */
    "block-ms": { type: "string", default: "400" },
    /** Absent: the blocks are kept in memory only. */
    data: { type: "string" }
  }
})

const machine = Svm.installed()
const run = machine === undefined ? Bank.run : Machine.make(machine)
const cluster = values.data === undefined ? Cluster.make({ run }) : open(values.data, run)
const node = Node.make(cluster, "")
const server = serverOf(node)

const makeBlock = pace(cluster, node)

const tick = () => {
  cluster.time = Math.floor((performance.timeOrigin + performance.now()) / 1000)
  makeBlock()
}

listenAt(server, Number(values.port), (port) => {
  const bank = machine === undefined ? "transfers" : "agave"
  process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${port}`, bank })}\n`)
})

const timer = setInterval(tick, Number(values["block-ms"]))

const stop = () => {
  clearInterval(timer)
  server.close()
  server.closeAllConnections()
}
process.once("SIGTERM", stop)
process.once("SIGINT", stop)
