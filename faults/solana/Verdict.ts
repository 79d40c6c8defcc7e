// What became of transactions of solana: all are final, and the effects on the chain are those of the confirmed ones, once each.
import { Effect } from "effect"
import type { Duration } from "effect"
import type { Listening } from "../../testkit/process/Service.ts"
import type { Tally } from "../Case.ts"
import type { Accepted } from "../sending/Load.ts"
import { settled, shown } from "../sending/Verdict.ts"
import type { Chain } from "./Chain.ts"
import * as Effects from "./Effects.ts"

interface Sent {
  readonly accepted: ReadonlyArray<Accepted>
  readonly refused: ReadonlyArray<string>
  readonly repeated: number
}

/** Bytes die, and are proven dead, several times before a transaction lands. */
const patience = "8 minutes"

/** Every accepted request has one effect, or, if its bytes may not be changed, none and the verdict `expired`. */
export const check = Effect.fnUntraced(function* (
  tally: Tally,
  { cluster }: Chain,
  service: Listening,
  { accepted, refused, repeated }: Sent,
  waits: Duration.Input = patience
) {
  yield* settled(service, waits)
  const rows = yield* Effect.forEach(accepted, (one) => shown(service, one), { concurrency: 4 })
  const counts = Effects.countIn(cluster)
  const confirmed = rows.filter(({ status }) => status === "confirmed").length
  tally.set("accepted", accepted.length)
  tally.set("sent again by the caller", repeated)
  tally.set(
    "signatures",
    rows.reduce((sum, { attempts = [] }) => sum + attempts.length, 0)
  )
  tally.set("expired", rows.filter(({ status }) => status === "expired").length)
  tally.expect(accepted.length > 0, "requests are accepted")
  tally.expect(refused.length === 0, `every request is accepted: ${refused[0]}`)
  const wrong = accepted.flatMap(({ slot }, index) => {
    const row = rows[index]
    const effects = counts.get(slot) ?? 0
    const isTrue =
      row?.status === "confirmed"
        ? effects === 1
        : effects === 0 && row?.status === "expired" && row.code === "blockhash_expired" && Effects.isFixed(slot)
    return isTrue ? [] : [{ slot, effects, row }]
  })
  tally.expect(
    wrong.length === 0,
    `the verdict of each is that of the chain: ${wrong.length} are not, such as ${JSON.stringify(wrong[0])}`
  )
  const effects = [...counts.values()].reduce((sum, one) => sum + one, 0)
  tally.expect(effects === confirmed, `the chain has the effects of ${confirmed} confirmed ones: ${effects}`)
  return rows
})
