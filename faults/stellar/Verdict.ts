// What became of transactions of stellar: all are confirmed, each payment is in the ledgers once, and sequences have no holes.
import { Effect } from "effect"
import type { Listening } from "../../testkit/process/Service.ts"
import type { Tally } from "../Case.ts"
import type { Load } from "../sending/Load.ts"
import type { Relayer } from "../sending/Relayers.ts"
import { settled, shown } from "../sending/Verdict.ts"
import * as Chain from "./Chain.ts"

/** Envelopes die, and are proven dead, several times before one is applied. */
const patience = "8 minutes"

/** Sequences of an account that no transaction in a ledger has used, from 0 on. */
const withoutUse = (chain: Chain.Chain, address: string): bigint =>
  Chain.sequenceOf(chain, address) - BigInt(Chain.usesOf(chain, address))

/** For relayers and channels before a load, as `check` needs it. */
export const sequencesOf = (
  chain: Chain.Chain,
  accounts: ReadonlyArray<Pick<Relayer, "address">>
): ReadonlyMap<string, bigint> => new Map(accounts.map(({ address }) => [address, withoutUse(chain, address)]))

interface Checked {
  readonly chain: Chain.Chain
  readonly load: Load
  /** The result of `sequencesOf`. */
  readonly before: ReadonlyMap<string, bigint>
  /** Sequences that something else has used, in all. A transaction that collides with it for the fourth time fails without an effect. */
  readonly foreign?: number
}

/** Waits until all requests of a load are final, then checks them. */
export const check = Effect.fnUntraced(function* (
  tally: Tally,
  service: Listening,
  { before, chain, foreign = 0, load: { accepted, refused, repeated } }: Checked
) {
  yield* settled(service, patience)
  const rows = yield* Effect.forEach(accepted, (one) => shown(service, one), { concurrency: 4 })
  tally.set("accepted", accepted.length)
  tally.set("sent again by the caller", repeated)
  tally.set(
    "envelopes",
    rows.reduce((sum, { attempts = [] }) => sum + attempts.length, 0)
  )
  tally.expect(accepted.length > 0, "requests are accepted")
  tally.expect(refused.length === 0, `every request is accepted: ${refused[0]}`)
  const collided = rows.filter(({ code }) => foreign > 0 && code === "nonce_taken_too_often")
  const other = rows.filter((row) => row.status !== "confirmed" && !collided.includes(row))
  tally.expect(other.length === 0, `all are confirmed: ${other.length} are not, such as ${JSON.stringify(other[0])}`)
  if (foreign > 0) tally.set("collided four times", collided.length)
  const counts = Chain.countIn(chain)
  const wrong = accepted.filter(
    ({ slot }, index) => (counts.get(slot) ?? 0) !== (rows[index]?.status === "confirmed" ? 1 : 0)
  )
  tally.expect(
    wrong.length === 0,
    `each confirmed payment is made once, and no other: ${wrong.length} are not so, such as slot ${wrong[0]?.slot}`
  )
  const confirmed = rows.length - collided.length - other.length
  tally.expect(counts.size === confirmed, `the ledgers have ${confirmed} payments: ${counts.size}`)
  let unexplained = 0n
  for (const [address, unused] of before) unexplained += withoutUse(chain, address) - unused
  tally.expect(unexplained === 0n, `every sequence was used by a transaction in a ledger: ${unexplained} were not`)
  return rows
})
