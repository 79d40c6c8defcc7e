// What a request to send, replace or simulate passes before the ledger has it: its network decodes and checks the body. `evm/`
// has the intake of evm.
//
// - body: a request to send, as its network type has it
// - replacement: a request that takes the place of an earlier one
// - intake: decodes and checks both; it stores nothing and does not read the chain
// - sender: the relayer of a request, with its network and its lane
import { Cache, Clock, Context, Data, DateTime, Duration, Effect, Layer, Predicate, Result, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import type { HttpServerRequest } from "effect/http"
import * as Json from "../../api/Json.ts"
import * as Caller from "../../domain/access/Caller.ts"
import { TooManyRequests } from "../../domain/access/Caller.ts"
import { units } from "../../domain/chain/Amount.ts"
import { maskUrl } from "../../domain/chain/Rpc.ts"
import { networkId } from "../../domain/network/Network.ts"
import type { Network } from "../../domain/network/Network.ts"
import { RelayerNotFound } from "../../domain/relayer/Relayer.ts"
import type { Relayer, RelayerId } from "../../domain/relayer/Relayer.ts"
import { parse } from "../../domain/request/ExactJson.ts"
import { namesIn } from "../../domain/request/Field.ts"
import { BadGateway, BadRequest } from "../../domain/request/Request.ts"
import type { NotImplemented, Violation } from "../../domain/request/Request.ts"
import type { Curve } from "../../domain/signer/Signer.ts"
import type { Exchange, Family } from "../../networks/core/Family.ts"
import { present } from "../../networks/core/Presentation.ts"
import type { Rules, TransactionConflict } from "../../networks/core/Rules.ts"
import type { Route, Transaction } from "../../networks/core/Transaction.ts"
import { limitsFor, TransactionLimitExceeded } from "../../networks/core/TransactionLimits.ts"
import type { FeeLimitExceeded, NetworkLimits } from "../../networks/core/TransactionLimits.ts"
import { batchOf } from "../../networks/core/TransactionRequests.ts"
import { maxBatch } from "../../networks/core/TransactionValues.ts"
import type { Moment } from "../../networks/core/TransactionValues.ts"
import { ApiKeys } from "../access/ApiKeys.ts"
import { notServed } from "../chains/Chains.ts"
import type { NoProvider, Providers } from "../chains/Providers.ts"
import type { RpcFailure } from "../chains/RpcFailure.ts"
import type { RpcNode } from "../chains/RpcNode.ts"
import type {
  Account,
  GivenSignature,
  IssuedSignature,
  NamedBody,
  RememberedTerms,
  StoredTransaction
} from "../ledger/LedgerEntries.ts"
import { OutboundWork } from "../limits/RateLimits.ts"
import { Networks } from "../networks/Networks.ts"
import { Relayers } from "../relayers/Relayers.ts"
import { RelayerTargets } from "../relayers/RelayerTargets.ts"
import type { RelayerTarget } from "../relayers/RelayerTargets.ts"
import type { StoredRelayer } from "../relayers/StoredRelayer.ts"
import { Signers } from "../signers/Signers.ts"
import { withRequestId } from "../signers/backends/SignerBackend.ts"
import type { SignerUnavailable } from "../signers/backends/SignerBackend.ts"
import type { Transfers } from "./Transfers.ts"

/** A body as it arrived. The network of its relayer decides how it is decoded. */
export class JsonBody extends Data.Class<{ readonly text: string }> {}

/** `RequestBody` has read it. */
export const bodyOf = ({ request }: { readonly request: HttpServerRequest.HttpServerRequest }) =>
  Effect.map(Effect.orDie(request.text), (text) => new JsonBody({ text }))

/** The relayer of a request. */
export interface Sender<F extends Family = Family> {
  readonly relayer: Relayer
  readonly network: Network
  readonly target: F["target"]
  readonly account: Account
}

interface AdmissionOptions {
  readonly now: Moment
  /** Of the caller's key for this network type. Absent: it has none. */
  readonly limits: NetworkLimits | undefined
  /** Path of the request in the body, such as `transactions.0.`. Errors name a field with it. */
  readonly prefix: string
}

/** What the ledger stores of a body. */
export interface Admitted<F extends Family = Family> {
  readonly request: F["request"]
  readonly facts: F["facts"]
  readonly validUntil: Moment
  readonly notBefore?: Moment
  readonly priority: number
  readonly requiredSequence?: bigint
  /** Absent: it is public. */
  readonly route?: Route
  readonly externalId?: string
  /**
   * What its fees can cost, in the smallest unit, as far as the body says so. The rest is counted when it is signed. It counts
   * for the `max_fee_per_day` of API keys.
   */
  readonly fee: bigint
}

/** Identifies a body, so that its repeats are recognized. */
type Names = Pick<NamedBody, "externalId" | "identity">

interface AdmittedReplacement<F extends Family = Family> {
  readonly request: F["request"]
  /** Absent: the deadline stays. */
  readonly validUntil?: Moment
}

interface ReplacementOptions<F extends Family> extends AdmissionOptions {
  /** As it is now. What the replacement does not say stays, and so does its route, whatever the policy says by now. */
  readonly transaction: Transaction<F>
}

type Refused = BadRequest | TransactionLimitExceeded | TransactionConflict | NotImplemented

type Unasked = RelayerNotFound | BadRequest | BadGateway | TooManyRequests

/** What the key signs, and what becomes of its signature. */
interface Unsigned extends Pick<GivenSignature, "fee" | "end" | "offer" | "outflow" | "sequence"> {
  readonly curve: Curve
  readonly message: Uint8Array
  /** Undefined: the signature does not belong to the relayer's address. */
  seal(signature: Uint8Array): Effect.Effect<Pick<GivenSignature, "hash" | "raw"> | undefined>
}

/** A request to sign that the rules of its bytes allow. */
export interface Signable {
  /** As `GivenSignature` has it: the same bytes are signed once. */
  readonly identity: string
  /** Checks what needs the chain. */
  readonly unsigned: Effect.Effect<Unsigned, Unasked>
}

/** How a network type signs bytes that a caller sends. */
export interface Signing<F extends Family, X extends Exchange> {
  readonly body: Schema.Codec<X["request"], unknown>
  admit(body: X["request"], sender: Sender<F>, options: AdmissionOptions): Effect.Effect<Signable, Refused>
  show(issued: IssuedSignature): X["response"]
}

/** An answer that stores and signs nothing. */
export interface Answering<F extends Family, X extends Exchange> {
  readonly body: Schema.Codec<X["request"], unknown>
  answer(body: X["request"], sender: Sender<F>): Effect.Effect<X["response"], Unasked>
}

/** What a network type makes of bodies. */
export interface Intake<F extends Family = Family> {
  readonly rules: Rules<F>
  readonly body: Schema.Codec<F["body"], unknown>
  readonly replacement: Schema.Codec<F["replacement"], unknown>
  /**
   * What is wrong with single members of a body that is not decoded, beside what its schema says of them. Rules say it of a body that is
   * decoded. Absent: nothing.
   */
  readonly faultsOf?: (given: Readonly<Record<string, unknown>>) => Effect.Effect<ReadonlyArray<Violation>>
  /** Neither the time nor policies nor limits change them: a body that is no longer accepted keeps its names. */
  namesOf(body: F["body"], target: F["target"]): Effect.Effect<Names>
  admit(body: F["body"], sender: Sender<F>, options: AdmissionOptions): Effect.Effect<Admitted<F>, Refused>
  admitReplacement(
    replacement: F["replacement"],
    sender: Sender<F>,
    options: ReplacementOptions<F>
  ): Effect.Effect<AdmittedReplacement<F>, Refused>
  /** Whether the newest version of the transaction is what the replacement asks for. */
  isNewest(replacement: F["replacement"], transaction: Transaction<F>): boolean
  /**
   * What the body would do and cost now. `forbidden`: the API key has limits, but none of this network type. Absent: the
   * network type has no simulation.
   */
  simulate?(
    body: F["body"],
    sender: Sender<F>,
    options: Omit<AdmissionOptions, "prefix"> & { readonly forbidden: Violation | undefined }
  ): Effect.Effect<F["simulation"], Unasked>
  /** Absent: relayers of the network type are not topped up. */
  readonly transfers?: Transfers<F, Sender<F>>
  /** False: sequences of transactions mean nothing on the chain, so that no transaction is found by one. Absent: they do. */
  readonly hasSequences?: false
  /** Absent: the network type signs nothing that it does not send. */
  readonly signing?: Signing<F, F["signing"]>
  /** Quotes and builds transactions whose users pay in a token. Absent: no user can. */
  readonly quote?: Answering<F, F["quote"]>
  readonly build?: Answering<F, F["build"]>
}

/** What a new version takes over from the former one, and from the API key that asked for it. */
interface Inherited {
  readonly wait_for_funds?: boolean | undefined
  readonly max_value?: bigint | undefined
}

/** Whether the newest of several versions is this request with this deadline. Undefined: the deadline stayed as it was. */
export const isNewestOf = <R extends Inherited>(codec: Schema.Codec<R, unknown>) => {
  const encode = Schema.encodeUnknownSync(codec)
  const textOf = (request: R) => JSON.stringify(encode(request))
  return (
    { validUntil, versions }: Pick<Transaction, "validUntil"> & { readonly versions: ReadonlyArray<R> },
    request: R,
    deadline: DateTime.Utc | undefined
  ): boolean => {
    const newest = versions.at(-1)
    if (newest === undefined || versions.length === 1) return false
    const { max_value, wait_for_funds } = newest
    const inherited = { ...present("max_value", max_value), ...present("wait_for_funds", wait_for_funds) }
    return (
      textOf(newest) === textOf({ ...inherited, ...request }) &&
      (deadline === undefined || DateTime.toEpochMillis(deadline) === validUntil)
    )
  }
}

const parseOptions = { errors: "all", onExcessProperty: "error" } as const

/** The fields of the same kind of body, by network type. */
type KnownFields = ReadonlyMap<string, ReadonlySet<string>>

/** A body that is not decoded, or one of a batch, with its path. */
interface Undecoded {
  readonly prefix: string
  readonly members: Readonly<Record<string, unknown>>
}

/** The body, or the bodies of a batch. */
const undecodedIn = (text: string): ReadonlyArray<Undecoded> => {
  const given = Result.getOrUndefined(Result.try(() => parse(text)))
  const isBatch = Predicate.hasProperty(given, "transactions") && Array.isArray(given.transactions)
  const bodies: ReadonlyArray<unknown> = isBatch ? (given.transactions as ReadonlyArray<unknown>) : [given]
  return bodies
    .slice(0, maxBatch)
    .flatMap((body, index) =>
      Predicate.isObject(body) ? [{ prefix: isBatch ? `transactions.${index}.` : "", members: { ...body } }] : []
    )
}

/** What is said first of a body that has more fields of another network type than of that of its relayer. */
const ofOtherType = (type: string, known: KnownFields, bodies: ReadonlyArray<Undecoded>): ReadonlyArray<Violation> => {
  const names = new Set(bodies.flatMap(({ members }) => Object.keys(members)))
  const countOf = (fields: ReadonlySet<string> | undefined) => [...names].filter((name) => fields?.has(name)).length
  const [other] = [...known]
    .map(([other, fields]) => ({ other, count: countOf(fields) }))
    .toSorted((one, other) => other.count - one.count)
  if (other === undefined || other.count <= countOf(known.get(type))) return []
  return [{ field: "body", message: `has fields of ${other.other}, and the network type of the relayer is ${type}` }]
}

/** Reads a body that arrived as JSON, and checks one that a host program gives. */
const readerOf = <A>(
  schema: Schema.Codec<A, unknown>,
  type: string,
  known: KnownFields,
  faultsOf: NonNullable<Intake["faultsOf"]> = () => Effect.succeed([])
) => {
  const ofText = Schema.decodeUnknownEffect(Json.fromText(schema), parseOptions)
  const ofValue = Schema.decodeUnknownEffect(Schema.toType(schema), parseOptions)
  const saidFirst = Effect.fnUntraced(function* ({ text }: JsonBody) {
    const bodies = undecodedIn(text)
    const faults = yield* Effect.forEach(bodies, ({ prefix, members }) =>
      Effect.map(faultsOf(members), (found) =>
        found.map(({ field, message }) => ({ field: `${prefix}${field}`, message }))
      )
    )
    return [...ofOtherType(type, known, bodies), ...faults.flat()]
  })
  return (given: unknown): Effect.Effect<A, BadRequest> =>
    (given instanceof JsonBody ? ofText(given.text) : ofValue(given)).pipe(
      Effect.catch(({ issue }) =>
        Effect.flatMap(given instanceof JsonBody ? saidFirst(given) : Effect.succeed([]), (first) =>
          Effect.fail(BadRequest.fromIssue(issue, "body", first))
        )
      )
    )
}

/**
 * Equal bodies have the same text, however their amounts were written and their fields are ordered. The ledger keeps its hash to
 * recognize repeats, so the text of a body is the same in every version of the service.
 */
export const textOf = (body: Schema.Codec<unknown, unknown>) => {
  const encode = Schema.encodeUnknownSync(body)
  return (given: unknown): string => JSON.stringify(encode(given))
}

/** The schema of each kind of body. Unknown: the network type has none. */
const schemasOf = ({ body, replacement, signing, quote, build }: Intake) => ({
  body,
  replacement,
  signing: signing?.body ?? Schema.Unknown,
  quote: quote?.body ?? Schema.Unknown,
  build: build?.body ?? Schema.Unknown
})

/** Schemas are compiled once per network, not for each request. `all`: the intakes of all network types. */
const readersOf = (intake: Intake, all: ReadonlyArray<Intake>) => {
  const schemas = schemasOf(intake)
  const { type } = intake.rules
  const knownOf = (kind: keyof typeof schemas): KnownFields =>
    new Map(all.map((one) => [one.rules.type, namesIn(schemasOf(one)[kind])]))
  return {
    body: readerOf(schemas.body, type, knownOf("body"), intake.faultsOf),
    batch: readerOf(batchOf(schemas.body), type, knownOf("body"), intake.faultsOf),
    replacement: readerOf(schemas.replacement, type, knownOf("replacement"), intake.faultsOf),
    signing: readerOf(schemas.signing, type, knownOf("signing")),
    quote: readerOf(schemas.quote, type, knownOf("quote")),
    build: readerOf(schemas.build, type, knownOf("build"))
  }
}

const networkOf = (intake: Intake, all: ReadonlyArray<Intake>) => ({
  intake,
  read: readersOf(intake, all),
  textOf: textOf(intake.body)
})

/** An intake, and the readers of its bodies. */
export type IntakeNetwork = ReturnType<typeof networkOf>

/** The networks whose requests this process takes. A host program may replace one. */
export class Intakes extends Context.Service<
  Intakes,
  {
    /** By the network type of a relayer. Undefined: this process takes no requests to send there. */
    of(networkType: string): IntakeNetwork | undefined
  }
>()("effect-relayer/server/transactions/Intake/Intakes") {
  /** @internal */
  static readonly layer = <E, R>(intakes: Effect.Effect<ReadonlyArray<Intake>, E, R>) =>
    Layer.effect(
      Intakes,
      Effect.map(intakes, (all) => {
        const byType = new Map<string, IntakeNetwork>(all.map((intake) => [intake.rules.type, networkOf(intake, all)]))
        return Intakes.of({ of: (networkType) => byType.get(networkType) })
      })
    ).pipe(Layer.provide(SecureRandom.layerWebCrypto))
}

// The relayer of a request: its network, its lane, its providers and its signer, and what the caller's key may do there.

// Terms of relayers are remembered. Remembered terms only permit: the ledger compares them when it accepts, and what they refuse is decided again
// after a fresh read. A relayer that does not exist is not remembered.

/**
 * Nanoseconds for which terms are remembered, from the start of their reading. Also after a pause of the process. At 50 transactions a second,
 * each of twenty relayers sends one every 400 ms: terms that were kept for a second were read anew for 36 % of them.
 */
const termsKept = 30_000_000_000n

/** Relayers whose terms are remembered. */
const maxKnown = 10_000

interface RememberedSender<A> {
  readonly readAt: bigint
  readonly found: A
  isCompared: boolean
}

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
    function* ({ value: relayer, number, state }: StoredRelayer) {
      const found = intakes.of(relayer.network_type)
      if (found === undefined) return yield* notServed(relayer.network_type)
      const { rules } = found.intake
      const { value: network, origins } = yield* networks.get(networkId(relayer.network_type, relayer.network))
      const target = rules.targetOf({ relayer, network })
      // A network exists as long as its relayers do: this relayer was deleted meanwhile.
      if (target === undefined) return yield* new RelayerNotFound({})
      const account = {
        relayerId: relayer.id,
        relayerNumber: number,
        ...present("notificationId", relayer.notification_id),
        ...rules.laneOf(target)
      }
      const sender: Sender = { relayer, network, target, account }
      const terms: RememberedTerms | undefined = state === undefined ? undefined : { relayer: state, networks: origins }
      return { ...found, sender, terms }
    },
    Effect.catchTag("NetworkNotFound", () => Effect.fail(new RelayerNotFound({})))
  )

  /** The limits that the caller's key has for the network type of the relayer. */
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

  const known = new Map<RelayerId, RememberedSender<Effect.Success<ReturnType<typeof senderOf>>>>()

  /** As `getLimited`. What it returns is remembered, unless it fails. */
  const getRemembering = Effect.fnUntraced(function* (id: RelayerId) {
    const readAt = yield* Clock.monotonicTimeNanos
    const { limits, ...found } = yield* getLimited(id)
    if (known.size >= maxKnown) known.clear()
    known.set(id, { readAt, found, isCompared: known.get(id)?.isCompared ?? true })
    return { limits, ...found }
  })

  /** What `getRemembering` has returned lately. Undefined: it has to be called, because nothing is remembered that could permit a request. */
  const remembered = Effect.fnUntraced(function* (id: RelayerId) {
    const one = known.get(id)
    if (one === undefined || !one.isCompared) return undefined
    const { sender, terms, ...network } = one.found
    if (terms === undefined) return undefined
    if ((yield* Clock.monotonicTimeNanos) - one.readAt > termsKept) return undefined
    const limits = yield* limitsOf(sender.relayer)
    if (Result.isFailure(limits)) return undefined
    return { ...network, sender: { ...sender, account: { ...sender.account, terms } }, limits: limits.success }
  })

  /** Whether the ledger could compare remembered terms when it accepts what a relayer sends, as its last request was. */
  const note = (id: RelayerId, isCompared: boolean): void => {
    const one = known.get(id)
    if (one !== undefined) one.isCompared = isCompared
  }

  return { get, getLimited, getRemembering, remembered, note, limitsOf, numberOf, hasSequences, typeOf }
})

export type Senders = Effect.Success<typeof makeSenders>

/** The relayer of a request, and what the caller's key may do there. */
export type Limited = Omit<Effect.Success<ReturnType<Senders["getLimited"]>>, "terms">

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

/**
 * `chain`: what says which chain it is, as JSON has it. Undefined: the first provider that is asked decides. `urlsOf`: those of the relayer that
 * are asked.
 */
export const makeRelayerProviders = Effect.fnUntraced(function* <
  Chain extends string | number | undefined,
  P extends Providers
>(
  choose: (urls: RelayerTarget["urls"], chain: Chain) => Effect.Effect<P>,
  urlsOf: (target: RelayerTarget) => RelayerTarget["urls"] = ({ urls }) => urls
) {
  const targets = yield* RelayerTargets
  const all = yield* Cache.make<string, P>({
    capacity,
    timeToLive: kept,
    lookup: (key) => {
      const { chain, urls } = JSON.parse(key) as { readonly chain: Chain; readonly urls: RelayerTarget["urls"] }
      return choose(urls, chain)
    }
  })

  const of = (id: RelayerId, chain: Chain) =>
    Effect.flatMap(targets.get(id), (target) => Cache.get(all, JSON.stringify({ urls: urlsOf(target), chain })))

  /** Asks a provider, and the next one if it fails. */
  const first = <A>(providers: P, use: (node: RpcNode) => Effect.Effect<A, RpcFailure>) =>
    Effect.mapError(providers.tryAll(use), toBadGateway)

  return { of, first }
})

// What callers get if no provider of a relayer answers.

export const unanswered = (what: string) => new BadGateway({ error: `no provider of the relayer ${what}` })

/** Each provider with its failure. */
const toBadGateway = ({ failures }: NoProvider): BadGateway => {
  const texts = failures.map(({ url, failure }) => `${maskUrl(url)}: ${failure.text}`)
  return new BadGateway({
    error: texts.length === 0 ? "no RPC URL of the relayer has a weight above 0" : texts.join("; ")
  })
}
