// Transactions of the ledger as responses show them.
import { Effect } from "effect"
import type { ShownTransaction } from "../../domain/transaction/Family.ts"
import { shownAttempt } from "../../domain/transaction/Presentation.ts"
import type { Identity } from "../../domain/transaction/Presentation.ts"
import { Ledger } from "../ledger/Ledger.ts"
import type { Bytes, StoredTransaction } from "../ledger/StoredTransaction.ts"
import { LedgerRules } from "../ledger/LedgerRules.ts"

const keyOf = ({ id, ordinal }: Pick<Bytes, "id" | "ordinal">): string => `${id}/${ordinal}`

type Extent = Pick<Identity, "isWhole">

const shownBytes = ({ id, transaction }: StoredTransaction) => {
  const attempt = shownAttempt(transaction)
  return attempt === undefined ? [] : [{ id, ordinal: attempt.ordinal }]
}

export const make = Effect.gen(function* () {
  const ledger = yield* Ledger
  const networks = yield* LedgerRules

  const viewOf = (stored: StoredTransaction & Extent, raw: Uint8Array | undefined): ShownTransaction =>
    networks.of(stored.chain).rules.show(stored.transaction, stored, raw)

  const many = Effect.fnUntraced(function* (stored: ReadonlyArray<StoredTransaction & Extent>) {
    const wanted = stored.flatMap(shownBytes)
    const found = wanted.length === 0 ? [] : yield* ledger.bytes(wanted)
    const raws = new Map(found.map((bytes) => [keyOf(bytes), bytes.raw]))
    return stored.map((one) => viewOf(one, shownBytes(one).map((bytes) => raws.get(keyOf(bytes)))[0]))
  })

  /** The view with the large parts that lists leave out. */
  const one = (stored: StoredTransaction) => {
    const whole = { ...stored, isWhole: true }
    return Effect.map(many([whole]), ([view]) => view ?? viewOf(whole, undefined))
  }

  return { one, many }
})
