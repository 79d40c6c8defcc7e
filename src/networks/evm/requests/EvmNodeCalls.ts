// JSON-RPC calls to evm relayers: a node that holds the relayer's key answers some, and providers of the relayer the others.
// The ledger completes what providers say about its transactions.
import { Effect, Option, Predicate } from "effect"
import type { Scope as Lifetime } from "effect"
import type { Scope } from "../../../domain/access/ApiKey.ts"
import * as Caller from "../../../domain/access/Caller.ts"
import type { RelayerNotFound } from "../../../domain/relayer/Relayer.ts"
import type { BadGateway } from "../../../domain/request/Request.ts"
import { entryOf } from "../../../domain/request/Shown.ts"
import type { RpcAnswer, RpcCall } from "../../../server/chains/RpcBatch.ts"
import type { RpcFailure } from "../../../server/chains/RpcFailure.ts"
import type { RpcNode } from "../../../server/chains/RpcNode.ts"
import { Ledger } from "../../../server/ledger/Ledger.ts"
import { isTransactionOf } from "../../../server/ledger/LedgerEntries.ts"
import type { StoredTransaction } from "../../../server/ledger/LedgerEntries.ts"
import { mayRead, textOf } from "../../../server/transactions/Intake.ts"
import type { Sender } from "../../../server/transactions/Intake.ts"
import {
  answerReply,
  errorReply,
  isPassed,
  notAllowed,
  paramsList,
  resultReply,
  settled
} from "../../../server/transactions/NodePassing.ts"
import type { NodeNetwork, Reply } from "../../../server/transactions/NodePassing.ts"
import { Transactions } from "../../../server/transactions/Transactions.ts"
import { cause } from "../../core/Cause.ts"
import type { Cause, Figures, KnownCode } from "../../core/Cause.ts"
import {
  invalidParams,
  limitExceeded,
  notExecuted,
  refused,
  rpcCodes,
  RpcError,
  toRpcError
} from "../../core/NodeCall.ts"
import type { NodeCall } from "../../core/NodeCall.ts"
import { isFinal, isNoop, newestRequest } from "../../core/Transaction.ts"
import type { TransactionId } from "../../core/TransactionValues.ts"
import * as EvmBytes from "../chain/EvmBytes.ts"
import { countAt, estimateGas, revertDataOf } from "../chain/EvmCalls.ts"
import { evmTermsOf, readingMethods, readWalletTransaction, withNodeNames } from "../rules/Admission.ts"
import { isEstimatedPrivately, isSecret } from "../rules/Evm.ts"
import type { Evm } from "../rules/Evm.ts"
import { evmRules } from "../rules/EvmRules.ts"
import { SendEvmTransaction } from "../rules/EvmSchemas.ts"
import { explain, signatureOf } from "../rules/EvmWords.ts"
import { policyViolations } from "./EvmIntake.ts"
import { makeRelayerNodes, senderOf } from "./EvmSenders.ts"
import type { EvmSender } from "./EvmSenders.ts"
import { makeWalletSigning } from "./MessageSigning.ts"
import type { Params } from "./MessageSigning.ts"

// Why a transaction will not be executed, as JSON-RPC errors. The texts of nodes come first: clients search for them.

const nonceText = ({ required_nonce = 0, next_nonce = 0 }: Figures): string =>
  `nonce too ${required_nonce < next_nonce ? "low" : "high"}: next nonce ${next_nonce}`

/** What geth says in the same situation. */
const nodeTexts: Partial<Readonly<Record<KnownCode, (figures: Figures) => string>>> = {
  insufficient_funds: () => "insufficient funds for gas * price + value",
  gas_price_above_cap: () => "max fee per gas less than block base fee",
  gas_price_below_base_fee: () => "max fee per gas less than block base fee",
  gas_limit_above_block: () => "exceeds block gas limit",
  gas_limit_below_estimate: () => "out of gas",
  nonce_unavailable: nonceText,
  would_revert: ({ revert_reason }) =>
    revert_reason === undefined ? "execution reverted" : `execution reverted: ${revert_reason}`
}

const nodeTextOf = ({ code, figures }: Cause): string | undefined =>
  code === "waits_for_predecessors" && figures.required_nonce !== undefined
    ? nonceText(figures)
    : entryOf(nodeTexts, code)?.(figures)

/** `stored` has no bytes, and will never have any. Its cause is the one before it was withdrawn, if it was. */
const refusalOf = ({ id, transaction }: StoredTransaction): RpcError => {
  const why = transaction.cause ?? cause("queued")
  const { reason } = explain(why, true)
  const text = nodeTextOf(why)
  const message = text === undefined ? reason : `${text}. ${reason}`
  const data = { code: why.code, transaction_id: id }
  if (why.code === "policy_changed") return refused(message)
  return notExecuted(message, data)
}

/** A call that reverts in the estimate. `data`: the revert data, by which clients decode custom errors. */
const revertErrorOf = ({ transaction: { cause } }: StoredTransaction, data: string | undefined): RpcError =>
  new RpcError({
    code: rpcCodes.reverted,
    message: (cause && nodeTextOf(cause)) ?? "execution reverted",
    ...(data === undefined ? {} : { data })
  })

// `eth_sendTransaction`: accepts a transaction as `POST …/transactions` does, and waits for its first hash. An error always
// means that the transaction will not be executed.

/** How long a client waits for the first hash. Scripts that require nonces wait as long for their predecessors. */
const sendPatience = "15 seconds"

const bodyText = textOf(SendEvmTransaction)

/** What acceptance refuses, in the words of a node. */
const refusalOfSend = (failed: Effect.Error<ReturnType<Transactions["Service"]["send"]>>): RpcError => {
  switch (failed._tag) {
    case "BadRequest":
      return invalidParams(withNodeNames(failed.error ?? "is not valid"))
    case "TooManyRequests":
      return limitExceeded("too many open transactions")
    default:
      return toRpcError(failed)
  }
}

const makeSending = Effect.gen(function* () {
  const ledger = yield* Ledger
  const transactions = yield* Transactions
  const nodes = yield* makeRelayerNodes

  const accept = (sender: EvmSender, body: SendEvmTransaction) =>
    Effect.mapError(transactions.send(sender.relayer.id, body), refusalOfSend)

  const get = (sender: EvmSender, id: TransactionId) => Effect.orDie(ledger.get(sender.account.relayerNumber, id))

  const withdraw = (sender: EvmSender, id: TransactionId) =>
    Effect.orDie(ledger.withdraw(sender.account.relayerNumber, id))

  /** The row with its first bytes, or one that will never have any. */
  const settle = Effect.fnUntraced(function* (sender: EvmSender, id: TransactionId) {
    const found = yield* Effect.timeoutOption(settled(get(sender, id)), sendPatience)
    if (Option.isSome(found)) return found.value
    const withdrawn = yield* withdraw(sender, id)
    return Option.isSome(withdrawn) ? withdrawn.value : yield* get(sender, id)
  })

  /** The ledger keeps the reason of a revert and not its data, so a provider is asked again. */
  const revertData = ({ relayer, numbers }: EvmSender, { transaction }: StoredTransaction<Evm>) =>
    (isEstimatedPrivately(transaction) ? nodes.firstPrivate : nodes.first)(relayer.id, numbers.chainId, (node) =>
      node.ask(estimateGas({ ...newestRequest(transaction), from: relayer.address }))
    ).pipe(
      Effect.map((answer) => (answer._tag === "RpcError" ? revertDataOf(answer) : undefined)),
      Effect.orElseSucceed(() => undefined)
    )

  const hashOf = Effect.fnUntraced(function* (sender: EvmSender, stored: StoredTransaction) {
    const [first] = stored.transaction.attempts
    if (first !== undefined) return first.hash
    if (stored.transaction.cause?.code !== "would_revert") return yield* refusalOf(stored)
    const data = isTransactionOf<Evm>(evmRules, stored) ? yield* revertData(sender, stored) : undefined
    return yield* revertErrorOf(stored, data)
  })

  /**
   * The transaction of a call that is repeated: with a nonce, the same call is executed once. Without one, each call is a transaction
   * of its own.
   */
  const repeatOf = Effect.fnUntraced(function* ({ account }: EvmSender, body: SendEvmTransaction) {
    if (body.nonce === undefined) return undefined
    const found = yield* ledger.requiring(account, BigInt(body.nonce), bodyText(body))
    return found !== undefined && mayRead(yield* Caller.current, found) ? found : undefined
  })

  /** Until the hash is known, the end of the scope withdraws it: the client has disconnected, or a fault came in between. */
  const admitNew = Effect.fnUntraced(function* (sender: EvmSender, body: SendEvmTransaction) {
    const [forbidden] = yield* Effect.catch(policyViolations(body, sender), ({ message }) =>
      refused(withNodeNames(message))
    )
    if (forbidden !== undefined) {
      return yield* refused(withNodeNames(`${forbidden.field}: ${forbidden.message}`))
    }
    const open = { isSettled: false }
    const { id } = yield* Effect.acquireRelease(accept(sender, body), ({ id }) =>
      open.isSettled ? Effect.void : withdraw(sender, id)
    )
    return Effect.tap(settle(sender, id), () => Effect.sync(() => (open.isSettled = true)))
  })

  /** Ends with the row of the transaction. A repeat does not withdraw what another request has sent: it waits as long as it may. */
  const admit = Effect.fn("Wallet.send")(function* (sender: EvmSender, transaction: unknown) {
    const { relayer, numbers } = sender
    const body = yield* readWalletTransaction(transaction, { address: relayer.address, chainId: numbers.chainId })
    const repeat = yield* repeatOf(sender, body)
    return repeat === undefined ? yield* admitNew(sender, body) : settled(get(sender, repeat.id))
  })

  const begin = (sender: EvmSender, [transaction]: Params) =>
    Effect.map(admit(sender, transaction), (ending) => Effect.flatMap(ending, (stored) => hashOf(sender, stored)))

  return { begin }
})

// The methods that a node with the relayer's key has. They do not depend on `rpc_methods` of the network.

/** The calls of a batch begin one after the other, and end together. */
type BeginMethod = (
  sender: EvmSender,
  params: Params
) => Effect.Effect<Effect.Effect<unknown, RpcError>, RpcError, Lifetime.Scope>

export interface AccountMethod {
  /** Needed in addition to `rpc:call`. Absent: no other scope is needed. */
  readonly scope?: Scope
  readonly begin: BeginMethod
}

const knownMethod = (read: (sender: EvmSender) => unknown): AccountMethod => ({
  begin: (sender) => Effect.succeed(Effect.succeed(read(sender)))
})

const signingMethod = (
  sign: (sender: EvmSender, params: Params) => Effect.Effect<string, RpcError>
): AccountMethod => ({
  scope: "transactions:sign",
  begin: (sender, params) => Effect.map(sign(sender, params), Effect.succeed)
})

/** A signed transaction outside of the ledger would take a nonce that the ledger assigns as well. */
const unsupportedMethod: AccountMethod = {
  begin: () =>
    Effect.fail(
      new RpcError({
        code: rpcCodes.unsupportedMethod,
        message: "the service returns no signed transactions; use eth_sendTransaction"
      })
    )
}

const accountsMethod = knownMethod(({ relayer }) => [relayer.address])

const makeAccountMethods = Effect.gen(function* () {
  const sending = yield* makeSending
  const signing = yield* makeWalletSigning
  return new Map<string, AccountMethod>([
    ["eth_accounts", accountsMethod],
    ["eth_requestAccounts", accountsMethod],
    ["eth_chainId", knownMethod(({ numbers }) => `0x${numbers.chainId.toString(16)}`)],
    ["net_version", knownMethod(({ numbers }) => String(numbers.chainId))],
    ["eth_sendTransaction", { scope: "transactions:write", begin: sending.begin }],
    ["personal_sign", signingMethod(signing.personal)],
    ["eth_sign", signingMethod(signing.sign)],
    ["eth_signTypedData_v4", signingMethod(signing.typedData)],
    // The name in EIP-712, which web3.py uses. The parameters are those of version 4.
    ["eth_signTypedData", signingMethod(signing.typedData)],
    ["eth_signTransaction", unsupportedMethod]
  ])
})

// A signed transaction as nodes show it before it is mined. viem is loaded when it is first needed.

const hex = (value: bigint | number | undefined): string => `0x${(value ?? 0).toString(16)}`

const typeCodes = { legacy: "0x0", eip2930: "0x1", eip1559: "0x2", eip4844: "0x3", eip7702: "0x4" } as const

const noSignature = { r: "0", s: "0" } as const

/** With a signature of it, anybody can use an authorization. */
const shownList = (
  list: ReadonlyArray<{
    readonly chainId: number
    readonly address: string
    readonly nonce: number
    readonly yParity?: number | undefined
    readonly r?: string | undefined
    readonly s?: string | undefined
  }> = [],
  isSecret: boolean
) =>
  list.map(({ address, chainId, nonce, r = "0x0", s = "0x0", yParity }) => ({
    chainId: hex(chainId),
    address: address.toLowerCase(),
    nonce: hex(nonce),
    yParity: hex(yParity),
    r: hex(isSecret ? 0 : BigInt(r)),
    s: hex(isSecret ? 0 : BigInt(s))
  }))

/** `hash` and `from` in lower case. `isSecret`: the signature is shown as zero, so that nobody can send the bytes. */
const pendingTransaction = Effect.fnUntraced(function* (
  hash: string,
  from: string,
  raw: Uint8Array,
  isSecret: boolean
) {
  const { parseTransaction } = yield* EvmBytes.library
  const bytes: `0x${string}` = `0x${Buffer.from(raw).toString("hex")}`
  const fields = parseTransaction(bytes)
  const signature = signatureOf(raw)
  const { v } = signature
  const { r, s } = isSecret ? noSignature : signature
  const isLegacy = fields.type === "legacy"
  const parity = isLegacy ? v - 27 : v
  const price = fields.gasPrice ?? fields.maxFeePerGas
  return {
    hash,
    type: typeCodes[fields.type ?? "legacy"],
    nonce: hex(fields.nonce),
    blockHash: null,
    blockNumber: null,
    transactionIndex: null,
    from,
    to: fields.to?.toLowerCase() ?? null,
    value: hex(fields.value),
    gas: hex(fields.gas),
    gasPrice: hex(price),
    ...(isLegacy
      ? {}
      : {
          maxFeePerGas: hex(fields.maxFeePerGas),
          maxPriorityFeePerGas: hex(fields.maxPriorityFeePerGas),
          accessList: fields.accessList ?? [],
          yParity: hex(parity),
          ...(fields.type === "eip7702" ? { authorizationList: shownList(fields.authorizationList, isSecret) } : {})
        }),
    input: fields.data ?? "0x",
    chainId: hex(fields.chainId),
    v: hex(isLegacy && fields.chainId !== undefined ? 35 + 2 * fields.chainId + parity : v),
    r: hex(BigInt(`0x${r}`)),
    s: hex(BigInt(`0x${s}`))
  }
})

// Reads of nodes that the ledger completes: transactions and receipts under any hash of an attempt, and the next nonce.

/** The parameters of Ethereum's methods are a list. */
interface ListedCall extends RpcCall {
  readonly params: ReadonlyArray<unknown>
}

type Read = (node: RpcNode, sender: EvmSender, call: ListedCall) => Effect.Effect<RpcAnswer, RpcFailure>

const hash = /^0x[0-9a-f]{64}$/

/** Chains that can have the hash of one transaction: forks of each other. */
const maxSameHash = 10

const result = (value: unknown): RpcAnswer => ({ _tag: "Result", value })

const isFound = (answer: RpcAnswer): boolean => answer._tag === "Result" && answer.value !== null

const isMined = (answer: RpcAnswer): boolean =>
  answer._tag === "Result" && Predicate.hasProperty(answer.value, "blockHash") && answer.value.blockHash !== null

/** Texts in parameters, at any depth. */
const textsIn = (value: unknown): ReadonlyArray<string> => {
  if (Predicate.isString(value)) return [value.toLowerCase()]
  return Predicate.isObjectOrArray(value) ? Object.values(value).flatMap(textsIn) : []
}

/** The shortest signed bytes have more digits than a hash. */
const signedBytes = /^0x[0-9a-f]{66,}$/

/** What could be hashes of transactions in parameters: 32 bytes, and the hashes of longer ones, which can be signed bytes. */
const hashesIn = Effect.fnUntraced(function* (params: ReadonlyArray<unknown>) {
  const texts = textsIn(params)
  const raws = texts.filter((text) => signedBytes.test(text))
  const hashed = yield* Effect.forEach(raws, (raw) => EvmBytes.hashOf(Buffer.from(raw.slice(2), "hex")))
  return [...new Set([...texts.filter((text) => hash.test(text)), ...hashed])]
})

/** Whether the hash is one that no provider may be asked by: that of a private transaction before a block shows it. */
const isSecretHash = ({ transaction }: StoredTransaction, hash: string): boolean =>
  transaction.attempts.some((attempt) => attempt.hash === hash && isSecret(transaction, attempt))

/**
 * The asked hash, then the others that execute the same transaction, newest first. A no-op stands for itself. Those that no provider may be
 * asked by are left out.
 */
const hashesOf = (stored: StoredTransaction, asked: string): ReadonlyArray<string> => {
  const { attempts } = stored.transaction
  const isOfNoop = attempts.some((attempt) => attempt.hash === asked && isNoop(attempt))
  const others = attempts.filter((attempt) => attempt.hash !== asked && !isNoop(attempt)).toReversed()
  const all = isOfNoop ? [asked] : [asked, ...others.map((attempt) => attempt.hash)]
  return all.filter((hash) => !isSecretHash(stored, hash))
}

const makeLedgerReads = Effect.gen(function* () {
  const ledger = yield* Ledger

  const storedAs = Effect.fnUntraced(function* ({ account }: EvmSender, hash: string) {
    const filter = { relayerNumbers: [account.relayerNumber], hashes: [hash] }
    return (yield* ledger.select({ filter, limit: 1 })).transactions[0]
  })

  /**
   * Whether parameters have the hash, or the bytes, of a private transaction of any relayer that no block shows yet. Nobody but the relayer's
   * own private providers knows it, so no provider of another one may be asked by it.
   */
  const isSecretIn = Effect.fnUntraced(function* (params: ReadonlyArray<unknown>) {
    const hashes = yield* hashesIn(params)
    if (hashes.length === 0) return false
    const { transactions } = yield* ledger.select({ filter: { hashes }, limit: hashes.length * maxSameHash })
    return transactions.some((stored) => hashes.some((one) => isSecretHash(stored, one)))
  })

  /** What the node answers about each hash, the asked one first. */
  const askAll = (node: RpcNode, method: string, hashes: ReadonlyArray<string>) =>
    Effect.forEach(hashes, (hash) => node.ask({ method, params: [hash] }), { concurrency: "unbounded" })

  /** `read` gets the transaction of the ledger that has an attempt with the hash. */
  const byHash =
    (
      read: (
        node: RpcNode,
        call: ListedCall,
        stored: StoredTransaction,
        asked: string
      ) => Effect.Effect<RpcAnswer, RpcFailure>
    ): Read =>
    (node, sender, call) =>
      Effect.gen(function* () {
        const [given] = call.params
        const asked = Predicate.isString(given) ? given.toLowerCase() : ""
        const stored = hash.test(asked) ? yield* storedAs(sender, asked) : undefined
        if (stored !== undefined) return yield* read(node, call, stored, asked)
        return (yield* isSecretIn(call.params)) ? result(null) : yield* node.ask(call)
      })

  const receipt = byHash(
    Effect.fnUntraced(function* (node, { method }, stored, asked) {
      const answers = yield* askAll(node, method, hashesOf(stored, asked))
      return answers.find(isFound) ?? answers[0] ?? result(null)
    })
  )

  /** As the signed bytes say. Nodes know nothing of bytes that are not sent yet, and forget those that were replaced. */
  const pending = Effect.fnUntraced(function* (stored: StoredTransaction, asked: string) {
    const { id, from, transaction } = stored
    const attempt = transaction.attempts.find((attempt) => attempt.hash === asked)
    if (attempt === undefined || isFinal(transaction)) return null
    const [bytes] = yield* ledger.bytes([{ id, ordinal: attempt.ordinal }])
    return bytes === undefined ? null : yield* pendingTransaction(asked, from, bytes.raw, isSecretHash(stored, asked))
  })

  const transaction = byHash(
    Effect.fnUntraced(function* (node, { method }, stored, asked) {
      const answers = yield* askAll(node, method, hashesOf(stored, asked))
      const ofAsked = isSecretHash(stored, asked) ? [] : answers.slice(0, 1)
      const found = answers.find(isMined) ?? ofAsked.find(isFound)
      return found ?? result(yield* pending(stored, asked))
    })
  )

  /** Others may have sent with the same key, so the next nonce is at least the count of the chain. */
  const count: Read = Effect.fnUntraced(function* (node, { account }, call) {
    const [address, block] = call.params
    const isOwn = Predicate.isString(address) && address.toLowerCase() === account.address
    if (!isOwn || block !== "pending") return yield* node.ask(call)
    const onChain = yield* node.call(countAt(account.address, "latest"))
    const lane = yield* ledger.laneOf(account)
    const next = lane._tag === "Some" ? Number(lane.value.lane.accounts[0].nextSequence) : 0
    return result(`0x${Math.max(next, onChain).toString(16)}`)
  })

  const methods = new Map<string, Read>([
    ["eth_getTransactionReceipt", receipt],
    ["eth_getTransactionByHash", transaction],
    ["eth_getTransactionCount", count]
  ])
  return { methods, isSecretIn }
})

// Passes calls on to a provider of the relayer, as far as the network allows the methods.

/**
 * Whether parameters have a call: an object with a receiver or with data. A relayer whose policy asks for private transactions shows it to
 * private providers alone, whatever the method is called.
 */
const hasCall = (value: unknown): boolean =>
  Predicate.isObjectOrArray(value) &&
  (Predicate.hasProperty(value, "to") ||
    Predicate.hasProperty(value, "data") ||
    Predicate.hasProperty(value, "input") ||
    Object.values(value).some(hasCall))

/** These find out themselves whether the hash is secret, and answer what the ledger knows. */
const byHashMethods: ReadonlySet<string> = new Set(["eth_getTransactionByHash", "eth_getTransactionReceipt"])

const secretRefused = invalidParams(
  "has the hash or the bytes of a private transaction that no block shows yet: no provider is asked by it"
)

const makePassedCalls = Effect.gen(function* () {
  const nodes = yield* makeRelayerNodes
  const reads = yield* makeLedgerReads

  return (sender: EvmSender, call: NodeCall): Effect.Effect<Reply, BadGateway | RelayerNotFound> =>
    Effect.gen(function* () {
      const { relayer, numbers } = sender
      const { method } = call
      if (!isPassed({ standard: readingMethods }, method, sender.network.rpc_methods))
        return errorReply(call, notAllowed(method))
      const params = yield* paramsList(call)
      const read = reads.methods.get(method)
      if (!byHashMethods.has(method) && (yield* reads.isSecretIn(params))) return errorReply(call, secretRefused)
      const terms = evmTermsOf(sender)
      const isPrivate = terms.isPrivate && terms.estimatesPrivately && hasCall(params)
      const ask = isPrivate ? nodes.firstPrivate : nodes.first
      const answer = yield* ask(relayer.id, numbers.chainId, (node) =>
        read === undefined ? node.ask({ method, params }) : read(node, sender, { method, params })
      )
      return answerReply(call, answer)
    }).pipe(Effect.catchTag("RpcError", (error) => Effect.succeed(errorReply(call, error))))
})

export const make = Effect.gen(function* () {
  const methods = yield* makeAccountMethods
  const pass = yield* makePassedCalls

  const begin = (sender: EvmSender, call: NodeCall, method: AccountMethod) =>
    Effect.flatMap(paramsList(call), (params) => method.begin(sender, params)).pipe(
      Effect.map((end) => resultReply(call, end)),
      Effect.catchTag("RpcError", (error) => Effect.succeed(Effect.succeed(errorReply(call, error))))
    )

  const calls: NodeNetwork = {
    type: "evm",
    scopeOf: (name) => methods.get(name)?.scope,
    begin: Effect.fnUntraced(function* (sender: Sender, call: NodeCall) {
      const method = methods.get(call.method)
      return method === undefined ? undefined : yield* begin(senderOf(sender), call, method)
    }),
    pass: (sender, call) => pass(senderOf(sender), call)
  }
  return calls
})
