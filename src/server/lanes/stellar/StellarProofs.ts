// The question `proof`: what became of the envelopes of a transaction, of each provider by itself. The accounts were read before, and show
// that the sequence is used.
import { Clock, Effect, Result } from "effect"
import { isOurs, rangeOf } from "../../../domain/transaction/stellar/Evidence.ts"
import type { AccountAt, Applied, Scan, Use, Watched } from "../../../domain/transaction/stellar/Evidence.ts"
import type { Stellar } from "../../../domain/transaction/stellar/Stellar.ts"
import { library } from "../../chains/stellar/StellarLibrary.ts"
import type { Library } from "../../chains/stellar/StellarLibrary.ts"
import * as StellarLooks from "../../chains/stellar/StellarLooks.ts"
import { networkIdOf } from "../../chains/stellar/StellarSignatures.ts"
import { providersOf } from "./StellarContext.ts"
import type { Proof, StellarContext, StellarMemory } from "./StellarContext.ts"
import { accountOf, maxAsked } from "./StellarPolls.ts"
import { present } from "../../../domain/transaction/Presentation.ts"
import { currentAttempts } from "../../../domain/transaction/Transaction.ts"
import type { Moment } from "../../../domain/transaction/TransactionValues.ts"
import type { RpcNode } from "../../chains/RpcNode.ts"
import type { LaneRow } from "../LaneNetwork.ts"
import { cutScanPause, guestLedgers, proofPause } from "../../../domain/transaction/stellar/StellarNumbers.ts"
import { sequenceOf, watchedOf } from "../../../domain/transaction/stellar/Watched.ts"

const isUsed = ({ sequence }: AccountAt, wanted: bigint): boolean => sequence === undefined || sequence >= wanted

const findAmong = Effect.fnUntraced(function* (lib: Library, node: RpcNode, hashes: ReadonlySet<string>) {
  const found = yield* Effect.forEach(hashes, (hash) => StellarLooks.applied(lib, node, hash), {
    concurrency: "unbounded"
  })
  return found.find((one): one is Applied => one !== undefined)
})

/**
 * The first envelope that the provider has. At one sequence, at most one envelope is applied. Inner hashes are only asked for if the
 * provider has none of the envelopes: another sender may have paid for the inner one.
 */
const findAny = Effect.fnUntraced(function* (lib: Library, node: RpcNode, watched: ReadonlyArray<Watched>) {
  const found = yield* findAmong(lib, node, new Set(watched.map(({ hash }) => hash)))
  if (found !== undefined) return found
  return yield* findAmong(lib, node, new Set(watched.flatMap(({ innerHash }) => innerHash ?? [])))
})

interface Sought {
  readonly account: string
  readonly sequence: bigint
  readonly watched: ReadonlyArray<Watched>
  /** False: the envelope of a guest, for which the service has sent nothing. */
  readonly isSigned: boolean
  readonly networkId: Uint8Array
  readonly given: StellarLooks.GivenAmong
}

/** Absent: the range would need ledgers that the provider does not keep, or it did not answer. */
const scanOf = Effect.fnUntraced(function* (
  { cutScans }: StellarMemory,
  lib: Library,
  node: RpcNode,
  { account, given, isSigned, sequence, watched, networkId }: Sought,
  at: AccountAt,
  oldestLedger: number
) {
  const range = rangeOf(sequence, watched, at)
  // The service does not know since when the envelope of a guest exists.
  const from = isSigned ? range.from : Math.max(range.from, range.to - guestLedgers, oldestLedger)
  if (from < oldestLedger) return undefined
  const key = `${node.url} ${account} ${sequence}`
  const now = yield* Clock.currentTimeMillis
  const cutAt = cutScans.get(key)
  if (cutAt !== undefined && now < cutAt + cutScanPause) return { isCut: true } satisfies Scan
  const scanned: Scan | undefined = Result.getOrUndefined(
    yield* Effect.result(StellarLooks.scan(lib, node, networkId, { account, sequence }, { from, to: range.to }, given))
  )
  if (scanned?.isCut === true) cutScans.set(key, now)
  else cutScans.delete(key)
  return scanned
})

/** The look-up by hash of a transaction that a scan has found. `hash`: by which the service knows it. */
const ownIn = Effect.fnUntraced(function* (lib: Library, node: RpcNode, { hashes }: Use, watched: Sought["watched"]) {
  const known = new Set(watched.flatMap(({ hash, innerHash }) => [hash, innerHash]))
  const found = yield* StellarLooks.applied(lib, node, hashes[0])
  return found && { ...found, hash: hashes.find((hash) => known.has(hash)) ?? found.hash }
})

/** What the provider says now. */
const askProof = Effect.fnUntraced(function* (
  memory: StellarMemory,
  lib: Library,
  node: RpcNode,
  sought: Sought,
  at: AccountAt,
  oldestLedger: number
) {
  const found = yield* findAny(lib, node, sought.watched)
  if (found !== undefined) return { found } satisfies Proof
  const scan = yield* scanOf(memory, lib, node, sought, at, oldestLedger)
  const own =
    scan?.use !== undefined && isOurs(scan.use, sought.watched)
      ? yield* ownIn(lib, node, scan.use, sought.watched)
      : undefined
  return (own === undefined ? { ...present("scan", scan) } : { found: own }) satisfies Proof
})

/** Milliseconds after which a provider is asked again that was asked so many times: its index may be behind, or another provider's. */
const pauseAfter = (times: number): number => Math.min(proofPause.longest, proofPause.first * 2 ** (times - 1))

/** What nobody has asked for in a long time is forgotten. */
const forget = ({ proofs }: StellarMemory, now: Moment): void => {
  for (const [key, { at }] of proofs) if (now > at + proofPause.forgotten) proofs.delete(key)
}

/** While a transaction is not decided, a provider is asked again after a pause, which grows. Meanwhile, what it said counts. */
const proofBy = Effect.fnUntraced(function* ({ memory }: StellarContext, lib: Library, node: RpcNode, sought: Sought) {
  const sighting = memory.sightings.get(node.url)
  if (sighting === undefined) return undefined
  const at = StellarLooks.accountAt(sighting.accounts, sought.account)
  if (!isUsed(at, sought.sequence)) return undefined
  const key = [node.url, sought.account, sought.sequence, ...sought.watched.map(({ hash }) => hash)].join(" ")
  const now = yield* Clock.currentTimeMillis
  forget(memory, now)
  const former = memory.proofs.get(key)
  if (former !== undefined && now < former.at + pauseAfter(former.times)) {
    return former.proof
  }
  const times = (former?.times ?? 0) + 1
  memory.proofs.set(key, { at: now, times, proof: {} })
  const proof: Proof = yield* askProof(memory, lib, node, sought, at, sighting.newest.oldestLedger)
  memory.proofs.set(key, { at: now, times, proof })
  return proof
})

/** Asks the providers that were polled about one transaction. By URL. */
export const prove = Effect.fn("StellarProofs.prove")(function* (
  context: StellarContext,
  { transaction, relayer }: LaneRow<Stellar>,
  given: StellarLooks.GivenAmong
) {
  const proofs = new Map<string, Proof>()
  const sequence = sequenceOf(transaction)
  if (sequence === undefined) return proofs
  const lib = yield* library
  const sought: Sought = {
    account: accountOf(context.address, transaction),
    sequence,
    watched: watchedOf(transaction),
    isSigned: currentAttempts(transaction).length > 0,
    networkId: networkIdOf(relayer.target.network.passphrase),
    given
  }
  const providers = yield* providersOf(context, relayer)
  const opinions = yield* providers.opinions(maxAsked, (node) => proofBy(context, lib, node, sought))
  for (const { url, result } of opinions) {
    if (Result.isSuccess(result) && result.success !== undefined) proofs.set(url, result.success)
  }
  return proofs
})
