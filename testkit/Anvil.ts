// A real EVM node: anvil of Foundry on a free port. It ends with the scope.
import { Effect } from "effect"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { createRequire } from "node:module"
import { createInterface } from "node:readline"
import { fromNpm } from "../src/process/development/LocalEvm.ts"
import * as JsonRpc from "./JsonRpc.ts"

const require = createRequire(import.meta.url)

/** An account that has 10,000 ether from the start. */
export const funded = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266"

/** The binary of the platform. The launcher of its package would be a process of Node for each chain. */
const program = fromNpm(require.resolve("@foundry-rs/anvil/package.json")) ?? "anvil"

const portIn = async (output: AsyncIterable<string>) => {
  for await (const line of output) {
    const port = /^Listening on 127\.0\.0\.1:(\d+)$/u.exec(line)?.[1]
    if (port !== undefined) return port
  }
  throw new Error("anvil does not start")
}

/** The body that creates a network of the node, whose blocks have base fees. */
export const networkOf = (
  node: { readonly chainId: number; readonly url: string },
  name: string,
  confirmations = 1
) => ({
  network_type: "evm",
  name,
  chain_id: node.chainId,
  rpc_urls: [node.url],
  average_blocktime_ms: 1000,
  required_confirmations: confirmations,
  features: ["eip1559"],
  symbol: "ETH"
})

interface Options {
  readonly chainId?: number
  /** Seconds between two blocks. Absent: each transaction makes a block at once. */
  readonly blockTime?: number
  /** Time of block 0, in seconds since 1970. Another time makes another chain. Absent: now. */
  readonly timestamp?: number
  /** Absent: one that the system chooses, which another server may get as soon as anvil has ended. */
  readonly port?: number
  /** Further arguments of the command line of anvil. */
  readonly more?: ReadonlyArray<string>
}

export const start = ({ chainId = 31337, blockTime, timestamp, port: chosen = 0, more = [] }: Options = {}) =>
  Effect.gen(function* () {
    const { child, ended } = yield* Effect.acquireRelease(
      Effect.sync(() => {
        const option = (name: string, value: number | undefined) => (value === undefined ? [] : [name, String(value)])
        const args = [
          "--host",
          "127.0.0.1",
          "--port",
          String(chosen),
          "--chain-id",
          String(chainId),
          ...option("--block-time", blockTime),
          ...option("--timestamp", timestamp),
          ...more
        ]
        const child = spawn(program, args, { stdio: ["ignore", "pipe", "ignore"] })
        return { child, ended: once(child, "close") }
      }),
      ({ child, ended }) =>
        Effect.promise(() => {
          child.kill()
          return ended
        })
    )
    const port = yield* Effect.promise(() => portIn(createInterface({ input: child.stdout })))
    child.stdout.resume()
    const url = `http://127.0.0.1:${port}`

    const call = JsonRpc.call(url)

    const fund = (address: string, wei: bigint) =>
      Effect.asVoid(call("anvil_setBalance", [address, `0x${wei.toString(16)}`]))

    const kill = Effect.promise(() => {
      child.kill()
      return ended
    })
    return { pid: child.pid ?? 0, url, chainId, call, fund, kill }
  })
