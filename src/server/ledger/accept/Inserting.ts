// Inserts accepted transactions with their lanes, audit records and events, in the running SQL transaction.
import { Array, Effect, Option } from "effect"
import { SqlClient } from "effect/sql"
import { Audit } from "../../audit/Audit.ts"
import type { Origin } from "../../responses/CurrentRequest.ts"
import { Holder } from "../Holder.ts"
import * as LanesRepo from "../hold/LanesRepo.ts"
import * as NewTransactionsRepo from "./NewTransactionsRepo.ts"
import { beginning } from "../../../domain/transaction/Transaction.ts"
import type { Account } from "../NewTransaction.ts"
import type { Acceptance, Inserted } from "./NewTransactionsRepo.ts"
import * as Writing from "../write/Writing.ts"
import type { StoredTransaction } from "../StoredTransaction.ts"

export const storedOf = (
  { account, transaction, origin, trace, now }: Acceptance,
  row: Inserted
): StoredTransaction => {
  const { id, request, validUntil, notBefore, requiredSequence, priority, externalId, fee } = transaction
  return {
    id,
    version: 1,
    laneId: row.lane_id,
    relayerId: account.relayerId,
    chain: account.chain,
    from: account.address,
    apiKeyId: origin.keyId,
    ...(origin.requestId === null ? {} : { requestId: origin.requestId }),
    ...(externalId === undefined ? {} : { externalId }),
    ...(trace === undefined ? {} : { trace }),
    ...(fee === undefined ? {} : { fee }),
    transaction: {
      ...beginning(
        {
          number: row.number,
          relayerNumber: account.relayerNumber,
          origin: "request",
          generation: row.generation,
          versions: [request],
          facts: transaction.facts,
          priority,
          validUntil
        },
        now
      ),
      ...(notBefore === undefined ? {} : { notBefore }),
      ...(requiredSequence === undefined ? {} : { requiredSequence })
    }
  }
}

const keyOf = ({ chain, address }: Account): string => `${chain} ${address}`

export const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const repo = yield* NewTransactionsRepo.make
  const lanes = yield* LanesRepo.make
  const audit = yield* Audit
  const { changeOf } = yield* Writing.auditing
  const publish = yield* Writing.publishing
  const holder = yield* Holder

  /** Lanes that are known to exist. The service never deletes a lane. */
  const known = new Set<string>()

  const ensureLanes = Effect.fnUntraced(function* (acceptances: ReadonlyArray<Acceptance>) {
    const missing = acceptances.map(({ account }) => account).filter((account) => !known.has(keyOf(account)))
    if (missing.length === 0) return
    yield* lanes.ensure(missing)
    yield* sql.afterCommit(Effect.sync(() => missing.forEach((account) => known.add(keyOf(account)))))
  })

  const record = Effect.fnUntraced(function* (
    accepted: ReadonlyArray<{ readonly stored: StoredTransaction; readonly origin: Origin }>
  ) {
    if (accepted.length === 0) return
    yield* audit.recordMany(
      accepted.map(({ stored, origin }) => changeOf("transaction.sent", { after: stored }, origin))
    )
    yield* publish(
      accepted.map(({ stored, origin }) => ({ type: "transaction.created", stored, requestId: origin.requestId }))
    )
    yield* holder.accepted(
      accepted.map(({ stored: { laneId, transaction } }) => ({ laneId, number: transaction.number }))
    )
  })

  /** In the order of the acceptances; none for those that were not inserted. */
  const insert = Effect.fnUntraced(function* (acceptances: ReadonlyArray<Acceptance>, waits: boolean) {
    yield* ensureLanes(acceptances)
    const rows = new Map((yield* repo.insert(acceptances, waits)).map((row) => [row.id, row]))
    const found = acceptances.map((acceptance) =>
      Option.map(Option.fromUndefinedOr(rows.get(acceptance.transaction.id)), (row) => storedOf(acceptance, row))
    )
    // Another program may have deleted the lane: the next insertion ensures that it exists.
    for (const [index, { account }] of acceptances.entries())
      if (found[index]?._tag === "None") known.delete(keyOf(account))
    yield* record(
      Array.getSomes(
        Array.zipWith(found, acceptances, (one, { origin }) => Option.map(one, (stored) => ({ stored, origin })))
      )
    )
    return found
  })

  return insert
})
