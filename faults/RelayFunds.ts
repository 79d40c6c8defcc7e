// The accounts of the relayers lose all funds and get them back, three times, while transactions are sent.
import { Effect } from "effect"
import type { Case } from "./Case.ts"
import * as Opening from "./sending/Opening.ts"
import * as Relayers from "./sending/Relayers.ts"
import * as Verdict from "./sending/Verdict.ts"

const times = 3

/** Milliseconds. */
const lasts = 12_000

export const RelayFunds: Case = {
  name: "relay-funds",
  promise: "funds gone and back: transactions wait for them, all are confirmed, each effect happens once, no holes",
  run: ({ random, tally }) =>
    Effect.gen(function* () {
      const { node, relayers, send, service } = yield* Opening.open({ env: { HEALTH_CHECK_INTERVAL_MS: "1000" } })
      const setFunds = (funds: string) =>
        Effect.forEach(relayers, ({ address }) => node.call("anvil_setBalance", [address, funds]))
      const { load, stop } = yield* send(random)
      for (let count = 0; count < times; count++) {
        yield* Effect.sleep(random.int(4000, 6000))
        yield* setFunds("0x0")
        yield* Effect.sleep(lasts)
        const open = (yield* Verdict.openIn(service)) ?? []
        const waiting = open.filter(({ code }) => code === "insufficient_funds")
        tally.add("waiting for funds", waiting.length)
        tally.expect(waiting.length > 0, "transactions say that they wait for funds")
        yield* setFunds(Relayers.funds)
      }
      yield* stop
      yield* Verdict.check(tally, node, service, relayers, load)
    })
}
