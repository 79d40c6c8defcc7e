// Looks: what one provider says about accounts, hashes and the contents of ledgers. Answers of two providers are never mixed.
import type { xdr as Xdr } from "@stellar/stellar-sdk/base"
import { Effect, Result } from "effect"
import type { AccountAt, Applied, LedgerPoint, Range, Scan } from "../../../domain/transaction/stellar/Evidence.ts"
import { present } from "../../../domain/transaction/Presentation.ts"
import * as RpcFailure from "../RpcFailure.ts"
import type { RpcNode } from "../RpcNode.ts"
import { accountsIn, keyOf } from "./StellarAccounts.ts"
import type { AccountEntry } from "./StellarAccounts.ts"
import * as Calls from "./StellarCalls.ts"
import type { Library } from "./StellarLibrary.ts"
import { partyOf } from "./StellarOperations.ts"
import { resultIn } from "./StellarResults.ts"
import { hashOf } from "./StellarSignatures.ts"

/** The newest ledger of a provider, and the oldest one that it keeps. */
export interface Newest {
  readonly ledger: LedgerPoint
  readonly oldestLedger: number
}

export const newest = (node: RpcNode): Effect.Effect<Newest, RpcFailure.RpcFailure> =>
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
    if (found === undefined) return yield* RpcFailure.failure("invalid_answer").of("getLedgerEntries")
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
  if (read === undefined) return yield* RpcFailure.failure("invalid_answer").of("getTransaction")
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

interface Content {
  readonly hashes: ReadonlyArray<string>
  readonly isUse: boolean
}

const v1In = (envelope: Xdr.TransactionEnvelope): Xdr.Transaction | undefined => {
  if (envelope.type === "envelopeTypeTx") return envelope.v1.tx
  return envelope.type === "envelopeTypeTxFeeBump" ? envelope.feeBump.tx.innerTx.v1.tx : undefined
}

/** A transaction of a ledger: its hashes, with that inside of a fee bump, and whether it used the sequence. */
const contentOf = (
  lib: Library,
  { envelopeXdr, txHash }: Calls.Page["transactions"][number],
  { account, sequence }: Used,
  networkId: Uint8Array
): Content => {
  const tx = Result.getOrUndefined(Result.try(() => v1In(lib.xdr.TransactionEnvelope.fromXdr(envelopeXdr, "base64"))))
  if (tx === undefined) return { hashes: [txHash], isUse: false }
  return {
    hashes: [txHash, hashOf(networkId, tx.toXdr()).toString("hex")],
    isUse: tx.seqNum === sequence && partyOf(tx.sourceAccount).address === account
  }
}

/** Reads the contents of ledgers, up to the end of the range or the first ledger that is past every envelope. */
export const scan = Effect.fnUntraced(
  function* (
    lib: Library,
    node: RpcNode,
    networkId: Uint8Array,
    used: Used,
    { from, to, maxTime }: Range & { readonly maxTime: bigint },
    given: GivenAmong
  ) {
    const hashes = new Set<string>()
    let use: ReadonlyArray<string> | undefined
    let covered = from - 1
    let passedMaxTime = false
    let next: Parameters<typeof Calls.transactions>[0] = { ledger: from }
    for (let page = 0; page < maxPages && covered < to && !passedMaxTime; page++) {
      const answer: Calls.Page = yield* node.call(Calls.transactions(next))
      for (const one of answer.transactions) {
        const content = contentOf(lib, one, used, networkId)
        for (const hash of content.hashes) hashes.add(hash)
        if (content.isUse) use ??= content.hashes
        passedMaxTime = passedMaxTime || BigInt(one.createdAt) > maxTime
      }
      const last = answer.transactions.at(-1)
      const isFull = answer.transactions.length >= Calls.maxPage
      // The last ledger of a full page may go on in the next one.
      covered = isFull ? Math.max(covered, (last?.ledger ?? from) - 1) : answer.latestLedger
      if (!isFull) break
      next = { cursor: answer.cursor }
    }
    const scanned: Scan = {
      fromLedger: from,
      toLedger: covered,
      passedMaxTime,
      hashes,
      ...present("foreign", use?.[0]),
      ...(use !== undefined && (yield* given(use)).size > 0 ? { isGiven: true } : {})
    }
    return scanned
  },
  Effect.timeoutOrElse({
    duration: scanBudget,
    orElse: () => Effect.fail(RpcFailure.failure("unreachable").of("getTransactions"))
  })
)
