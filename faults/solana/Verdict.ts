// What became of transactions of solana: all are final, and the effects on the chain are those of the confirmed ones, once each.
import { Effect } from "effect"
import type { Duration } from "effect"
import type { Listening } from "../../testkit/process/Service.ts"
import type { Tally } from "../Case.ts"
import type { Accepted } from "../sending/Load.ts"
import { settled, shown } from "../sending/Verdict.ts"
import type { Shown } from "../sending/Verdict.ts"
import type { Blocks } from "../../testkit/solana/Cluster.ts"
import { sharedFor } from "../../src/networks/solana/rules/SolanaNumbers.ts"
import { finality, life } from "../../testkit/solana/Cluster.ts"
import type { Chain } from "./Chain.ts"
import * as Effects from "./Effects.ts"

interface Sent {
  readonly accepted: ReadonlyArray<Accepted>
  readonly refused: ReadonlyArray<string>
  readonly repeated: number
}

/** Bytes die, and are proven dead, several times before a transaction lands. */
const patience = "8 minutes"

export type Rows = ReadonlyArray<Pick<Shown, "attempts">>

/**
 * Transactions with new bytes whose blockhash existed while the bytes before could still land: they were signed without a proof, which is
 * a final block above the last one in which they could land. Blockhashes of blocks that a fork dropped say nothing. On a chain whose blocks are so fast that
 * a blockhash which a lane shares is older than final blocks, it may have existed before the proof.
 */
export const signedTooEarly = (blocks: Blocks, rows: Rows, blockMillis: number) => {
  const before = Math.max(0, Math.ceil(sharedFor.blockhash / blockMillis) - finality)
  const heights = new Map(blocks.map(({ blockhash, height }) => [blockhash, height]))
  return rows.filter(({ attempts = [] }) =>
    attempts.slice(1).some(({ blockhash = "" }, index) => {
      const [old, born] = [heights.get(attempts[index]?.blockhash ?? ""), heights.get(blockhash)]
      return old !== undefined && born !== undefined && born + before <= old + life + 1
    })
  )
}

/** Bytes that were signed after the first ones. */
export const refreshesOf = (rows: Rows): number =>
  rows.reduce((sum, { attempts = [] }) => sum + Math.max(0, attempts.length - 1), 0)

/** Every accepted request has one effect, or, if its bytes may not be changed, none and the verdict `expired`. */
export const check = Effect.fnUntraced(function* (
  tally: Tally,
  { blockMillis, cluster }: Chain,
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
  tally.set("refreshes", refreshesOf(rows))
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
  const early = signedTooEarly(cluster.blocks, rows, blockMillis)
  tally.expect(
    early.length === 0,
    `new bytes are signed when the old ones are dead: ${early.length} are not, such as ${JSON.stringify(early[0])}`
  )
  const effects = [...counts.values()].reduce((sum, one) => sum + one, 0)
  tally.expect(effects === confirmed, `the chain has the effects of ${confirmed} confirmed ones: ${effects}`)
  return rows
})
