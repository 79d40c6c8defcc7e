// The base fee rises far above the cap of the relayers and falls again, twice, while transactions are sent.
import { Effect, Schedule } from "effect"
import type { Case } from "./Case.ts"
import * as Opening from "./sending/Opening.ts"
import * as Verdict from "./sending/Verdict.ts"

/** Wei per gas. */
const cap = 5_000_000_000n
const normal = 1_000_000_000n
const high = 100_000_000_000n

const spikes = 2

/** Milliseconds. */
const lasts = 15_000

export const RelaySpike: Case = {
  name: "relay-spike",
  promise:
    "base fee above the cap and back: no attempt pays more, all are confirmed after it, each effect happens once",
  run: ({ random, tally }) =>
    Effect.gen(function* () {
      const { node, relayers, send, service } = yield* Opening.open({ policies: { gas_price_cap: String(cap) } })
      let baseFee = normal
      const setFee = Effect.suspend(() => node.call("anvil_setNextBlockBaseFeePerGas", [`0x${baseFee.toString(16)}`]))
      yield* setFee.pipe(Effect.repeat(Schedule.spaced("100 millis")), Effect.forkScoped)
      const { load, stop } = yield* send(random)
      for (let count = 0; count < spikes; count++) {
        yield* Effect.sleep(8000)
        baseFee = high
        yield* Effect.sleep(lasts)
        const open = (yield* Verdict.openIn(service)) ?? []
        const waiting = open.filter(({ code }) => code === "gas_price_above_cap")
        tally.add("waiting for the price", waiting.length)
        tally.expect(waiting.length > 0, "transactions say that they wait for the price")
        baseFee = normal
      }
      yield* Effect.sleep(5000)
      yield* stop
      const rows = yield* Verdict.check(tally, node, service, relayers, load)
      const prices = rows.flatMap(({ attempts = [] }) => attempts.map((one) => BigInt(one.max_fee_per_gas ?? 0)))
      const above = prices.filter((price) => price > cap)
      tally.expect(above.length === 0, `no attempt costs more than the cap: ${above[0]}`)
    })
}
