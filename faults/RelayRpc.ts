// The only provider of a network fails in different ways while transactions are sent.
import { Effect } from "effect"
import type { Behaviour } from "../testkit/EvmProxy.ts"
import type { Case } from "./Case.ts"
import * as Opening from "./sending/Opening.ts"
import * as Verdict from "./sending/Verdict.ts"

const broadcast = "eth_sendRawTransaction"

/** Milliseconds. The service waits at most 5 s for a response of a provider. */
const slow = 8000

const lagging = (count: unknown) => `0x${Math.max(Number(count) - 5, 0).toString(16)}`

const faults: ReadonlyArray<readonly [name: string, method: string, behaviour: Behaviour]> = [
  ["429", "*", { do: "status", status: 429 }],
  ["timeouts", "*", { do: "delay", milliseconds: slow }],
  ["broken connections", "*", { do: "drop" }],
  ["wrong chain", "eth_chainId", { do: "lie", result: () => "0x1" }],
  ["lagging count", "eth_getTransactionCount", { do: "change", result: lagging }],
  ["swallowed sends", broadcast, { do: "lie", result: () => `0x${"11".repeat(32)}` }],
  ["sends without a response", broadcast, { do: "silence" }],
  ["sends that arrive late", broadcast, { do: "delay", milliseconds: slow }],
  ["full pool", broadcast, { do: "refuse", message: "txpool is full" }],
  ["missing receipts", "eth_getTransactionReceipt", { do: "lie", result: () => null }]
]

/** Those of the short form. */
const inShort = new Set(["swallowed sends", "missing receipts"])

/** Milliseconds that a fault lasts, and that the provider works after it. */
const lasts = 8000
const works = 3000

export const RelayRpc: Case = {
  name: "relay-rpc",
  promise: "a provider that fails, lies and loses: all are confirmed, each effect happens once, nonces have no holes",
  isShort: true,
  run: ({ amount, random, tally }) =>
    Effect.gen(function* () {
      const { node, relayers, send, service } = yield* Opening.open({ env: { HEALTH_CHECK_INTERVAL_MS: "1000" } })
      const { load, stop } = yield* send(random)
      const chosen = amount(
        faults,
        faults.filter(([name]) => inShort.has(name))
      )
      for (const [, method, behaviour] of chosen) {
        node.misbehave(method, behaviour)
        yield* Effect.sleep(lasts)
        node.behave()
        yield* Effect.sleep(works)
      }
      yield* stop
      tally.set("faults", chosen.map(([name]) => name).join("; "))
      yield* Verdict.check(tally, node, service, relayers, load)
    })
}
