// Runs the stand-in ledger as a process of its own:
// `node testkit/stellar/main.ts --port 8000 --ledger-ms 5000 --providers 1 --data DIRECTORY`.
// If another program has the port, it listens on a free one, and writes one line of JSON when it listens:
// `{"url":"http://127.0.0.1:8000/0","control":"http://127.0.0.1:8000/control"}`.
// With `--announce`, it writes a line for each closed ledger: `{"ledger":60000001,"at":1900000000123}`, with Unix milliseconds.
import * as http from "node:http"
import { parseArgs } from "node:util"
import { listenAt } from "../Target.ts"
import { open } from "./Journal.ts"
import { Network } from "./Network.ts"
import { StandIn } from "./Serving.ts"

const { values } = parseArgs({
  options: {
    port: { type: "string", default: "0" },
    /** Milliseconds between two ledgers. 0: a ledger is closed only when `/control` asks for it. */
    "ledger-ms": { type: "string", default: "5000" },
    providers: { type: "string", default: "1" },
    passphrase: { type: "string", default: "Standalone Network ; February 2017" },
    /** A new network of stellar-core begins at 1, with reserves of 10 XLM. */
    "first-ledger": { type: "string" },
    "base-reserve": { type: "string" },
    announce: { type: "boolean", default: false },
    /** Absent: the ledgers are kept in memory only. */
    data: { type: "string" }
  }
})

const now = () => performance.timeOrigin + performance.now()

const first = values["first-ledger"]

const options = {
  ...(first === undefined ? {} : { first: { number: Number(first), closeTime: Math.floor(now() / 1000) } }),
  passphrase: values.passphrase,
  now,
  nodes: Number(values.providers)
}
const network = values.data === undefined ? new Network(options) : open(values.data, options)
const reserve = values["base-reserve"]
if (reserve !== undefined) network.store.voted = { ...network.store.voted, baseReserve: BigInt(reserve) }
const standIn = new StandIn(network)
const server = http.createServer((request, response) => void standIn.listener(request, response))

listenAt(server, Number(values.port), (port) => {
  const base = `http://127.0.0.1:${port}`
  process.stdout.write(`${JSON.stringify({ url: `${base}/0`, control: `${base}/control` })}\n`)
})

const every = Number(values["ledger-ms"])

const close = () => {
  const { number } = network.latest
  const ledger = network.close()
  if (!values.announce || ledger.number === number) return
  process.stdout.write(`${JSON.stringify({ ledger: ledger.number, at: options.now() })}\n`)
}

const timer = every > 0 ? setInterval(close, every) : undefined

const stop = () => {
  clearInterval(timer)
  server.close()
  server.closeAllConnections()
}
process.once("SIGTERM", stop)
process.once("SIGINT", stop)
