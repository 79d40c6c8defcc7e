// Two transactions with the same bytes would be executed once, and both would be reported as confirmed. So only one of them is
// accepted.
import { Effect } from "effect"
import { TransactionConflict } from "../../../domain/transaction/Cancellation.ts"
import type { TransactionId } from "../../../domain/transaction/TransactionId.ts"
import type { Account } from "../NewTransaction.ts"
import * as IdentitiesRepo from "./IdentitiesRepo.ts"
import type { Identified, LaneIdentity, Rival } from "./IdentitiesRepo.ts"

/** The caller may not use other relayers: their transactions have no name here. */
const nameOf = ({ id, relayer_number }: Rival, relayerNumber: number): string =>
  relayer_number === relayerNumber ? `transaction ${id}` : "a transaction of another relayer"

/** A transaction of the same relayer has the bytes. */
export const sameBytes = (id: TransactionId) =>
  new TransactionConflict({ error: `already_accepted: transaction ${id} has the same bytes` })

export const conflictWith = (rival: Rival, relayerNumber: number): TransactionConflict => {
  const name = nameOf(rival, relayerNumber)
  return new TransactionConflict({
    error:
      rival.kind === "identity"
        ? `already_accepted: ${name} has the same bytes`
        : `sequence_in_use: ${name} uses the same sequence and is open`
  })
}

/** The first value that occurs twice. */
const twice = (values: ReadonlyArray<string | undefined>): string | undefined =>
  values.find((value, index) => value !== undefined && values.indexOf(value) < index)

/** Two of these cannot be accepted together. Undefined: all of them can. */
export const repeatedIn = (added: ReadonlyArray<Identified>): TransactionConflict | undefined => {
  if (twice(added.map(({ identity }) => identity)) !== undefined) {
    return new TransactionConflict({ error: "already_accepted: the request has the same bytes twice" })
  }
  if (twice(added.map(({ exclusive }) => exclusive)) !== undefined) {
    return new TransactionConflict({ error: "sequence_in_use: the request uses the same sequence twice" })
  }
  return undefined
}

export const make = Effect.gen(function* () {
  const repo = yield* IdentitiesRepo.make

  /** Fails if another transaction has the bytes of one of these, or if an open one excludes it. */
  const check = Effect.fnUntraced(function* (
    account: Pick<Account, "chain" | "address" | "relayerNumber">,
    added: ReadonlyArray<Identified>
  ) {
    const repeated = repeatedIn(added)
    if (repeated !== undefined) return yield* repeated
    const [rival] = yield* repo.rivals(account, added)
    if (rival !== undefined) return yield* conflictWith(rival, account.relayerNumber)
  })

  /** Fails if a transaction has the signature. The lane is locked, so that none gets it meanwhile. */
  const checkSignature = Effect.fnUntraced(function* (account: Account, hash: string) {
    const [rival] = yield* repo.signedAs(account, hash)
    if (rival !== undefined) return yield* conflictWith(rival, account.relayerNumber)
  })

  /** Until the running transaction ends. */
  const { lock } = repo

  /** Locks identities. Returns those that a stored transaction, an attempt, a given signature or another one of these has, too. */
  const lockDoubtful = Effect.fnUntraced(function* (added: ReadonlyArray<LaneIdentity>) {
    if (added.length === 0) return new Set<string>()
    const identities = added.map(({ identity }) => identity)
    yield* lock(identities)
    const repeated = identities.filter((identity, index) => identities.indexOf(identity) < index)
    return new Set([...repeated, ...(yield* repo.taken(added))])
  })

  return { check, checkSignature, lock, lockDoubtful }
})
