// What a poll sees of the network in memory: what each provider says of the account, and what a signature needs to know.
import { Result } from "effect"
import { maskUrl } from "../../domain/chain/Rpc.ts"
import { present } from "../../networks/core/Presentation.ts"
import { newestRequest } from "../../networks/core/Transaction.ts"
import type { Transaction } from "../../networks/core/Transaction.ts"
import type { Moment } from "../../networks/core/TransactionValues.ts"
import { sendsOf } from "../../networks/stellar/rules/Envelope.ts"
import type { GuardTerms, TransactionEnvelope } from "../../networks/stellar/rules/Envelope.ts"
import { guard } from "../../networks/stellar/rules/Guard.ts"
import { sequenceOf, watchedOf } from "../../networks/stellar/rules/Proving.ts"
import type { Stellar, StellarRequest, StellarTarget } from "../../networks/stellar/rules/Stellar.ts"
import { baseReserve } from "../../networks/stellar/rules/StellarNumbers.ts"
import type {
  AccountAt,
  AccountEntry,
  Applied,
  LedgerScan,
  Preparation,
  ProviderLook,
  StellarSeen
} from "../../networks/stellar/rules/StellarSeen.ts"
import { guardTermsOf } from "../../networks/stellar/rules/StellarTerms.ts"
import { accountMeantBy } from "../../domain/chain/StrKey.ts"
import { headOf } from "../chain/Blocks.ts"
import { findIn, sequenceIn } from "./Chain.ts"
import type { Chain, Found, Provider } from "./Chain.ts"
import { resultOf } from "./Wire.ts"
import type { PaymentCode, ResultCode, Unsigned } from "./Wire.ts"

/** One account on the network, as polls ask about it. */
export interface Account {
  readonly chain: Chain
  readonly address: string
  /** Stroops per operation, as the network has voted. */
  readonly baseFee: bigint
}

/** What a lane remembers from poll to poll. */
export interface Memory {
  polledSince: Moment
  /** The newest ledger that was seen, and since when. */
  newest: { readonly number: number; readonly since: Moment }
  /** Since when only one of two providers answers. */
  aloneSince: Moment | undefined
}

/** The names of what a ledger says of an envelope and its payments. */
export const outcomeOf = ({
  bytes,
  isSuccess
}: Found): { readonly code: ResultCode; readonly operations: ReadonlyArray<PaymentCode> } => ({
  code: isSuccess ? "txSuccess" : "txFailed",
  operations: bytes.payments.map(() => (isSuccess ? "paymentSuccess" : "paymentNoDestination"))
})

const appliedOf = ({ chain }: Account, found: Found): Applied => {
  const { code, operations } = outcomeOf(found)
  const fee = chain.feeOf(found.bytes)
  return {
    hash: found.bytes.hash,
    ledger: found.block.number,
    isSuccess: found.isSuccess,
    result: Buffer.from(resultOf(code, fee, operations)).toString("base64"),
    code,
    operations,
    fee
  }
}

/** What a provider shows of the envelopes at the place of a transaction. */
const proofOf = (account: Account, provider: Provider, transaction: Transaction<Stellar>) => {
  const blocks = account.chain.shownBy(provider)
  const hashes = new Set(watchedOf(transaction).map(({ hash }) => hash))
  const found = findIn(blocks, ({ hash }) => hashes.has(hash))
  if (found !== undefined) return { found: appliedOf(account, found) }
  const sequence = sequenceOf(transaction)
  const used = findIn(blocks, (bytes) => bytes.source === account.address && bytes.sequence === sequence)
  const scan: LedgerScan = used === undefined ? {} : { use: { hashes: [used.bytes.hash] } }
  return { scan }
}

const entryOf = ({ chain, address }: Account, provider: Provider): AccountEntry => ({
  balance: chain.balanceIn(chain.shownBy(provider), address),
  sellingLiabilities: 0n,
  subentries: 0,
  sponsoring: 0,
  sponsored: 0,
  masterWeight: 1,
  mediumThreshold: 0
})

const lookOf = (account: Account, provider: Provider, transaction: Transaction<Stellar> | undefined): ProviderLook => {
  const host = maskUrl(provider.url)
  if (provider.isAway) return { host, isStalled: true, testimony: {} }
  const { address, chain } = account
  const blocks = chain.shownBy(provider)
  const { number } = headOf(blocks)
  const ledger = { number, closeTime: chain.closeTimeOf(number) }
  const { seqLedger, sequence } = sequenceIn(blocks, address)
  const at: AccountAt = { ledger, sequence, ...present("seqLedger", seqLedger === 0 ? undefined : seqLedger) }
  return {
    host,
    isStalled: false,
    newest: ledger,
    testimony: {
      account: at,
      oldestLedger: 0,
      ...(transaction === undefined ? {} : proofOf(account, provider, transaction))
    },
    payer: entryOf(account, provider)
  }
}

/** Sequences of the account at the providers that answer. */
export const sequencesOf = ({ address, chain }: Account): ReadonlyArray<bigint> =>
  chain.providers
    .filter(({ isAway }) => !isAway)
    .map((provider) => sequenceIn(chain.shownBy(provider), address).sequence)

/** The newest ledger of any provider, once for each poll. */
export const watch = ({ chain }: Account, memory: Memory, now: Moment): void => {
  const heard = chain.providers.filter(({ isAway }) => !isAway)
  const number = Math.max(0, ...heard.map((provider) => headOf(chain.shownBy(provider)).number))
  if (number > memory.newest.number) memory.newest = { number, since: now }
  const isAlone = heard.length === 1 && chain.providers.length > 1
  memory.aloneSince = isAlone ? (memory.aloneSince ?? now) : undefined
}

/** `proven`: the transaction whose proof is asked for. Undefined: all providers are away. */
export const see = (account: Account, memory: Memory, proven?: Transaction<Stellar>): StellarSeen | undefined => {
  const { providers } = account.chain
  if (providers.every(({ isAway }) => isAway)) return undefined
  return {
    _tag: "Seen",
    configured: providers.length,
    looks: providers.map((provider) => lookOf(account, provider, proven)),
    ...present("aloneSince", memory.aloneSince),
    polledSince: memory.polledSince,
    newestSince: memory.newest.since,
    ...(proven === undefined ? {} : { isProofAsked: true as const })
  }
}

// The payments of a request, as envelope and as what the guard reads.

/** Undefined: the request has something else. */
export const paymentsOf = ({ operations = [] }: StellarRequest): Unsigned["payments"] | undefined => {
  const payments = operations.flatMap((operation) =>
    operation.type === "payment" && operation.asset.type === "native"
      ? [{ to: operation.destination, value: operation.amount }]
      : []
  )
  return payments.length === operations.length ? payments : undefined
}

const partyOf = (address: string) => {
  const account = accountMeantBy(address) ?? address
  return { address: account, isMuxed: account !== address }
}

export const envelopeOf = (address: string, request: StellarRequest, fee: bigint): TransactionEnvelope => ({
  kind: "transaction",
  hash: "",
  source: partyOf(address),
  fee,
  sequence: 1n,
  preconditions: [],
  hasMemo: request.memo !== undefined && request.memo.type !== "none",
  operations: (paymentsOf(request) ?? []).map(({ to, value }) => ({
    type: "payment",
    destination: partyOf(to),
    asset: "native",
    amount: value
  })),
  signatureCount: 0,
  signatures: []
})

export const guardTerms = (
  target: StellarTarget,
  { max_fee }: StellarRequest,
  { baseFee, now }: { readonly baseFee: bigint; readonly now: Moment }
): GuardTerms => ({
  ...guardTermsOf(target, max_fee),
  relayer: target.relayer.address,
  own: new Set([target.relayer.address]),
  // The kit has no contracts.
  nativeContract: "",
  now: Math.floor(now / 1000),
  baseReserve,
  rate: baseFee
})

export const prepare = (
  { address, baseFee, chain }: Account,
  target: StellarTarget,
  transaction: Transaction<Stellar>,
  now: Moment
): Preparation => {
  const request = newestRequest(transaction)
  const envelope = envelopeOf(address, request, baseFee)
  const terms = guardTerms(target, request, { baseFee, now })
  const guarded = guard("operations", envelope, terms)
  return {
    operations: envelope.operations.length,
    out: sendsOf(envelope, terms).value,
    baseFee,
    stats: { p95: chain.price, p99: chain.price },
    ...(Result.isFailure(guarded) ? { broken: guarded.failure } : {})
  }
}
