// The relayer of a request: its network, its lane, its providers and its signer, and what the caller's key may do there.
import { Cache, Duration, Effect, Result } from "effect"
import * as Caller from "../../domain/access/Caller.ts"
import { TooManyRequests } from "../../domain/access/Caller.ts"
import { units } from "../../domain/chain/Amount.ts"
import { maskUrl } from "../../domain/chain/Rpc.ts"
import { networkId } from "../../domain/network/Network.ts"
import { RelayerNotFound } from "../../domain/relayer/Relayer.ts"
import type { Relayer, RelayerId } from "../../domain/relayer/Relayer.ts"
import { BadGateway, NotImplemented } from "../../domain/request/Request.ts"
import type { BadRequest } from "../../domain/request/Request.ts"
import type { Curve } from "../../domain/signer/Signer.ts"
import type { ShownSequences } from "../../domain/transaction/Family.ts"
import { limitsFor, TransactionLimitExceeded } from "../../domain/transaction/TransactionLimits.ts"
import type { FeeLimitExceeded, NetworkLimits } from "../../domain/transaction/TransactionLimits.ts"
import { ApiKeys } from "../access/ApiKeys.ts"
import type { NoProvider } from "../chains/Providers.ts"
import type { StoredTransaction } from "../ledger/LedgerEntries.ts"
import { OutboundWork } from "../limits/CallerLimits.ts"
import { Networks } from "../networks/Networks.ts"
import { Relayers } from "../relayers/Relayers.ts"
import type { StoredRelayer } from "../relayers/StoredRelayer.ts"
import { Signers } from "../signers/Signers.ts"
import { withRequestId } from "../signers/backends/SignerBackend.ts"
import type { SignerUnavailable } from "../signers/backends/SignerBackend.ts"
import { Intakes } from "./Intake.ts"
import type { Sender } from "./Intake.ts"

const notSending = (type: string) => new NotImplemented({ error: `relayers of ${type} do not send transactions yet` })

/** Fails with `NotImplemented` if the service takes no requests for the network type of the relayer. */
export const makeSenders = Effect.gen(function* () {
  const relayers = yield* Relayers
  const networks = yield* Networks
  const intakes = yield* Intakes

  /**
   * Its number distinguishes a relayer from an earlier one with the same id. Transactions are shown even if the row of their relayer was
   * changed in the database: `explain` reports it.
   */
  const { numberOf } = relayers

  /** The network type of a relayer. */
  const typeOf = (id: RelayerId) => Effect.map(relayers.get(id), ({ value }) => value.network_type)

  /** Whether transactions of the relayer are found by their sequences. */
  const hasSequences = (id: RelayerId) =>
    Effect.map(typeOf(id), (type) => intakes.of(type)?.intake.hasSequences !== false)

  const senderOf = Effect.fnUntraced(
    function* ({ value: relayer, number }: StoredRelayer) {
      const found = intakes.of(relayer.network_type)
      if (found === undefined) return yield* notSending(relayer.network_type)
      const { rules } = found.intake
      const { value: network } = yield* networks.get(networkId(relayer.network_type, relayer.network))
      const target = rules.targetOf({ relayer, network })
      // A network exists as long as its relayers do: this relayer was deleted meanwhile.
      if (target === undefined) return yield* new RelayerNotFound({})
      const account = { relayerId: relayer.id, relayerNumber: number, ...rules.laneOf(target) }
      const sender: Sender = { relayer, network, target, account }
      return { ...found, sender }
    },
    Effect.catchTag("NetworkNotFound", () => Effect.fail(new RelayerNotFound({})))
  )

  /** Of the caller's key for the network type of the relayer. */
  const limitsOf = ({ network_type }: Relayer) =>
    Effect.map(Caller.current, ({ transactionLimits }) => limitsFor(transactionLimits, network_type))

  const get = Effect.fnUntraced(function* (id: RelayerId) {
    return yield* senderOf(yield* relayers.get(id))
  })

  /**
   * For a request that sends, replaces or signs: with the limits of the caller's key for the network type of the relayer. A key
   * that has limits, but none of this type, is refused first, also if the service cannot send there.
   */
  const getLimited = Effect.fnUntraced(function* (id: RelayerId) {
    const stored = yield* relayers.get(id)
    const limits = yield* limitsOf(stored.value)
    if (Result.isFailure(limits)) return yield* TransactionLimitExceeded.of(limits.failure)
    return { ...(yield* senderOf(stored)), limits: limits.success }
  })

  return { get, getLimited, limitsOf, numberOf, hasSequences, typeOf }
})

export type Senders = Effect.Success<typeof makeSenders>

// The limits of fees per day that apply to a request, and what its caller reads if one of them is exceeded.

export const makeKeyFees = Effect.gen(function* () {
  const keys = yield* ApiKeys

  /** `limits`: of the caller's key. Without them, no key that it descends from has any. */
  const limitsOf = Effect.fnUntraced(function* ({ relayer }: Sender, limits: NetworkLimits | undefined) {
    return limits === undefined ? [] : yield* keys.feeLimits((yield* Caller.current).id, relayer.network_type)
  })

  /** A key learns nothing about the limit of a key above it, and about what its siblings have used. */
  const exceeded = Effect.fnUntraced(function* ({ keyId, limit, used }: FeeLimitExceeded, { relayer }: Sender) {
    const { id } = yield* Caller.current
    return yield* TransactionLimitExceeded.of({
      field: "fees",
      message:
        keyId === id
          ? `the max_fee_per_day of the API key is ${limit} ${units[relayer.network_type]}, of which ${used} are used`
          : "a key that the API key descends from has a max_fee_per_day, of which too little is left"
    })
  })

  return { limitsOf, exceeded }
})

// Decides which transactions a caller with limits may replace and cancel. A replacement redirects the payment of its sender, and its
// fees count for the key that sent it: a caller could use the rights of another key.

const ofAnotherKey = new TransactionLimitExceeded({
  error:
    "transaction_id: an API key with transaction_limits can only replace and cancel transactions that it or a key that it created has sent"
})

/** Whether a caller that may send from the relayer of the transaction may read the transaction, too: its sender may. */
export const mayRead = (caller: Caller.Caller, { apiKeyId }: Pick<StoredTransaction, "apiKeyId">): boolean =>
  Caller.hasScope(caller, "transactions:read") || apiKeyId === caller.id

export const makeOwnCheck = Effect.gen(function* () {
  const keys = yield* ApiKeys

  /** Fails if the caller has limits, and neither it nor a key that descends from it has sent the transaction. */
  return Effect.fnUntraced(function* ({ apiKeyId }: Pick<StoredTransaction, "apiKeyId">) {
    const { id, transactionLimits } = yield* Caller.current
    if (transactionLimits === undefined || apiKeyId === id) return
    if (apiKeyId === undefined || !(yield* keys.descendsFrom(apiKeyId, id))) return yield* ofAnotherKey
  })
})

// Signatures for callers: with the key of a relayer's signer, as outbound work of the caller.

/** The shortest `Retry-After`, in seconds, if the key service of the signer accepts no more requests. */
const minRetryAfter = 1

const signerUnavailable = (message: string) => new BadGateway({ error: `the signer of the relayer: ${message}` })

const signerFailed = ({ reason, message, retryAfter = 0 }: SignerUnavailable) =>
  reason === "throttled"
    ? new TooManyRequests({ retryAfter: Math.max(Math.ceil(retryAfter / 1000), minRetryAfter) })
    : signerUnavailable(`${message} (${reason})`)

/** A signature of another key would be one of another account. */
export const wrongKey = () => signerUnavailable("its key does not belong to the relayer's address")

export const makeSignerUse = Effect.gen(function* () {
  const signers = yield* Signers
  const outboundWork = yield* OutboundWork

  return Effect.fnUntraced(function* (
    { id, signer_id }: Relayer,
    { curve, message }: { readonly curve: Curve; readonly message: Uint8Array }
  ) {
    const logFailure = ({ reason, message, requestId }: SignerUnavailable) =>
      Effect.annotateLogs(Effect.logWarning("a caller gets no signature, because the key cannot be used"), {
        relayer_id: id,
        reason,
        error: message,
        ...(requestId === undefined ? {} : { key_service_request_id: requestId })
      })
    // A signer exists as long as its relayers do.
    const backend = yield* Effect.orDie(signers.use(signer_id))
    const signing = withRequestId(backend.sign(curve, message)).pipe(
      Effect.tapError(logFailure),
      Effect.mapError(signerFailed)
    )
    return yield* outboundWork.run(signing)
  })
})

// The providers of relayers, for requests: they are chosen and checked once, and kept for the next requests.

/** How many sets of providers are kept, and for how long. The restart of a test chain is noticed after this time. */
const capacity = 1000
const kept = Duration.minutes(1)

/** `place`: what the providers follow from, as JSON has it. */
export const makeKeptProviders = <Place, P>(choose: (place: Place) => Effect.Effect<P>) =>
  Effect.map(
    Cache.make<string, P>({
      capacity,
      timeToLive: kept,
      lookup: (key) => choose(JSON.parse(key) as Place)
    }),
    (cache) => (place: Place) => Cache.get(cache, JSON.stringify(place))
  )

// What callers get if no provider of a relayer answers.

export const unanswered = (what: string) => new BadGateway({ error: `no provider of the relayer ${what}` })

/** Each provider with its failure. */
export const toBadGateway = ({ failures }: NoProvider): BadGateway => {
  const texts = failures.map(({ url, failure }) => `${maskUrl(url)}: ${failure.text}`)
  return new BadGateway({
    error: texts.length === 0 ? "no RPC URL of the relayer has a weight above 0" : texts.join("; ")
  })
}

// What a network type other than evm says about the sequences of an account, for operators.

export interface SequenceNetwork {
  readonly type: string
  /** What the ledger has. */
  ofLedger(sender: Sender): Effect.Effect<ShownSequences>
  /** The same next to what the chain says, as far as a provider answers. */
  get(sender: Sender): Effect.Effect<ShownSequences, RelayerNotFound | TooManyRequests | NotImplemented>
  /** How many sequences are used and final, as every provider that answers says. */
  usedBelow(sender: Sender): Effect.Effect<bigint, RelayerNotFound | TooManyRequests>
  /** Ends the channels of the relayer's account that no other relayer wants. Absent: accounts of the network have no channels. */
  releaseChannels?(
    sender: Sender
  ): Effect.Effect<ShownSequences, RelayerNotFound | BadRequest | TransactionLimitExceeded>
  /** Why no sequence is cleared. */
  readonly notCleared: string
}
