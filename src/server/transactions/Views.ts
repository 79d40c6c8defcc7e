// Transactions of the ledger as responses show them.
import { Effect } from "effect"
import type { EvmTransaction } from "../../domain/transaction/EvmTransaction.ts"
import { responseOf, shownAttempt } from "../../domain/transaction/Presentation.ts"
import { Ledger } from "../ledger/Ledger.ts"
import type { Bytes, StoredTransaction } from "../ledger/StoredTransaction.ts"
import { signatureOf } from "./SignedBytes.ts"

const keyOf = ({ id, ordinal }: Pick<Bytes, "id" | "ordinal">): string => `${id}/${ordinal}`

const shownBytes = ({ id, transaction }: StoredTransaction) => {
  const attempt = shownAttempt(transaction)
  return attempt === undefined ? [] : [{ id, ordinal: attempt.ordinal }]
}

const viewOf = (stored: StoredTransaction, raw: Uint8Array | undefined): EvmTransaction => {
  const { id, relayerId, from, externalId, confirmedAt, transaction } = stored
  return responseOf(transaction, {
    id,
    relayerId,
    from,
    ...(externalId === undefined ? {} : { externalId }),
    ...(confirmedAt === undefined ? {} : { confirmedAt }),
    ...(raw === undefined ? {} : { signature: signatureOf(raw) })
  })
}

export const make = Effect.gen(function* () {
  const ledger = yield* Ledger

  const many = Effect.fnUntraced(function* (stored: ReadonlyArray<StoredTransaction>) {
    const wanted = stored.flatMap(shownBytes)
    const found = wanted.length === 0 ? [] : yield* ledger.bytes(wanted)
    const raws = new Map(found.map((bytes) => [keyOf(bytes), bytes.raw]))
    return stored.map((one) => viewOf(one, shownBytes(one).map((bytes) => raws.get(keyOf(bytes)))[0]))
  })

  const one = (stored: StoredTransaction) => Effect.map(many([stored]), ([view]) => view ?? viewOf(stored, undefined))

  return { one, many }
})
