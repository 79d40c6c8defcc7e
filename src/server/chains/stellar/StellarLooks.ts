// Looks: what one provider says about accounts, hashes and the contents of ledgers. Answers of two providers are never mixed.
import type { xdr as Xdr } from "@stellar/stellar-sdk/base"
import { Clock, Effect, Result } from "effect"
import type { AccountAt, Applied, LedgerPoint, Range, Scan, Use } from "../../../domain/transaction/stellar/Evidence.ts"
import { rpcFailure } from "../RpcFailure.ts"
import type { RpcFailure } from "../RpcFailure.ts"
import type { RpcNode } from "../RpcNode.ts"
import { accountsIn, keyOf } from "./StellarAccounts.ts"
import type { AccountEntry } from "./StellarAccounts.ts"
import * as Calls from "./StellarCalls.ts"
import type { Library } from "./StellarLibrary.ts"
import { keyAddress, partyOf } from "./StellarOperations.ts"
import { resultIn } from "./StellarResults.ts"
import { hashOf } from "./StellarSignatures.ts"

/** The newest ledger of a provider, and the oldest one that it keeps. */
export interface Newest {
  readonly ledger: LedgerPoint
  readonly oldestLedger: number
}

export const newest = (node: RpcNode): Effect.Effect<Newest, RpcFailure> =>
  Effect.map(node.call(Calls.newest), ({ latestLedger, latestLedgerCloseTime, oldestLedger }) => ({
    ledger: { number: latestLedger, closeTime: latestLedgerCloseTime },
    oldestLedger
  }))

/** Accounts at one ledger. Those that are not in it do not exist. */
export interface Accounts {
  /** `closeTime` is that of this ledger or of an earlier one. */
  readonly ledger: LedgerPoint
  readonly of: ReadonlyMap<string, AccountEntry>
}

/** Nothing is known of the close time of a ledger below the newest one: the first moment proves no death. */
const noTime = 0

/** `newest` was read before, from the same provider. Behind a load balancer, another node may answer, which is behind. */
export const accounts = Effect.fnUntraced(function* (
  lib: Library,
  node: RpcNode,
  addresses: ReadonlyArray<string>,
  { ledger }: Newest
) {
  const chunks = Array.from({ length: Math.ceil(addresses.length / Calls.maxKeys) }, (_, index) =>
    addresses.slice(index * Calls.maxKeys, (index + 1) * Calls.maxKeys)
  )
  const of = new Map<string, AccountEntry>()
  let number = Number.MAX_SAFE_INTEGER
  for (const chunk of chunks) {
    const answer = yield* node.call(Calls.ledgerEntries(chunk.map((address) => keyOf(lib, address))))
    const found = accountsIn(lib, answer, chunk)
    if (found === undefined) return yield* rpcFailure("invalid_answer").of("getLedgerEntries")
    for (const [address, account] of found) of.set(address, account)
    number = Math.min(number, answer.latestLedger)
  }
  const result: Accounts = {
    ledger: { number, closeTime: number >= ledger.number ? ledger.closeTime : noTime },
    of
  }
  return result
})

/** The account at the ledger of a look. */
export const accountAt = ({ ledger, of }: Accounts, address: string): AccountAt => {
  const account = of.get(address)
  return {
    ledger,
    ...(account === undefined ? {} : { sequence: account.sequence }),
    ...(account?.seqLedger === undefined ? {} : { seqLedger: account.seqLedger })
  }
}

/** What became of an envelope, if the provider has it. */
export const applied = Effect.fnUntraced(function* (lib: Library, node: RpcNode, hash: string) {
  const answer = yield* node.call(Calls.transaction(hash))
  if (answer.status === "NOT_FOUND") return undefined
  const { ledger, resultXdr: result, status } = answer
  const read = resultIn(lib, result)
  if (read === undefined) return yield* rpcFailure("invalid_answer").of("getTransaction")
  const { code, fee, inner, operations } = read
  const found: Applied = { hash, ledger, isSuccess: status === "SUCCESS", result, code: inner ?? code, operations, fee }
  return found
})

/** The pages that one scan reads at most: 200 transactions each. */
const maxPages = 500

/** Milliseconds of one scan. */
const scanBudget = 30_000

/** An account, and a sequence of it that something used. */
export interface Used {
  readonly account: string
  readonly sequence: bigint
}

/** Those of the hashes that belong to signatures that callers got. */
export type GivenAmong = (hashes: ReadonlyArray<string>) => Effect.Effect<ReadonlySet<string>>

/** A transaction without its fee bump, in any of the formats that ledgers contain. */
interface Plain {
  readonly source: string
  readonly sequence: bigint
  readonly operations: ReadonlyArray<Xdr.Operation>
  /** Undefined: the format from before protocol 13, which no fee bump contains. */
  readonly tx?: Xdr.Transaction
}

const plainOf = (tx: Xdr.Transaction): Plain => ({
  source: partyOf(tx.sourceAccount).address,
  sequence: tx.seqNum,
  operations: tx.operations,
  tx
})

/** Undefined: no XDR, or a format that the library does not know. */
const plainIn = (lib: Library, text: string): Plain | undefined => {
  const envelope = Result.getOrUndefined(Result.try(() => lib.xdr.TransactionEnvelope.fromXdr(text, "base64")))
  switch (envelope?.type) {
    case "envelopeTypeTx":
      return plainOf(envelope.v1.tx)
    case "envelopeTypeTxFeeBump":
      return plainOf(envelope.feeBump.tx.innerTx.v1.tx)
    case "envelopeTypeTxV0": {
      const { operations, seqNum, sourceAccountEd25519 } = envelope.v0.tx
      return { source: lib.StrKey.encodeEd25519PublicKey(sourceAccountEd25519.value), sequence: seqNum, operations }
    }
    default:
      return undefined
  }
}

const isMove = ({ body, sourceAccount }: Xdr.Operation, source: string, account: string): boolean =>
  (body.type === "bumpSequence" || body.type === "accountMerge") &&
  (sourceAccount === null ? source : partyOf(sourceAccount).address) === account

/** The changes of entries by operations. A transaction that failed has none. */
const changesIn = (lib: Library, meta: string): ReadonlyArray<Xdr.LedgerEntryChange> => {
  const read = Result.getOrUndefined(Result.try(() => lib.xdr.TransactionMeta.fromXdr(meta, "base64")))
  if (read === undefined) return []
  const operations: ReadonlyArray<Xdr.OperationMeta | Xdr.OperationMetaV2> =
    read.type === "operations" ? read.operations : read.value.operations
  return operations.flatMap(({ changes }) => changes)
}

const sequenceIn = ({ data }: Xdr.LedgerEntry, account: string): bigint | undefined =>
  data.type === "account" && keyAddress(data.account.accountId) === account ? data.account.seqNum : undefined

/**
 * Whether operations moved the account from below the sequence past it, or ended the account: no transaction has used the sequence, and none
 * will.
 */
const movesPast = (lib: Library, meta: string, { account, sequence }: Used): boolean => {
  let before: bigint | undefined
  for (const change of changesIn(lib, meta)) {
    const isBelow = before !== undefined && before < sequence
    switch (change.type) {
      case "ledgerEntryState":
        before = sequenceIn(change.state, account) ?? before
        break
      case "ledgerEntryUpdated": {
        const after = sequenceIn(change.updated, account)
        if (isBelow && after !== undefined && after >= sequence) return true
        before = after ?? before
        break
      }
      case "ledgerEntryRemoved": {
        const { removed } = change
        if (isBelow && removed.type === "account" && keyAddress(removed.account.accountId) === account) return true
      }
    }
  }
  return false
}

/** The hashes of a transaction, if it used the sequence or moved the account past it. */
const useIn = (
  lib: Library,
  { envelopeXdr, resultMetaXdr: meta = "", txHash }: Calls.Page["transactions"][number],
  used: Used,
  networkId: Uint8Array
): Use["hashes"] | undefined => {
  const plain = plainIn(lib, envelopeXdr)
  if (plain === undefined) return undefined
  const { operations, sequence, source, tx } = plain
  const isUse = source === used.account && sequence === used.sequence
  const isMoved = () =>
    operations.some((operation) => isMove(operation, source, used.account)) && movesPast(lib, meta, used)
  if (!isUse && !isMoved()) return undefined
  return tx === undefined ? [txHash] : [txHash, hashOf(networkId, tx.toXdr()).toString("hex")]
}

/**
 * Reads the transactions of ledgers until one has used the sequence. The number of the newest ledger in an answer does not say that its
 * transactions are shown, so that nothing follows if none is found.
 */
export const scan = Effect.fnUntraced(function* (
  lib: Library,
  node: RpcNode,
  networkId: Uint8Array,
  used: Used,
  { from, to }: Range,
  given: GivenAmong
) {
  const until = (yield* Clock.currentTimeMillis) + scanBudget
  let next: Parameters<typeof Calls.transactions>[0] = { ledger: from }
  for (let page = 0; page < maxPages && (yield* Clock.currentTimeMillis) < until; page++) {
    const { cursor, transactions }: Calls.Page = yield* node.call(Calls.transactions(next))
    for (const one of transactions) {
      const hashes = useIn(lib, one, used, networkId)
      if (hashes === undefined) continue
      const isGiven = (yield* given(hashes)).size > 0
      return { use: { hashes, ...(isGiven ? { isGiven } : {}) } } satisfies Scan
    }
    const last = transactions.at(-1)
    if (last === undefined || last.ledger > to) return {} satisfies Scan
    next = { cursor }
  }
  return { isCut: true } satisfies Scan
})
