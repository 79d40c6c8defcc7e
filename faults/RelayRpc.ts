// The only provider of a network fails in different ways while transactions are sent.
import { Effect } from "effect"
import type { Behaviour } from "../testkit/EvmProxy.ts"
import type { Case } from "./Case.ts"
import * as Load from "./sending/Load.ts"
import * as Node from "./sending/Node.ts"
import * as Relayers from "./sending/Relayers.ts"
import * as Verdict from "./sending/Verdict.ts"
import * as World from "./World.ts"

const send = "eth_sendRawTransaction"

/** Milliseconds. The service waits at most 5 s for a response of a provider. */
const slow = 8000

const lagging = (count: unknown) => `0x${Math.max(Number(count) - 5, 0).toString(16)}`

const faults: ReadonlyArray<readonly [name: string, method: string, behaviour: Behaviour]> = [
  ["429", "*", { do: "status", status: 429 }],
  ["timeouts", "*", { do: "delay", milliseconds: slow }],
  ["broken connections", "*", { do: "drop" }],
  ["wrong chain", "eth_chainId", { do: "lie", result: () => "0x1" }],
  ["lagging count", "eth_getTransactionCount", { do: "change", result: lagging }],
  ["swallowed sends", send, { do: "lie", result: () => `0x${"11".repeat(32)}` }],
  ["sends without a response", send, { do: "silence" }],
  ["sends that arrive late", send, { do: "delay", milliseconds: slow }],
  ["full pool", send, { do: "refuse", message: "txpool is full" }],
  ["missing receipts", "eth_getTransactionReceipt", { do: "lie", result: () => null }]
]

/** Milliseconds that a fault lasts, and that the provider works after it. */
const lasts = 8000
const works = 3000

export const RelayRpc: Case = {
  name: "relay-rpc",
  promise: "a provider that fails, lies and loses: all are confirmed, each effect happens once, nonces have no holes",
  run: ({ random, tally }) =>
    Effect.gen(function* () {
      const world = yield* World.make
      const node = yield* Node.start
      const service = yield* world.listen({ ...Relayers.env, HEALTH_CHECK_INTERVAL_MS: "1000" })
      const relayers = yield* Relayers.make(service, node, { count: 4 })
      const { load, stop } = yield* Load.start({ urls: () => [service.baseUrl], relayers, random })
      for (const [, method, behaviour] of faults) {
        node.misbehave(method, behaviour)
        yield* Effect.sleep(lasts)
        node.behave()
        yield* Effect.sleep(works)
      }
      yield* stop
      tally.set("faults", faults.map(([name]) => name).join("; "))
      yield* Verdict.check(tally, node, service, relayers, load)
    })
}
