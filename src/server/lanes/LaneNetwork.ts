// What a lane asks of its network: to read the chain, to sign and to send. The rules of the network decide, and only the lane
// writes. The terms:
//
// - lane: the transactions of one account on one chain, in one order; one process at a time holds it
// - family, rules: the shapes and the pure functions of a network type (`networks/core/Rules.ts`)
// - poll: one reading of the chain for all open transactions of the lane
// - seen: what a poll has found out about one transaction
// - question: what a decision needs to know besides what the poll has seen; `inquire` answers it
// - place: an account of the lane and a sequence there, where the bytes of a transaction count; on evm the sequence is the nonce
// - filler: bytes that use up a sequence which no transaction has
// - foreign: a transaction of the account that no attempt of the ledger names
// - broadcast: the bytes that a commit has stored go to nodes
// - step: poll, decide, sign, commit, send; in this order
import { Clock, Context, Effect, Layer, Metric, Result, Schema } from "effect"
import type { Array as Arr } from "effect"
import type { RpcConfig } from "../../domain/chain/Rpc.ts"
import type { RelayerId } from "../../domain/relayer/Relayer.ts"
import type { Curve, SignerId } from "../../domain/signer/Signer.ts"
import type { Cause } from "../../networks/core/Cause.ts"
import type { Family } from "../../networks/core/Family.ts"
import { present } from "../../networks/core/Presentation.ts"
import type { Totals } from "../../networks/core/Queue.ts"
import { agreeing } from "../../networks/core/Rows.ts"
import type { Destination, OwnDoubt, Rules, Sign, Unreachable } from "../../networks/core/Rules.ts"
import type { Lane, Terms, Transaction } from "../../networks/core/Transaction.ts"
import type { Moment, Place } from "../../networks/core/TransactionValues.ts"
import type { Opinion, Providers } from "../chains/Providers.ts"
import { failureToReport } from "../chains/RpcFailure.ts"
import type { RpcFailure } from "../chains/RpcFailure.ts"
import type { GivenPlace, LaneLost, StoredLane } from "../ledger/LedgerEntries.ts"
import { changedRowIn } from "../secrets/Secrets.ts"
import type { Signers } from "../signers/Signers.ts"
import { withRequestId } from "../signers/backends/SignerBackend.ts"
import type { SignerBackend, SignerUnavailable } from "../signers/backends/SignerBackend.ts"

// The keys of a lane. A key is opened again after a while, and after a failure.

/** The key cannot be used now. */
export class SigningFailed extends Schema.TaggedError<SigningFailed>()("SigningFailed", {
  code: Schema.Literals(["signer_unavailable", "throttled", "row_changed"]),
  message: Schema.String,
  /** Milliseconds after which the key service accepts the next request. Absent: it does not say. */
  retryAfter: Schema.optionalKey(Schema.Finite),
  /** The id of the request at the key service. */
  requestId: Schema.optionalKey(Schema.String)
}) {}

export interface KeyOptions {
  readonly curve: Curve
  /** Whether a public key belongs to the account of the lane. */
  isOwn(publicKey: Uint8Array): Effect.Effect<boolean>
}

interface KeySignature {
  readonly signature: Uint8Array
  /** The id of the request at the key service. Absent: there was none. */
  readonly requestId?: string
  /** Whether the key cannot change while it is open, so that the check of its opening holds for this signature. */
  readonly isChecked: boolean
}

export interface LaneKeys {
  sign(signerId: SignerId, message: Uint8Array): Effect.Effect<KeySignature, SigningFailed>
}

const unavailable = ({ reason, message, retryAfter, requestId }: SignerUnavailable) =>
  new SigningFailed({
    code: reason === "throttled" ? "throttled" : "signer_unavailable",
    message,
    ...(retryAfter === undefined ? {} : { retryAfter }),
    ...(requestId === undefined ? {} : { requestId })
  })

const rowChanged = (message: string) => new SigningFailed({ code: "row_changed", message })

/** A signature of another key would be a transaction of another account. */
export const wrongKey = () =>
  new SigningFailed({ code: "signer_unavailable", message: "the key does not belong to the relayer's address" })

/** Nanoseconds. After this time, the row of a signer is read again, because another instance may have disabled the signer. */
const keptFor = 5_000_000_000n

interface Opened {
  readonly backend: SignerBackend
  /** Nanoseconds of the monotonic clock. The row is read again after this time. */
  readonly until: bigint
}

export const makeLaneKeys = (signers: Pick<Signers["Service"], "use">, { curve, isOwn }: KeyOptions): LaneKeys => {
  const opened = new Map<SignerId, Opened>()
  const opening = new Map<SignerId, Effect.Effect<SignerBackend, SigningFailed>>()

  const use = (id: SignerId) =>
    signers.use(id).pipe(
      Effect.catchTag("SignerNotFound", () => Effect.fail(rowChanged("the signer is not in the database"))),
      Effect.catchCause((cause) => {
        const row = changedRowIn(cause)
        return row === undefined ? Effect.failCause(cause) : Effect.fail(rowChanged(row.message))
      })
    )

  const openNow = Effect.fnUntraced(function* (id: SignerId) {
    const now = yield* Clock.monotonicTimeNanos
    const backend = yield* use(id)
    if (backend.hasFixedKey === true) {
      const publicKey = yield* Effect.mapError(backend.publicKey(curve), unavailable)
      if (!(yield* isOwn(publicKey))) return yield* wrongKey()
    }
    opened.set(id, { backend, until: now + keptFor })
    return backend
  })

  /** Signatures that begin at the same time share one opening of their key. */
  const open = Effect.fnUntraced(function* (id: SignerId) {
    const found = opened.get(id)
    if (found !== undefined && (yield* Clock.monotonicTimeNanos) < found.until) return found.backend
    const shared = opening.get(id) ?? (yield* Effect.cachedWithTTL(openNow(id), 0))
    opening.set(id, shared)
    return yield* shared
  })

  const sign: LaneKeys["sign"] = Effect.fn("LaneNetwork.sign")(function* (id, message) {
    const backend = yield* open(id)
    const { signature, requestId } = yield* withRequestId(backend.sign(curve, message)).pipe(
      // Its row is read again for the next signature, because the signer may have been enabled or disabled.
      Effect.tapError(() => Effect.sync(() => opened.delete(id))),
      Effect.mapError(unavailable)
    )
    const isChecked = backend.hasFixedKey === true
    return requestId === undefined ? { signature, isChecked } : { signature, isChecked, requestId }
  })

  return { sign }
}

/** A relayer whose transactions are in the lane, as it is now. */
export interface LaneRelayer<F extends Family = Family> {
  readonly id: RelayerId
  readonly signerId: SignerId
  readonly target: F["target"]
  readonly urls: ReadonlyArray<RpcConfig>
  /** The same text means the same providers. */
  readonly urlsKey: string
  /** Private providers, which get bytes and estimates alone. Absent: there are none. */
  readonly privateUrls?: ReadonlyArray<RpcConfig>
  /** Whether `urls` are the relayer's own, and not those of its network. */
  readonly hasOwnUrls: boolean
  /** Milliseconds, as the network is configured. */
  readonly blockTime: number
  readonly isPaused: boolean
  readonly disabled: Terms["disabled"]
}

/** An open transaction with its relayer. */
export interface LaneRow<F extends Family = Family> {
  readonly transaction: Transaction<F>
  readonly relayer: LaneRelayer<F>
}

/** A signature that uses up a sequence which no transaction has. */
export interface Filler<F extends Family = Family> {
  readonly place: Place
  readonly request: F["request"]
  readonly sign: Sign<F>
}

/** What a poll has found out about the lane as a whole. */
export interface LaneReading<F extends Family = Family> {
  /**
   * With the counters that the poll believes. Accounts that are new in it belong to the lane from now on, unless another lane
   * has them.
   */
  readonly lane: Lane<F>
  /** Transactions that may be in flight at most now, if the account allows fewer than the network. Absent: it does not. */
  readonly windowLimit?: number
  /** Accounts that no longer belong to the lane, and are not in `lane`. They stay while an open transaction has a place there. */
  readonly released?: ReadonlyArray<string>
  /** Why the lane gives away no places. */
  readonly stop?: Cause
  /** Identity of the chain, once it is known. */
  readonly genesis?: string
  /** Whether this poll has used the operator's answer that the count of the chain is right. */
  readonly usedTrust: boolean
  /** Final transactions of the first account from this sequence on are open again: a reorganisation was deeper than final. */
  readonly openFrom?: bigint
  readonly fillers: ReadonlyArray<Filler<F>>
  /** Transactions that no attempt names. The lane marks the requests that they could be, before it decides anything else. */
  readonly foreign: ReadonlyArray<F["foreign"]>
}

export interface Poll<F extends Family = Family> {
  /** Whether the providers of at least one relayer answered. */
  readonly isAnswered: boolean
  /** Whether a provider is on another chain than the lane. */
  readonly isOtherChain: boolean
  /** What the poll has seen of the row, also if the row has changed since. */
  seenOf(row: LaneRow<F>, now: Moment): F["seen"] | Unreachable
  /** Why the relayer's providers allow no transaction a place, or only some. Absent, or undefined: they allow all. */
  doubtOf?(relayer: LaneRelayer<F>): OwnDoubt | undefined
  /** The newest height that the relayer's providers have. */
  heightOf(relayer: LaneRelayer<F>): number
  /** Absent: no provider answered about the lane. */
  readonly reading?: LaneReading<F>
}

export interface PollOptions<F extends Family = Family> {
  readonly lane: Lane<F>
  readonly stored: Pick<StoredLane, "genesis" | "trustsCount" | "code" | "databaseStartedAt">
  /** Open transactions, in the order in which they were accepted. */
  readonly rows: Arr.NonEmptyReadonlyArray<LaneRow<F>>
  readonly totals: Totals<F>
  /** Whether the signer can sign now. If not, no filler can be made. */
  readonly canSign: boolean
  readonly now: Moment
  /** Sequences of the first account from this one on that the ledger has given away. */
  committed(from: bigint): Effect.Effect<ReadonlyArray<bigint>, LaneLost>
  /** Sequences of the first account from this one on that a final transaction has used. */
  mined(from: bigint): Effect.Effect<ReadonlyArray<bigint>, LaneLost>
  /** Those of the hashes that belong to attempts of the lane's transactions. */
  own(hashes: ReadonlyArray<string>): Effect.Effect<ReadonlySet<string>>
  /** Those of the hashes that belong to signatures that callers got: they are not foreign. */
  given(hashes: ReadonlyArray<string>): Effect.Effect<ReadonlySet<string>>
  /** Signatures that callers got, at sequences of the first account that are not used yet. */
  readonly givenPlaces: Effect.Effect<ReadonlyArray<GivenPlace>>
}

/** A row with a question about it. */
export interface Inquiry<F extends Family = Family> {
  readonly row: LaneRow<F>
  readonly seen: F["seen"]
  readonly question: F["question"]
}

export interface Finding<F extends Family = Family> {
  /** With the answer. */
  readonly seen: F["seen"]
  /** Foreign transactions that the answers have shown. */
  readonly foreign?: ReadonlyArray<F["foreign"]>
}

/** What is to be signed. Without a request, nothing is to happen at the place. */
export interface Unsigned<F extends Family = Family> {
  readonly lane: Lane<F>
  readonly relayer: LaneRelayer<F>
  readonly request: F["request"] | undefined
  readonly place: Place
  readonly sign: Pick<Sign<F>, "kind" | "offer">
}

export interface SignedBytes<F extends Family = Family> {
  readonly hash: string
  readonly raw: Uint8Array
  /** The offer with values that are known only after the signature. Absent: the offer of the decision. */
  readonly offer?: F["offer"]
}

/** A held lane on its chain. It writes nothing, and forgets everything with the lane. */
export interface LaneChain<F extends Family = Family> {
  poll(options: PollOptions<F>): Effect.Effect<Poll<F>, LaneLost>
  /** Answers questions, in their order. */
  inquire(lane: Lane<F>, inquiries: Arr.NonEmptyReadonlyArray<Inquiry<F>>): Effect.Effect<ReadonlyArray<Finding<F>>>
  sign(unsigned: Unsigned<F>): Effect.Effect<SignedBytes<F>, SigningFailed>
  /** `sends`: how often these bytes were sent before. Of bytes for both kinds of providers, only what normal ones answer counts. */
  broadcast(
    relayer: LaneRelayer<F>,
    raw: Uint8Array,
    sends: number,
    destination: Destination
  ): Effect.Effect<ReadonlyArray<F["answer"]>>
  /** Transactions on their way to a node at once. 1: each one after the chain has accepted the former. */
  broadcastsAtOnce(relayers: ReadonlyArray<LaneRelayer<F>>): number
  /** Updates metrics of the network after a transaction became final. `apiKeyId`: the key that sent it. */
  noteFinal(transaction: Transaction<F>, apiKeyId?: string): Effect.Effect<void>
}

export interface LaneOptions {
  /** Such as `evm:8453`. */
  readonly chain: string
  /** The first account of the lane. */
  readonly address: string
  /** Identity of the chain, by which a restart of a test chain is noticed. Undefined: no poll has shown it yet. */
  readonly genesis: string | undefined
  /** Opens keys of signers. */
  keys(options: KeyOptions): LaneKeys
}

export interface SendingNetwork<F extends Family = Family> {
  readonly rules: Rules<F>
  open(lane: LaneOptions): LaneChain<F>
  /** Loads what the first signature of a process would wait for. */
  readonly warmUp: Effect.Effect<void>
  /** Begins the service's own transactions, such as work on channels. Each process runs it repeatedly. Absent: there are none. */
  readonly upkeep?: Effect.Effect<void>
}

/** The networks that this process sends for. A host program may replace one. */
export class SendingNetworks extends Context.Service<
  SendingNetworks,
  {
    /** Their network types. Lanes of other types are left to other processes. */
    readonly types: ReadonlyArray<string>
    /** By the chain of a lane, such as `evm:8453`. Undefined: this process does not send there. */
    of(chain: string): SendingNetwork | undefined
    /** Loads what the first signatures of the process would wait for. */
    readonly warmUp: Effect.Effect<void>
    /** Begins the own transactions of all networks. */
    readonly upkeep: Effect.Effect<void>
  }
>()("effect-relayer/server/lanes/LaneNetwork/SendingNetworks") {
  static readonly layer = <E, R>(networks: Effect.Effect<ReadonlyArray<SendingNetwork>, E, R>) =>
    Layer.effect(
      SendingNetworks,
      Effect.map(networks, (all) => {
        const byType = new Map(all.map((network) => [network.rules.type, network]))
        return SendingNetworks.of({
          warmUp: Effect.forEach(all, ({ warmUp }) => warmUp, { discard: true }),
          upkeep: Effect.forEach(all, ({ upkeep = Effect.void }) => upkeep, { discard: true }),
          types: [...byType.keys()],
          of: (chain) => byType.get(chain.split(":", 1)[0] ?? chain)
        })
      })
    )
}

// The providers of a lane. The lane keeps them while a process holds it, so that the same node answers from poll to poll.

/** What a lane remembers of its chain and of those who answer for it. */
export interface ProviderMemory<P> {
  /** Hash of the first block. Undefined: no poll has stored it yet. */
  genesis: string | undefined
  /** By genesis hash and `LaneRelayer.urlsKey`. */
  readonly providers: Map<string, P>
}

const keyOf = (genesis: string, urlsKey: string) => `${genesis} ${urlsKey}`

/** `make`: new providers, which have to prove that they are on the chain of the lane. */
export const rememberedProviders = Effect.fnUntraced(function* <P extends Pick<Providers, "genesis">>(
  { genesis = "", providers }: ProviderMemory<P>,
  urlsKey: string,
  make: Effect.Effect<P>
) {
  const found = providers.get(keyOf(genesis, urlsKey))
  if (found !== undefined) return found
  // Those of the first poll of a lane have found the first block themselves: they are proven to be on this chain.
  const first = providers.get(keyOf("", urlsKey))
  const isSame = first?.genesis !== undefined && (yield* first.genesis) === genesis
  const made = isSame ? first : yield* make
  providers.set(keyOf(genesis, urlsKey), made)
  return made
})

// The polls of a lane: each set of providers is asked once, for all transactions that share it.

export const lanePollsTotal = Metric.counter("lane_polls_total", {
  description: "Polls of chains for open transactions, by outcome.",
  incremental: true
})

/** Milliseconds of one poll of a set of providers, over all its questions. */
export const pollBudget = 10_000

/** Empty: the time of the poll was over before each provider had answered or failed. */
export const withinPoll = <A>(opinions: Effect.Effect<ReadonlyArray<Opinion<A>>>) =>
  Effect.timeoutOrElse(opinions, { duration: pollBudget, orElse: () => Effect.succeed<ReadonlyArray<Opinion<A>>>([]) })

/** The failure of a poll in which no provider answered. */
export const failureOf = <A>(opinions: ReadonlyArray<Opinion<A>>): RpcFailure =>
  failureToReport(opinions.flatMap(({ url, result }) => (Result.isFailure(result) ? [result.failure.at(url)] : [])))

/** The first relayer of each set of providers: what a poll sees for it holds for the others with this set. */
export const firstOfEachSet = <R extends Pick<LaneRelayer, "urlsKey">>(relayers: Iterable<R>): ReadonlyArray<R> => {
  const found = new Map<string, R>()
  for (const relayer of relayers) if (!found.has(relayer.urlsKey)) found.set(relayer.urlsKey, relayer)
  return [...found.values()]
}

/** A set of providers that answered a poll, and what the poll saw with it. */
export interface AnsweredSet<F extends Family, P> {
  /** The first one that uses the set. */
  readonly relayer: LaneRelayer<F>
  readonly poll: P
}

/**
 * The sets of providers that answered a poll, in the order in which they may speak for the lane. URLs of the network come first: a
 * relayer's own ones may be those of a caller that may use this relayer alone.
 */
export const answeredSets = <F extends Family, P>(
  { rows }: Pick<PollOptions<F>, "rows">,
  polls: ReadonlyMap<string, P>
): ReadonlyArray<AnsweredSet<F, P>> =>
  firstOfEachSet(rows.map(({ relayer }) => relayer))
    .toSorted((one, other) => Number(one.hasOwnUrls) - Number(other.hasOwnUrls))
    .flatMap((relayer) => {
      const poll = polls.get(relayer.urlsKey)
      return poll === undefined ? [] : [{ relayer, poll }]
    })

/** Remembers since when only one provider of a set has an opinion. `speaking`: how many have one in this poll. */
export const noteAlone = (
  aloneSince: Map<string, Moment>,
  { urlsKey }: Pick<LaneRelayer, "urlsKey">,
  { configured, speaking }: { readonly configured: number; readonly speaking: number },
  now: Moment
): void => {
  if (configured < agreeing || speaking !== 1) aloneSince.delete(urlsKey)
  else if (!aloneSince.has(urlsKey)) aloneSince.set(urlsKey, now)
}

const unreachable = ({ code, host, text }: RpcFailure, retryAt: Moment): Unreachable => ({
  _tag: "Unreachable",
  code: code === "rate_limited" ? code : "providers_unavailable",
  retryAt,
  ...present("figures", host === undefined ? undefined : { host, error: text })
})

/** How a network polls. `P`: what it finds out with one set of providers. */
interface Polling<F extends Family, P> {
  readonly rules: Pick<Rules<F>, "pollInterval">
  /** `rows`: all that share the providers of the relayer. Fails with `mismatch` if all of them are on another chain. */
  ask(relayer: LaneRelayer<F>, rows: ReadonlyArray<LaneRow<F>>): Effect.Effect<P, RpcFailure>
  seenIn(found: P, row: LaneRow<F>, now: Moment): F["seen"]
  heightIn(found: P): number
}

/** `polls`: by `LaneRelayer.urlsKey`, of the sets of providers that answered. */
export const pollSets = Effect.fnUntraced(function* <F extends Family, P>(
  { rows, now }: Pick<PollOptions<F>, "rows" | "now">,
  { rules, ask, seenIn, heightIn }: Polling<F, P>
) {
  const polls = new Map<string, P>()
  const failures = new Map<string, Unreachable>()
  let isOtherChain = false
  for (const relayer of firstOfEachSet(rows.map((row) => row.relayer))) {
    const { target, urlsKey } = relayer
    const shared = rows.filter((row) => row.relayer.urlsKey === urlsKey)
    const asked = yield* Effect.result(ask(relayer, shared))
    if (Result.isSuccess(asked)) polls.set(urlsKey, asked.success)
    else failures.set(urlsKey, unreachable(asked.failure, now + rules.pollInterval(target)))
    const isMismatch = Result.isFailure(asked) && asked.failure.code === "mismatch"
    isOtherChain ||= isMismatch
    const outcome = isMismatch ? "chain_changed" : Result.isSuccess(asked) ? "seen" : "unreachable"
    yield* Metric.update(Metric.withAttributes(lanePollsTotal, { outcome }), 1)
  }
  const poll: Poll<F> = {
    isAnswered: polls.size > 0,
    isOtherChain,
    seenOf: (row, at) => {
      const { target, urlsKey } = row.relayer
      const found = polls.get(urlsKey)
      if (found !== undefined) return seenIn(found, row, at)
      const failure = failures.get(urlsKey)
      if (failure !== undefined && failure.retryAt > at) return failure
      const code = failure?.code ?? "providers_unavailable"
      return { _tag: "Unreachable", code, retryAt: at + rules.pollInterval(target) }
    },
    heightOf: ({ urlsKey }) => {
      const found = polls.get(urlsKey)
      return found === undefined ? 0 : heightIn(found)
    }
  }
  return { polls, poll }
})
