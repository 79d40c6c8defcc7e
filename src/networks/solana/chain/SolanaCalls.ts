// Nodes of solana clusters: the calls of their JSON-RPC that transactions need, the providers of a network, and their inspection.
import { Context, Effect, Predicate, Result, Schema } from "effect"
import { Uint64 } from "../../../domain/chain/Amount.ts"
import type { RpcConfig } from "../../../domain/chain/Rpc.ts"
import { minBalanceOf } from "../../../domain/health/Funding.ts"
import {
  balanceFailures,
  compareBalances,
  probeProviders,
  runInspection,
  wrongType
} from "../../../server/chains/Chains.ts"
import type { ChainKind, ProviderQuestions } from "../../../server/chains/Chains.ts"
import { makeProviders } from "../../../server/chains/Providers.ts"
import type { Providers } from "../../../server/chains/Providers.ts"
import type { RpcAnswer, RpcCall } from "../../../server/chains/RpcBatch.ts"
import { answeredFailure, rpcCheckCodes } from "../../../server/chains/RpcFailure.ts"
import type { RpcFailure } from "../../../server/chains/RpcFailure.ts"
import type { RpcDialect, RpcNode, TypedCall } from "../../../server/chains/RpcNode.ts"
import { RpcNodes } from "../../../server/chains/RpcNodes.ts"
import { highestVersion } from "../rules/Message.ts"
import type { NodeAnswer } from "../rules/Solana.ts"
import { listPage } from "../rules/SolanaNumbers.ts"

/** Slots and heights: JSON numbers are exact up to 2^53. */
const Height = Schema.Natural

const Base58Text = Schema.String.check(Schema.isPattern(/^[1-9A-HJ-NP-Za-km-z]{32,88}$/u, { expected: "base58" }))

const SlotContext = Schema.Struct({ slot: Height })

const inContext = <S extends Schema.Top>(value: S) => Schema.Struct({ context: SlotContext, value })

/** The error of a node that does not take a parameter, or the message that it stands for. */
export const invalidParams = -32_602

export type Commitment = "processed" | "confirmed" | "finalized"

/**
 * What the service reads before a signature: accounts, balances, blockhashes and simulations. It is the only place that names this
 * commitment, because later versions of Agave remove it: `adapting` of `SolanaCalls.ts`.
 */
export const readCommitment: Commitment = "confirmed"

/** A node whose bank at this commitment is below `minContextSlot` refuses to answer. */
const at = (commitment: Commitment, minContextSlot?: number) => ({
  commitment,
  ...(minContextSlot === undefined ? {} : { minContextSlot })
})

const genesisHash: TypedCall<string> = { method: "getGenesisHash", params: [], result: Base58Text }

export const epochInfo: TypedCall<{ readonly absoluteSlot: number; readonly blockHeight: number }> = {
  method: "getEpochInfo",
  params: [at("finalized")],
  result: Schema.Struct({ absoluteSlot: Height, blockHeight: Height })
}

export const blockHeight = (commitment: Commitment, minContextSlot?: number): TypedCall<number> => ({
  method: "getBlockHeight",
  params: [at(commitment, minContextSlot)],
  result: Height
})

const LatestBlockhash = inContext(Schema.Struct({ blockhash: Base58Text, lastValidBlockHeight: Height }))

export const latestBlockhash: TypedCall<typeof LatestBlockhash.Type> = {
  method: "getLatestBlockhash",
  params: [at(readCommitment)],
  result: LatestBlockhash
}

const Validity = inContext(Schema.Boolean)

export const isBlockhashValid = (
  blockhash: string,
  commitment: Commitment,
  minContextSlot?: number
): TypedCall<typeof Validity.Type> => ({
  method: "isBlockhashValid",
  params: [blockhash, at(commitment, minContextSlot)],
  result: Validity
})

const SignatureStatus = Schema.Struct({
  slot: Height,
  err: Schema.Unknown,
  confirmationStatus: Schema.Literals(["processed", "confirmed", "finalized"])
})

const Statuses = inContext(Schema.Array(Schema.NullOr(SignatureStatus)))

/** Without the search in history, a node only knows the newest 150 blocks. */
export const statuses = (signatures: ReadonlyArray<string>): TypedCall<typeof Statuses.Type> => ({
  method: "getSignatureStatuses",
  params: [signatures, { searchTransactionHistory: true }],
  result: Statuses
})

const Slots = Schema.Array(Height)

/** Slots of finalized blocks, upwards. */
export const blocksFrom = (slot: number, limit: number): TypedCall<typeof Slots.Type> => ({
  method: "getBlocksWithLimit",
  params: [slot, limit, at("finalized")],
  result: Slots
})

/** The same between two slots, both inclusive. */
export const blocksBetween = (from: number, to: number): TypedCall<typeof Slots.Type> => ({
  method: "getBlocks",
  params: [from, to, at("finalized")],
  result: Slots
})

const BlockSignatures = Schema.NullOr(
  Schema.Struct({ blockHeight: Schema.NullOr(Height), signatures: Schema.Array(Base58Text) })
)

/** Null: the node does not have the block. */
export const signaturesIn = (slot: number): TypedCall<typeof BlockSignatures.Type> => ({
  method: "getBlock",
  params: [
    slot,
    {
      ...at("finalized"),
      transactionDetails: "signatures",
      rewards: false,
      maxSupportedTransactionVersion: highestVersion
    }
  ],
  result: BlockSignatures
})

const Listed = Schema.Array(Schema.Struct({ signature: Base58Text, slot: Height }))

/** Newest first. `before`: only older ones than this signature. */
export const signaturesFor = (
  address: string,
  minContextSlot: number,
  before: string | undefined
): TypedCall<typeof Listed.Type> => ({
  method: "getSignaturesForAddress",
  params: [
    address,
    { ...at("finalized", minContextSlot), limit: listPage.entries, ...(before === undefined ? {} : { before }) }
  ],
  result: Listed
})

const LoadedAddresses = Schema.Struct({ writable: Schema.Array(Base58Text), readonly: Schema.Array(Base58Text) })

const Fetched = Schema.NullOr(
  Schema.Struct({
    slot: Height,
    /** Base64, and the name of the encoding. */
    transaction: Schema.Tuple([Schema.String, Schema.String]),
    meta: Schema.NullOr(
      Schema.Struct({
        fee: Uint64,
        loadedAddresses: Schema.optionalKey(LoadedAddresses)
      })
    )
  })
)

/** Null: this node does not have it. A node refuses to show one of a later version than the service reads. */
export const transactionOf = (signature: string): TypedCall<typeof Fetched.Type> => ({
  method: "getTransaction",
  params: [signature, { commitment: "finalized", encoding: "base64", maxSupportedTransactionVersion: highestVersion }],
  result: Fetched
})

/** The error of a node whose transaction has a later version than the question allows. */
export const versionNotSupported = -32_015

/**
 * The highest version that a message can name, in seven bits: what is read with it is the same in each version. Agave takes it as a plain
 * upper bound, whatever it knows itself (`validate_version` of solana-transaction-status 2.1 to 4.2). It also takes numbers up to 255
 * today, and is asked to refuse them (anza-xyz/agave, issue 8159).
 */
const anyVersion = 127

const Described = Schema.NullOr(
  Schema.Struct({
    version: Schema.optionalKey(Schema.Union([Schema.Literal("legacy"), Schema.Natural])),
    transaction: Schema.Struct({
      signatures: Schema.Array(Base58Text),
      message: Schema.Struct({ accountKeys: Schema.Array(Base58Text) })
    })
  })
)

type Described = typeof Described.Type

/** What a node says of a transaction of any version, without its bytes. */
export const descriptionOf = (signature: string): TypedCall<Described> => ({
  method: "getTransaction",
  params: [signature, { commitment: "finalized", encoding: "json", maxSupportedTransactionVersion: anyVersion }],
  result: Described
})

const Landed = Schema.NullOr(
  Schema.Struct({
    /** Seconds. */
    blockTime: Schema.optionalKey(Schema.NullOr(Schema.Natural)),
    meta: Schema.NullOr(Schema.Struct({ fee: Uint64 }))
  })
)

/** What a transaction that is finalized has paid, and when it landed. Null: this node does not have it. */
export const landingOf = (signature: string): TypedCall<typeof Landed.Type> => ({
  method: "getTransaction",
  params: [signature, { commitment: "finalized", encoding: "base64", maxSupportedTransactionVersion: anyVersion }],
  result: Landed
})

const NamedFee = inContext(Schema.NullOr(Uint64))

/**
 * `message`: base64. Null: the node does not know its blockhash. Agave 4.1.2 leaves out the priority fee that a message of version 1 names,
 * which its simulation and its blocks have: such a fee is read from the message.
 */
export const feeForMessage = (message: string): TypedCall<typeof NamedFee.Type> => ({
  method: "getFeeForMessage",
  params: [message, at(readCommitment)],
  result: NamedFee
})

export const firstAvailableBlock: TypedCall<number> = { method: "getFirstAvailableBlock", params: [], result: Height }

const Balance = inContext(Uint64)

export const balanceOf = (address: string): TypedCall<typeof Balance.Type> => ({
  method: "getBalance",
  params: [address, at(readCommitment)],
  result: Balance
})

/** Lamports that an account without data needs to exist. */
export const rentMinimumNow: TypedCall<bigint> = {
  method: "getMinimumBalanceForRentExemption",
  params: [0],
  result: Uint64
}

const AccountInfo = Schema.Struct({
  lamports: Uint64,
  owner: Base58Text,
  executable: Schema.Boolean,
  /** Base64, and the name of the encoding. */
  data: Schema.Tuple([Schema.String, Schema.String])
})
export type AccountInfo = typeof AccountInfo.Type

const Accounts = inContext(Schema.Array(Schema.NullOr(AccountInfo)))

/** `bytes`: of the data, from its beginning. Absent: all. */
export const accountsOf = (addresses: ReadonlyArray<string>, bytes?: number): TypedCall<typeof Accounts.Type> => ({
  method: "getMultipleAccounts",
  params: [
    addresses,
    {
      ...at(readCommitment),
      encoding: "base64",
      ...(bytes === undefined ? {} : { dataSlice: { offset: 0, length: bytes } })
    }
  ],
  result: Accounts
})

const PrioritizationFees = Schema.Array(Schema.Struct({ slot: Height, prioritizationFee: Uint64 }))

export const prioritizationFees = (addresses: ReadonlyArray<string>): TypedCall<typeof PrioritizationFees.Type> => ({
  method: "getRecentPrioritizationFees",
  params: [addresses],
  result: PrioritizationFees
})

const SimulationResult = inContext(
  Schema.Struct({
    err: Schema.Unknown,
    unitsConsumed: Schema.optionalKey(Height),
    /** Lamports. Nodes before Agave 4.0 do not name them, and no node does for what cannot be loaded. */
    fee: Schema.optionalKey(Schema.NullOr(Uint64)),
    logs: Schema.optionalKey(Schema.NullOr(Schema.Array(Schema.String))),
    accounts: Schema.optionalKey(Schema.NullOr(Schema.Array(Schema.NullOr(AccountInfo))))
  })
)

/** `raw`: base64. Signatures are not checked, and the blockhash is exchanged. */
export const simulate = (raw: string, accounts: ReadonlyArray<string>): TypedCall<typeof SimulationResult.Type> => ({
  method: "simulateTransaction",
  params: [
    raw,
    {
      ...at(readCommitment),
      encoding: "base64",
      sigVerify: false,
      replaceRecentBlockhash: true,
      accounts: { encoding: "base64", addresses: accounts }
    }
  ],
  result: SimulationResult
})

// Providers of solana clusters, and how nodes answer to signed transactions.

/** -32005 means that the node lags behind, and -32016 that it has not reached the slot of the call. */
export const solanaDialect: RpcDialect = {
  networkType: "solana",
  codes: { ...rpcCheckCodes, [-32_005]: "unreachable", [-32_016]: "unreachable" },
  isAnswer: () => false
}

const isConfig = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** The same call at `finalized`. Undefined: it does not name the commitment. */
const atFinalized = <C extends RpcCall>(call: C): C | undefined => {
  if (!Array.isArray(call.params)) return undefined
  const params: ReadonlyArray<unknown> = call.params
  const names = (param: unknown) => isConfig(param) && param["commitment"] === readCommitment
  if (!params.some(names)) return undefined
  return {
    ...call,
    params: params.map((param) => (names(param) ? { ...Object(param), commitment: "finalized" } : param))
  }
}

/**
 * If the node refuses the parameters of a read, and answers the same read at `finalized`, it does not know the commitment. `without` has
 * the URLs of such nodes, which are asked at `finalized` from then on.
 */
export const adapting = (node: RpcNode, without: Set<string>): RpcNode => ({
  ...node,
  call: <A>(call: TypedCall<A>): Effect.Effect<A, RpcFailure> => {
    const instead = atFinalized(call)
    if (instead === undefined) return node.call(call)
    if (without.has(node.url)) return node.call(instead)
    return Effect.catchIf(
      node.call(call),
      ({ rpcCode }) => rpcCode === invalidParams,
      (failure) =>
        Effect.tap(
          Effect.mapError(node.call(instead), () => failure),
          () => Effect.sync(() => without.add(node.url))
        )
    )
  },
  ask: (call) => node.ask(without.has(node.url) ? (atFinalized(call) ?? call) : call)
})

export interface SolanaProviders extends Providers {
  /** The hash of the first block, once it is known. */
  readonly genesis: Effect.Effect<string | undefined>
}

/** Providers prove the hash of the first block. `known`: of the lane. Absent: the first provider that is asked decides. */
export const makeSolanaProviders = Effect.fnUntraced(function* (
  nodeOf: (url: string) => RpcNode,
  urls: ReadonlyArray<RpcConfig>,
  known: string | undefined
) {
  let genesis = known
  const withoutConfirmed = new Set<string>()
  const adaptingNodeOf = (url: string) => adapting(nodeOf(url), withoutConfirmed)

  const prove = Effect.fnUntraced(function* (node: RpcNode) {
    const found = yield* node.call(genesisHash)
    genesis ??= found
    if (found !== genesis) return yield* answeredFailure("mismatch").of(genesisHash.method)
  })

  const made: SolanaProviders = {
    ...(yield* makeProviders({ nodeOf: adaptingNodeOf, prove }, urls)),
    genesis: Effect.sync(() => genesis)
  }
  return made
})

export class SolanaNodes extends Context.Service<
  SolanaNodes,
  {
    /** The order of the providers is chosen by weight, once. */
    providers(urls: ReadonlyArray<RpcConfig>, genesis: string | undefined): Effect.Effect<SolanaProviders>
  }
>()("effect-relayer/networks/solana/chain/SolanaCalls/SolanaNodes") {}

export const makeSolanaNodes = Effect.map(RpcNodes, (nodes) =>
  SolanaNodes.of({
    providers: (urls, genesis) => makeSolanaProviders((url) => nodes.of(solanaDialect, url), urls, genesis)
  })
)

const toNodeAnswer = (answer: RpcAnswer): NodeAnswer => (answer._tag === "Result" ? { _tag: "Signature" } : answer)

/** `raw`: base64. The node sends once and keeps nothing: sending again is up to the service. */
export const sendTransaction =
  (raw: string) =>
  (node: RpcNode): Effect.Effect<NodeAnswer> => {
    const options = { encoding: "base64", skipPreflight: true, maxRetries: 0 }
    return node.send({ method: "sendTransaction", params: [raw, options] }).pipe(
      Effect.map(toNodeAnswer),
      Effect.catchTag("Unanswered", () => Effect.succeed<NodeAnswer>({ _tag: "NoAnswer" }))
    )
  }

// Inspects an account of a Solana cluster, and the providers of its network. An account that does not exist has a balance of 0.

const atReadCommitment = { commitment: readCommitment }

/** 32 bytes in base58. */
const Blockhash = Schema.String.check(Schema.isPattern(/^[1-9A-HJ-NP-Za-km-z]{32,44}$/u, { expected: "a blockhash" }))

const probedBlockhash = {
  method: "getLatestBlockhash",
  params: [atReadCommitment],
  result: Schema.Struct({ value: Schema.Struct({ blockhash: Blockhash }) })
}

const inspectedBalance = (address: string) => ({
  method: "getBalance",
  params: [address, atReadCommitment],
  result: Schema.Struct({ value: Uint64 })
})

/** With the slot that it is of. */
const balanceAt = (address: string) => ({
  ...inspectedBalance(address),
  result: Schema.Struct({ context: Schema.Struct({ slot: Schema.Natural }), value: Uint64 })
})

/** The first block of some clusters is not in slot 0. */
const firstSlots = 1

const proveBlockhash = (node: RpcNode) => Effect.asVoid(adapting(node, new Set()).call(probedBlockhash))

/** What `probe` asks besides. */
export const solanaQuestions: ProviderQuestions = {
  cheap: genesisHash,
  version: { method: "getVersion" },
  versionIn: (result) =>
    Predicate.hasProperty(result, "solana-core") ? `solana-core/${String(result["solana-core"])}` : undefined,
  finalized: { method: "getSlot", params: [{ commitment: "finalized" }] },
  feeHistory: { method: "getRecentPrioritizationFees", params: [[]] },
  archive: { method: "getFirstAvailableBlock" },
  isArchive: (result) => typeof result === "number" && result <= firstSlots
}

const probe: ChainKind["probe"] = Effect.fn("SolanaCalls.probe")(function* (nodes, { network, urls, budgetMs }) {
  if (network.network_type !== "solana") return yield* wrongType
  return yield* probeProviders(
    { nodes, dialect: solanaDialect, urls, prove: proveBlockhash, budgetMs },
    solanaQuestions
  )
})

const inspect: ChainKind["inspect"] = Effect.fn("SolanaCalls.inspect")(function* (
  nodes,
  { relayer, network, urls, budgetMs }
) {
  if (relayer.network_type !== "solana" || network.network_type !== "solana") return yield* wrongType
  const { address, policies } = relayer
  const { network_type } = network

  const read = Effect.fnUntraced(function* ({ first }: Providers) {
    const account = yield* Effect.result(first((node) => adapting(node, new Set()).call(inspectedBalance(address))))
    const balance = Result.map(account, ({ value }) => value)
    return {
      ...(Result.isSuccess(balance) ? { balance: balance.success } : {}),
      failures: balanceFailures(balance, minBalanceOf(network_type, policies))
    }
  })

  return {
    network_type,
    ...(yield* runInspection({ nodes, dialect: solanaDialect, urls, prove: proveBlockhash, budgetMs }, read))
  }
})

const balances: NonNullable<ChainKind["balances"]> = Effect.fn("SolanaCalls.balances")(function* (
  nodes,
  { relayer, network, urls }
) {
  if (network.network_type !== "solana") return yield* wrongType
  const chain = { nodes, dialect: solanaDialect, urls, prove: proveBlockhash, budgetMs: undefined }
  return yield* compareBalances(chain, (node) =>
    Effect.map(adapting(node, new Set()).call(balanceAt(relayer.address)), ({ context, value }) => ({
      height: context.slot,
      balance: value
    }))
  )
})

export const solanaInspection: ChainKind = { inspect, probe, balances }
