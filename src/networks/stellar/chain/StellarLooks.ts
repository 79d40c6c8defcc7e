// Looks: what one provider says about accounts, trust lines, hashes and the contents of ledgers. Answers of two are never mixed.
import { Clock, Effect, Result } from "effect"
import type { xdr as Xdr } from "@stellar/stellar-sdk/base"
import type { Providers } from "../../../server/chains/Providers.ts"
import { rpcFailure } from "../../../server/chains/RpcFailure.ts"
import type { RpcFailure } from "../../../server/chains/RpcFailure.ts"
import type { RpcNode } from "../../../server/chains/RpcNode.ts"
import type { Credit, PaidAccounts, Trustline } from "../rules/SponsoredPayment.ts"
import type {
  AccountAt,
  AccountEntry as Entry,
  Applied,
  LedgerPoint,
  LedgerRange,
  LedgerScan,
  SequenceUse
} from "../rules/StellarSeen.ts"
import * as Calls from "./StellarCalls.ts"
import { resultIn } from "./StellarCalls.ts"
import type { Entries } from "./StellarCalls.ts"
import { keyAddress, partyOf } from "./StellarDecoding.ts"
import { hashOf, textOf } from "./StellarLibrary.ts"
import type { Library } from "./StellarLibrary.ts"

// Accounts as they are at one numbered ledger: what proofs, funds and signatures need to know of them.

/** The entry of an account, with its address and its sequence. */
export interface AccountEntry extends Entry {
  readonly address: string
  readonly sequence: bigint
  /** The ledger in which it used its sequence. Absent: the entry does not say so. */
  readonly seqLedger?: number
}

/** The key of an account's entry as base64. */
const keyOfAccount = (lib: Library, address: string): string => {
  const accountId = lib.Keypair.fromPublicKey(address).xdrPublicKey()
  return textOf(lib.xdr.LedgerKey.account(new lib.xdr.LedgerKeyAccount({ accountId })))
}

/** Undefined: another entry, or no XDR. */
const entryOf = (lib: Library, text: string): AccountEntry | undefined => {
  const data = lib.xdr.LedgerEntryData.fromXdr(text, "base64")
  if (data.type !== "account") return undefined
  const { accountId, balance, ext, numSubEntries, seqNum, thresholds } = data.account
  const v1 = ext.type === "v1" ? ext.v1 : undefined
  const v2 = v1?.ext.type === "v2" ? v1.ext.v2 : undefined
  const v3 = v2?.ext.type === "v3" ? v2.ext.v3 : undefined
  const [masterWeight = 0, , mediumThreshold = 0] = thresholds.value
  return {
    address: keyAddress(accountId),
    sequence: seqNum,
    ...(v3 === undefined || v3.seqLedger === 0 ? {} : { seqLedger: v3.seqLedger }),
    balance,
    sellingLiabilities: v1?.liabilities.selling ?? 0n,
    subentries: numSubEntries,
    sponsoring: v2?.numSponsoring ?? 0,
    sponsored: v2?.numSponsored ?? 0,
    masterWeight,
    mediumThreshold
  }
}

/**
 * The accounts of an answer by address. Those that were asked for and are not in it do not exist. Undefined: an entry is not an
 * account, or not the one that was asked for.
 */
const accountsIn = (
  lib: Library,
  { entries }: Entries,
  asked: ReadonlyArray<string>
): ReadonlyMap<string, AccountEntry> | undefined => {
  const found = new Map<string, AccountEntry>()
  try {
    for (const { xdr } of entries ?? []) {
      const entry = entryOf(lib, xdr)
      if (entry === undefined || !asked.includes(entry.address)) return undefined
      found.set(entry.address, entry)
    }
    return found
  } catch {
    return undefined
  }
}

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
    const answer = yield* node.call(Calls.ledgerEntries(chunk.map((address) => keyOfAccount(lib, address))))
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
): SequenceUse["hashes"] | undefined => {
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
  { from, to }: LedgerRange,
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
      return { use: { hashes, ...(isGiven ? { isGiven } : {}) } } satisfies LedgerScan
    }
    const last = transactions.at(-1)
    if (last === undefined || last.ledger > to) return {} satisfies LedgerScan
    next = { cursor }
  }
  return { isCut: true } satisfies LedgerScan
})

// Trust lines at one ledger: whether a user can pay in a credit, whether the relayer can receive it, and which contracts can make one.

/** `AUTHORIZED_FLAG` and `TRUSTLINE_CLAWBACK_ENABLED_FLAG` of a trust line, `AUTH_CLAWBACK_ENABLED_FLAG` of an account. */
const flags = { authorized: 1, lineClawback: 4, accountClawback: 8 } as const

const hasFlag = (value: number, flag: number): boolean => (value & flag) !== 0

const trustlineKeyOf = (lib: Library, address: string, { code, issuer }: Credit): string => {
  const accountId = lib.Keypair.fromPublicKey(address).xdrPublicKey()
  const asset = new lib.Asset(code, issuer).toTrustLineXDRObject()
  return textOf(lib.xdr.LedgerKey.trustline(new lib.xdr.LedgerKeyTrustLine({ accountId, asset })))
}

const lineOf = ({ balance, ext, flags: set, limit }: Xdr.TrustLineEntry): Trustline => {
  const { buying = 0n, selling = 0n } = ext.type === "v1" ? ext.v1.liabilities : {}
  return {
    balance,
    limit,
    buyingLiabilities: buying,
    sellingLiabilities: selling,
    isAuthorized: hasFlag(set, flags.authorized),
    hasClawback: hasFlag(set, flags.lineClawback)
  }
}

/** Issuers and holders of trust lines by address. Throws if an entry is not valid XDR. */
const entriesIn = (lib: Library, { entries }: Calls.Entries) => {
  const accounts = new Map<string, Xdr.AccountEntry>()
  const lines = new Map<string, Trustline>()
  for (const { xdr } of entries ?? []) {
    const data = lib.xdr.LedgerEntryData.fromXdr(xdr, "base64")
    if (data.type === "account") accounts.set(keyAddress(data.account.accountId), data.account)
    if (data.type === "trustline") lines.set(keyAddress(data.trustLine.accountId), lineOf(data.trustLine))
  }
  return { accounts, lines }
}

interface Holders {
  readonly relayer: string
  /** Absent: the user is not known yet. */
  readonly payer?: string
}

/** The accounts of a payment in a credit, from one provider at one ledger. */
export const paidAccounts = Effect.fnUntraced(function* (
  lib: Library,
  node: RpcNode,
  credit: Credit,
  { payer, relayer }: Holders
) {
  const { issuer } = credit
  const holders = [...new Set(payer === undefined ? [relayer] : [relayer, payer])].filter((one) => one !== issuer)
  const keys = [keyOfAccount(lib, issuer), ...holders.map((address) => trustlineKeyOf(lib, address, credit))]
  const answer = yield* node.call(Calls.ledgerEntries(keys))
  return yield* Effect.try({
    try: (): PaidAccounts => {
      const { accounts, lines } = entriesIn(lib, answer)
      const lineAt = (address = ""): PaidAccounts["payer"] => (address === issuer ? "issuer" : lines.get(address))
      const account = accounts.get(issuer)
      return {
        issuerClawsBack: account !== undefined && hasFlag(account.flags, flags.accountClawback),
        payer: lineAt(payer),
        relayer: lineAt(relayer)
      }
    },
    catch: () => rpcFailure("invalid_answer").of("getLedgerEntries")
  })
})

const instanceKeyOf = ({ Address, xdr }: Library, contract: string): string =>
  textOf(
    xdr.LedgerKey.contractData(
      new xdr.LedgerKeyContractData({
        contract: Address.fromString(contract).toScAddress(),
        key: xdr.ScVal.scvLedgerKeyContractInstance(),
        durability: xdr.ContractDataDurability.persistent
      })
    )
  )

/** The contract of an entry which says that it executes code of its own. That of an asset never does. */
const withCode = ({ Address, xdr }: Library, text: string): ReadonlyArray<string> => {
  const data = xdr.LedgerEntryData.fromXdr(text, "base64")
  if (data.type !== "contractData" || data.contractData.key.type !== "scvLedgerKeyContractInstance") return []
  const { contract, val } = data.contractData
  return val.type === "scvContractInstance" && val.instance.executable.type === "contractExecutableWasm"
    ? [Address.fromScAddress(contract).toString()]
    : []
}

/** Entries of one call at most: as many as stellar-rpc takes. */
const maxKeys = 200

/** Those of the contracts that may be contracts of assets: all of which no provider says that they execute other code. */
export const assetsAmong = Effect.fnUntraced(function* (
  lib: Library,
  { first }: Pick<Providers, "first">,
  contracts: ReadonlyArray<string>
): Effect.fn.Return<ReadonlySet<string>> {
  const asked = [...new Set(contracts)]
  if (asked.length === 0) return new Set()
  const keys = asked.slice(0, maxKeys).map((contract) => instanceKeyOf(lib, contract))
  const answer = yield* Effect.result(first((node) => node.call(Calls.ledgerEntries(keys))))
  const entries = Result.isSuccess(answer) ? (answer.success.entries ?? []) : []
  const others = new Set(
    Result.getOrElse(
      Result.try(() => entries.flatMap(({ xdr }) => withCode(lib, xdr))),
      () => []
    )
  )
  return new Set(asked.filter((contract) => !others.has(contract)))
})
