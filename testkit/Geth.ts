// Another real EVM node: geth in its developer mode on a free port. It ends with the scope. Its pool is stricter than anvil's.
import { Effect } from "effect"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { createInterface } from "node:readline"
import * as JsonRpc from "./JsonRpc.ts"

/** Path of geth 1.16.9, which `.ci/run --all` builds. Undefined: tests on geth are left out. */
export const binary = process.env.TEST_GETH

/** Chain id of the developer mode. */
const chainId = 1337

const portIn = async (log: AsyncIterable<string>) => {
  for await (const line of log) {
    const port = /HTTP server started\s+endpoint=127\.0\.0\.1:(\d+)/u.exec(line)?.[1]
    if (port !== undefined) return port
  }
  throw new Error("geth does not start")
}

/** `period`: seconds between two blocks. */
const argumentsOf = (period: number) => [
  "--dev",
  `--dev.period=${period}`,
  "--ipcdisable",
  "--verbosity=3",
  "--http",
  "--http.addr=127.0.0.1",
  "--http.port=0",
  "--http.api=eth,net,web3,txpool"
]

export const start = Effect.fnUntraced(function* (path: string, period = 1) {
  const { child } = yield* Effect.acquireRelease(
    Effect.sync(() => {
      const child = spawn(path, argumentsOf(period), { stdio: ["ignore", "ignore", "pipe"] })
      return { child, ended: once(child, "close") }
    }),
    ({ child, ended }) =>
      Effect.promise(() => {
        child.kill("SIGKILL")
        return ended
      })
  )
  const url = `http://127.0.0.1:${yield* Effect.promise(() => portIn(createInterface({ input: child.stderr })))}`
  child.stderr.resume()
  const call = JsonRpc.call(url)
  const [developer] = (yield* call("eth_accounts", [])) as ReadonlyArray<string>

  /** Sends wei from the developer's account, and waits until the account has them. */
  const fund = Effect.fnUntraced(function* (address: string, wei: bigint) {
    const balance = Effect.map(call("eth_getBalance", [address, "latest"]), (hex) => BigInt(String(hex)))
    const wanted = (yield* balance) + wei
    yield* call("eth_sendTransaction", [{ from: developer, to: address, value: `0x${wei.toString(16)}` }])
    yield* balance.pipe(
      Effect.tap((found) => (found < wanted ? Effect.sleep("50 millis") : Effect.void)),
      Effect.repeat({ until: (found) => found >= wanted })
    )
  })

  return { url, chainId, call, fund }
})
