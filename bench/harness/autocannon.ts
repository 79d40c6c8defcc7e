// Sends a load with autocannon if wrk is not installed, and prints the counts. The argument is the load as JSON.
import autocannon from "autocannon"
import * as fs from "node:fs"
import type { Counted, Load } from "./Load.ts"

const { url, key, plan, connections, seconds }: Load = JSON.parse(process.argv[2] ?? "")
const ids = plan.ids === undefined ? [] : fs.readFileSync(plan.ids, "utf8").split("\n")
let number = plan.from

const fill = (text: string) =>
  text
    .replaceAll("@ID@", () => ids[Math.floor(Math.random() * ids.length)] ?? "")
    .replaceAll("@N@", () => String(++number).padStart(9, "0"))

const result = await autocannon({
  url,
  connections,
  duration: seconds,
  timeout: 30,
  headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
  requests: plan.requests.map(({ method, path, body }) => ({
    method,
    path,
    setupRequest: (request) => ({
      ...request,
      path: fill(path),
      ...(body === undefined ? {} : { body: fill(body) })
    })
  }))
})

const counted: Counted = {
  requests: result.requests.total,
  seconds: result.duration,
  bytes: result.throughput.total,
  p50: result.latency.p50,
  p99: result.latency.p99,
  refused: result.non2xx,
  broken: result.errors + result.timeouts
}
process.stdout.write(`\nRESULT ${JSON.stringify(counted)}\n`)
