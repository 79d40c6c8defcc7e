// Records what callers did to transactions and to nonces. Call data can be secret: it stays out of the audit log.
import { Effect } from "effect"
import type { Rules } from "../../../domain/transaction/Rules.ts"
import { newestRequest } from "../../../domain/transaction/Transaction.ts"
import { Audit } from "../../audit/Audit.ts"
import type { EncodedChange } from "../../audit/Audit.ts"
import * as Origin from "../../responses/Origin.ts"
import { LedgerRules } from "../LedgerRules.ts"
import type { Account } from "../NewTransaction.ts"
import type { StoredTransaction } from "../StoredTransaction.ts"

type TransactionAction = "transaction.sent" | "transaction.replaced" | "transaction.canceled"
type NonceAction = "nonce.resynced" | "nonce.cleared" | "nonce.generation_begun"

/** A number, or a text of digits if a reader of JSON would lose some of them, as with those of stellar. */
export const sequenceOf = (sequence: bigint): number | string =>
  sequence <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(sequence) : String(sequence)

const textOf = (rules: Rules, { id, relayerId, externalId, transaction }: StoredTransaction): string => {
  const { state: status, place, intent, attempts } = transaction
  const nonce = place?.sequence === undefined ? undefined : sequenceOf(place.sequence)
  const hash = attempts.at(-1)?.hash
  return JSON.stringify({
    id,
    relayer_id: relayerId,
    external_id: externalId,
    ...rules.auditedOf(newestRequest(transaction)),
    status,
    nonce,
    hash,
    is_canceled: intent === "cancel" || status === "canceled"
  })
}

export const make = Effect.gen(function* () {
  const networks = yield* LedgerRules

  /** `before` is absent if the transaction was accepted. */
  const changeOf = (
    action: TransactionAction,
    { before, after }: { readonly before?: StoredTransaction; readonly after: StoredTransaction },
    origin: Origin.Origin
  ): EncodedChange => {
    const { rules } = networks.of(after.chain)
    return {
      action,
      id: after.id,
      ...(before === undefined ? {} : { before: textOf(rules, before) }),
      after: textOf(rules, after),
      origin
    }
  }

  return { changeOf }
})

/** Records an operator's command. `done` says what it did. */
export const nonces = Effect.map(
  Audit,
  (audit) => (action: NonceAction, account: Account, done: Readonly<Record<string, unknown>>) =>
    Effect.flatMap(Origin.current, (origin) => {
      const { relayerId, chain, address } = account
      const after = JSON.stringify({ relayer_id: relayerId, chain, address, ...done })
      return audit.recordMany([{ action, id: relayerId, after, origin }])
    })
)
