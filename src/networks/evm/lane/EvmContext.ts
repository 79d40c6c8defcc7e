// What the parts of an evm lane share: its account, its providers, its signer, and what it remembers from poll to poll.
import { Effect, Redacted } from "effect"
import type { SignerId } from "../../../domain/signer/Signer.ts"
import type { Providers } from "../../../server/chains/Providers.ts"
import type { RpcNode } from "../../../server/chains/RpcNode.ts"
import { rememberedProviders, wrongKey } from "../../../server/lanes/LaneNetwork.ts"
import type {
  KeyOptions,
  LaneKeys,
  LaneRelayer,
  ProviderMemory,
  SigningFailed,
  Unsigned
} from "../../../server/lanes/LaneNetwork.ts"
import * as LocalKey from "../../../server/signers/backends/LocalKey.ts"
import type { Moment } from "../../core/TransactionValues.ts"
import * as EvmBytes from "../chain/EvmBytes.ts"
import type { EvmNodes, EvmProviders } from "../chain/EvmNodes.ts"
import { wireOf } from "../rules/Batch.ts"
import type { Absence, Evm, Request, RevertsNow, Seen } from "../rules/Evm.ts"
import { networkNumbers } from "../rules/EvmNumbers.ts"
import type { NetworkNumbers } from "../rules/EvmNumbers.ts"
import type { CountClaim, LaneView } from "../rules/LaneNonces.ts"

/** What a poll has seen of the account as a whole, without the parts about single transactions. */
export interface PollResult {
  /** The provider that answered. */
  readonly node: RpcNode
  readonly lane: LaneView
  /** Transactions of the account that are certainly in blocks which count as final. */
  readonly finalCount: number
  /** When the head was asked for. */
  readonly headAskedAt: Moment
  /** By number of the transaction. */
  readonly views: ReadonlyMap<number, Seen>
  /** For transactions without a nonce, and for final ones. */
  readonly base: Seen
}

/** What earlier polls of one set of providers have seen. Other sets do not see it, because a relayer's own URLs decide only about its rows. */
export interface Beliefs {
  /** A count that was not believed yet. */
  claim: CountClaim | undefined
  /** Transactions of the account that polls have proven to be in final blocks. */
  finalCount: number
  /** Since when a provider has had no opinion about a block. */
  readonly silences: Map<string, Moment>
  /** Nonces in final blocks whose transactions were compared with the ledger. */
  readonly explained: Set<number>
  /** Polls in a row in which a used nonce could not be explained. */
  unexplained: number
  /** The lowest used nonce that polls do not explain because indexes lag behind the count, and since when. */
  behind: { readonly nonce: number; readonly since: Moment } | undefined
  /** Polls in a row that did not show a transaction which has waited for longer than its patience. */
  blind: number
  /** The start of the database that the newest polls are younger than. */
  seenStart: Moment
  /** The first poll after a start of the database that no poll was younger than yet. */
  firstAfterStart: { readonly start: Moment; readonly at: Moment; readonly head: string } | undefined
}

interface Balance {
  readonly wei: bigint
  readonly readAt: Moment
  /** The most wei that polls since then had in flight. */
  inFlight: bigint
}

/** What an answer of a provider said about a version of a request. */
interface RevertsAt {
  readonly height: number
  readonly version: number
  readonly found: RevertsNow
}

export interface EvmMemory extends ProviderMemory<EvmProviders> {
  /** The balance when it was last read. Undefined: it was not read yet. */
  balance: Balance | undefined
  /** What polls of each provider missed, by hash and then by URL: what one provider does not show says nothing about another one. */
  readonly absences: Map<string, Map<string, Absence>>
  /** URLs of providers that have bytes which they do not show by hash. That they show none is no sign that bytes are gone. */
  readonly hidesPool: Set<string>
  /** Since when no poll shows what used the nonce of a transaction, because indexes lag behind the count. By number. */
  readonly behind: Map<number, Moment>
  /** Masked URLs of the providers that accepted bytes that were sent again, by hash. */
  readonly acceptedBy: Map<string, ReadonlySet<string>>
  /** Private providers, by their URLs as JSON. */
  readonly privately: Map<string, Providers>
  /** By number, the hash of private bytes that a normal provider was asked for, because its pool counts more transactions than blocks have. */
  readonly leakAsked: Map<number, string>
  /** What the newest version of a private transaction would do at a height, by number. */
  readonly reverts: Map<number, RevertsAt>
  /** Code of the account itself, as the newest poll has read it. Undefined: not asked yet. */
  accountCode: { readonly code: string; readonly readAt: Moment } | undefined
  /** Wei that a rollup charged besides gas, according to the receipt that was read last. */
  lastRollupFee: bigint | undefined
  /** The highest tip that the chain did not take although there was room, in wei per gas, and when that was seen last. */
  passedOver: { readonly tip: bigint; readonly at: Moment } | undefined
  /** What earlier polls saw of each set of providers, by `LaneRelayer.urlsKey`. */
  readonly beliefs: Map<string, Beliefs>
  /** The newest poll, by `LaneRelayer.urlsKey`. */
  polls: ReadonlyMap<string, PollResult>
}

export const makeMemory = (genesis: string | undefined): EvmMemory => ({
  genesis,
  balance: undefined,
  absences: new Map(),
  hidesPool: new Set(),
  behind: new Map(),
  acceptedBy: new Map(),
  accountCode: undefined,
  lastRollupFee: undefined,
  passedOver: undefined,
  providers: new Map(),
  privately: new Map(),
  leakAsked: new Map(),
  reverts: new Map(),
  beliefs: new Map(),
  polls: new Map()
})

const noBeliefs = (): Beliefs => ({
  claim: undefined,
  finalCount: 0,
  silences: new Map(),
  explained: new Set(),
  unexplained: 0,
  behind: undefined,
  blind: 0,
  seenStart: -Infinity,
  firstAfterStart: undefined
})

export const beliefsOf = ({ beliefs }: EvmMemory, urlsKey: string): Beliefs => {
  const found = beliefs.get(urlsKey) ?? noBeliefs()
  beliefs.set(urlsKey, found)
  return found
}

export interface EvmContext {
  /** Lower-case hex. */
  readonly address: string
  readonly nodes: EvmNodes["Service"]
  readonly memory: EvmMemory
}

export type EvmRelayer = LaneRelayer<Evm>

export const numbersOf = ({ target }: EvmRelayer): NetworkNumbers => networkNumbers(target.network)

/** The providers of a relayer. */
export const providersOf = ({ memory, nodes }: EvmContext, relayer: EvmRelayer) => {
  const { genesis } = memory
  const identity = { chainId: numbersOf(relayer).chainId, ...(genesis === undefined ? {} : { genesis }) }
  return rememberedProviders(memory, relayer.urlsKey, nodes.providers(relayer.urls, identity))
}

/** The private providers of a relayer. */
export const privateProvidersOf = Effect.fnUntraced(function* ({ memory, nodes }: EvmContext, relayer: EvmRelayer) {
  const { privateUrls = [] } = relayer
  const key = JSON.stringify(privateUrls)
  const found = memory.privately.get(key)
  if (found !== undefined) return found
  const made = yield* nodes.privateProviders(privateUrls, numbersOf(relayer).chainId)
  memory.privately.set(key, made)
  return made
})

// Signs evm transactions: the digest of the unsigned transaction, by the key of the relayer, sealed with the signature.

/** A no-op sends nothing to the account itself. */
export const noopRequest = (address: string): Request => ({ to: address, value: 0n })

export const unsignedTransactionOf = ({
  lane,
  relayer,
  request,
  place,
  sign
}: Pick<Unsigned<Evm>, "lane" | "relayer" | "request" | "place" | "sign">): EvmBytes.Unsigned => {
  const [{ address }] = lane.accounts
  const { authorization_list: list } = request ?? noopRequest(address)
  const { to, value, data } = wireOf(request ?? noopRequest(address), address)
  const { fees, gasLimit } = sign.offer
  return {
    chainId: numbersOf(relayer).chainId,
    nonce: Number(place.sequence),
    fees,
    gasLimit,
    value,
    ...(to === undefined ? {} : { to }),
    ...(data === undefined ? {} : { data }),
    ...(list === undefined ? {} : { authorizations: list })
  }
}

export interface EvmSigner {
  /** `delegate`: the transaction carries an authorization of the account itself, at the nonce after its own. */
  sign(
    signerId: SignerId,
    unsigned: EvmBytes.Unsigned,
    delegate?: string
  ): Effect.Effect<EvmBytes.SealedTransaction, SigningFailed>
}

/** With this id an operator finds the signature of a transaction in the log of the key service. */
const logRequest = (signerId: SignerId, { hash }: EvmBytes.SealedTransaction, requestId: string) =>
  Effect.annotateLogs(Effect.logDebug("transaction signed by a key service"), {
    signer_id: signerId,
    hash,
    key_service_request_id: requestId
  })

/** `address`: the account of the lane, in lower case. A signature of another key would be a transaction of another account. */
export const makeSigner = (keysOf: (options: KeyOptions) => LaneKeys, address: string): EvmSigner => {
  const keys = keysOf({
    curve: "secp256k1",
    isOwn: (publicKey) => Effect.map(EvmBytes.addressOf(publicKey), (own) => own === address)
  })

  const signDigest = Effect.fnUntraced(function* (signerId: SignerId, digest: Uint8Array) {
    const { signature, isChecked, requestId } = yield* keys.sign(signerId, digest)
    if (!isChecked && (yield* EvmBytes.signerOf(digest, signature)) !== address) return yield* wrongKey()
    return { signature, requestId }
  })

  /** The sender's nonce rises before the authorization is looked at (EIP-7702). */
  const authorized = Effect.fnUntraced(function* (signerId: SignerId, unsigned: EvmBytes.Unsigned, delegate: string) {
    const entry = { chainId: unsigned.chainId, address: delegate, nonce: unsigned.nonce + 1 }
    const sign = (digest: Uint8Array) => Effect.map(signDigest(signerId, digest), ({ signature }) => signature)
    return { ...unsigned, authorizations: [yield* EvmBytes.authorize(entry, sign)] }
  })

  const sign: EvmSigner["sign"] = Effect.fn("EvmSigner.sign")(function* (signerId, given, delegate) {
    const unsigned = delegate === undefined ? given : yield* authorized(signerId, given, delegate)
    const { signature, requestId } = yield* signDigest(signerId, yield* EvmBytes.digestOf(unsigned))
    const signed = yield* EvmBytes.seal(unsigned, signature)
    if (requestId !== undefined) yield* logRequest(signerId, signed, requestId)
    return signed
  })

  return { sign }
}

// Loads the modules and tables that the first signature of a process would wait for.

/** The private key 1. No relayer uses its account. */
const warmUpKey = LocalKey.make(Redacted.make(`0x${"1".padStart(64, "0")}`))

const neverSent: EvmBytes.Unsigned = {
  chainId: 1,
  nonce: 0,
  to: `0x${"00".repeat(20)}`,
  value: 0n,
  gasLimit: 21_000n,
  fees: { type: "eip1559", maxFee: 1n, tip: 1n }
}

/** Loads the libraries that encode and sign, and compiles what they need, for a transaction that is never sent. */
export const warmUpSigner = Effect.gen(function* () {
  const digest = yield* EvmBytes.digestOf(neverSent)
  return yield* EvmBytes.seal(neverSent, yield* warmUpKey.sign("secp256k1", digest))
})
