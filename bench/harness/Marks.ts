// Node loads this file before the service (`--import`). It records the steps of a start, in milliseconds since the process
// began, from Node's own diagnostics channels: the service contains no code for it.
import diagnostics from "node:diagnostics_channel"
import type { ChildProcess } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"

export interface Mark {
  readonly what: "node" | "initdb" | "initdb ended" | "postgres" | "socket" | "listen"
  readonly at: number
}

const marks: Array<Mark> = []
const mark = (what: Mark["what"]) => marks.push({ what, at: performance.now() })

mark("node")

diagnostics.subscribe("child_process", (message) => {
  const { process: child } = message as { process: ChildProcess }
  queueMicrotask(() => {
    const name = path.basename(child.spawnfile)
    if (name === "initdb") {
      mark("initdb")
      child.once("exit", () => mark("initdb ended"))
    } else if (!child.spawnargs.includes("--version")) mark("postgres")
  })
})
diagnostics.subscribe("net.client.socket", () => mark("socket"))
diagnostics.subscribe("tracing:net.server.listen:asyncEnd", () => {
  mark("listen")
  fs.writeFileSync(process.env.BENCH_MARKS ?? "", JSON.stringify(marks))
})
