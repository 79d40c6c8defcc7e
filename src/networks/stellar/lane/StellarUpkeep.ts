// What the service begins itself on stellar lanes: channels with their keys, and restores. The metrics of these lanes are here, too.
// Any number of processes may do this at the same time. The holder of the lane sends the transactions.
import { Clock, Effect, Metric, Option, Redacted } from "effect"
import type { SecureRandom } from "effect/crypto"
import { Hex } from "effect/encoding"
import { SigningFailed } from "../../../server/lanes/LaneNetwork.ts"
import type { LaneWithChannels, NewChannel } from "../../../server/ledger/LaneChannels.ts"
import type { LaneLedger } from "../../../server/ledger/LaneLedger.ts"
import type { Ledger } from "../../../server/ledger/Ledger.ts"
import { isLaneOf, isTransactionOf } from "../../../server/ledger/LedgerEntries.ts"
import type { Account, StoredTransaction } from "../../../server/ledger/LedgerEntries.ts"
import type { RelayerTargets, WithChannels } from "../../../server/relayers/RelayerTargets.ts"
import { changedRowIn } from "../../../server/secrets/Secrets.ts"
import * as LocalKey from "../../../server/signers/backends/LocalKey.ts"
import type { SignerBackend } from "../../../server/signers/backends/SignerBackend.ts"
import { seqOf } from "../../../sql/Rows.ts"
import { present } from "../../core/Presentation.ts"
import { newestRequest } from "../../core/Transaction.ts"
import type { Transaction } from "../../core/Transaction.ts"
import { TransactionId } from "../../core/TransactionValues.ts"
import type { Moment } from "../../core/TransactionValues.ts"
import type { ChannelWork, Stellar, StellarRequest } from "../rules/Stellar.ts"
import { channelWorkPriority, channelWorkValidity } from "../rules/StellarNumbers.ts"
import { stellarRules } from "../rules/StellarRules.ts"
import type { NodeAnswer } from "../rules/StellarSeen.ts"
import { channelsOf, upkeepOf } from "../rules/StellarTerms.ts"
import type { Upkeep } from "../rules/StellarTerms.ts"
import { accountAddress } from "../../../domain/chain/StrKey.ts"

// The keys of channels. The service makes them and stores them sealed; the holder of the lane opens them.

const seedLength = 32

const addressOf = (backend: SignerBackend) => Effect.orDie(Effect.map(backend.publicKey("ed25519"), accountAddress))

/** A new key, and the address of its account. */
const generateChannelKey = Effect.fnUntraced(function* ({ randomBytes }: SecureRandom.SecureRandom["Service"]) {
  const seed = Redacted.make(Hex.encode(yield* randomBytes(seedLength)))
  return { address: yield* addressOf(LocalKey.make(seed)), seed }
})

const unusable = (address: string) =>
  new SigningFailed({
    code: "row_changed",
    message: `the key of the channel ${address} is not what the service stored`
  })

/** Keeps opened keys as long as this process holds the lane. */
export const makeChannelKeys = ({ channelSeed }: Pick<LaneLedger["Service"], "channelSeed">) => {
  const opened = new Map<string, SignerBackend>()

  const open = Effect.fnUntraced(function* (address: string) {
    const seed = yield* channelSeed(address)
    if (Option.isNone(seed)) return yield* unusable(address)
    const backend = LocalKey.make(seed.value)
    if ((yield* addressOf(backend)) !== address) return yield* unusable(address)
    opened.set(address, backend)
    return backend
  })

  const sign = Effect.fn("ChannelKeys.sign")(function* (address: string, hash: Uint8Array) {
    const backend = opened.get(address) ?? (yield* open(address))
    return { address, signature: yield* Effect.orDie(backend.sign("ed25519", hash)) }
  })

  return { sign }
}
export type ChannelKeys = ReturnType<typeof makeChannelKeys>

// The metrics that only lanes of stellar have.

const total = (name: string, description: string) => Metric.counter(name, { description, incremental: true })

const feesBid = total(
  "stellar_fees_bid_stroops_total",
  "What the envelopes that were applied had offered at most, in stroops. Envelopes that somebody else paid for are not counted."
)

const feesCharged = total(
  "stellar_fees_charged_stroops_total",
  "What the network has charged for these envelopes, in stroops."
)

const envelopesDead = total(
  "stellar_envelopes_dead_total",
  "Envelopes of transactions that became final which no ledger has applied: they died, or another one had their sequence."
)

const sequencesTaken = total(
  "stellar_sequences_taken_total",
  "Sequences of transactions that became final which something else had used: the key is used elsewhere."
)

const sends = total(
  "stellar_sends_total",
  "Answers of nodes to envelopes, by answer. `try_again_later`: the node has another one of the account, or has banned it."
)

const ledgerAge = Metric.gauge("stellar_ledger_age_seconds", {
  description: "Age of the newest ledger that the newest poll of a lane has seen, by network."
})

const channels = Metric.gauge("stellar_channels", {
  description: "Channels of all accounts, by state: `ready`, or `unready` while they are made or ended."
})

const placesInUse = Metric.gauge("stellar_channel_places_in_use", {
  description:
    "Channels of all accounts on which a transaction has a place. All in use for long: more channels send more."
})

export const stellarMetrics = [
  channels,
  placesInUse,
  feesBid,
  feesCharged,
  envelopesDead,
  sequencesTaken,
  sends,
  ledgerAge
]

const countFees = Effect.fnUntraced(function* ({ attempts, mined }: Transaction<Stellar>) {
  const applied = attempts.find(({ ordinal }) => ordinal === mined?.ordinal)
  if (applied === undefined || mined === undefined || mined.receipt.paid === 0n) return
  yield* Metric.update(feesBid, Number(applied.offer.fee))
  yield* Metric.update(feesCharged, Number(mined.receipt.paid))
})

/** Counts the fee, the dead envelopes and the foreign uses of a transaction when it becomes final. */
export const countFinal = Effect.fnUntraced(function* (transaction: Transaction<Stellar>) {
  const { attempts, mined, requeues } = transaction
  const dead = attempts.length - (mined === undefined || attempts.length === 0 ? 0 : 1)
  yield* countFees(transaction)
  yield* Metric.update(envelopesDead, dead)
  yield* Metric.update(sequencesTaken, requeues)
})

const nameOf = ({ status }: NodeAnswer): string => status.toLowerCase()

export const countAnswers = (answers: ReadonlyArray<NodeAnswer>) =>
  Effect.forEach(answers, (answer) => Metric.update(Metric.withAttributes(sends, { answer: nameOf(answer) }), 1), {
    discard: true
  })

/** `closeTime`: of the newest ledger. */
export const showLedgerAge = (network: string, closeTime: Moment, now: Moment) =>
  Metric.update(Metric.withAttributes(ledgerAge, { network }), Math.max(0, now - closeTime) / 1000)

const sumOf = <A>(items: ReadonlyArray<A>, of: (item: A) => number): number =>
  items.reduce((sum, item) => sum + of(item), 0)

const showChannels = Effect.fnUntraced(function* (lanes: ReadonlyArray<LaneWithChannels>) {
  const unready = sumOf(lanes, (lane) => lane.unready)
  const ready = sumOf(lanes, ({ count }) => count) - unready
  yield* Metric.update(Metric.withAttributes(channels, { state: "ready" }), ready)
  yield* Metric.update(Metric.withAttributes(channels, { state: "unready" }), unready)
  yield* Metric.update(
    placesInUse,
    sumOf(lanes, ({ used }) => used)
  )
})

/** A lane, and the number of channels that its relayers want. */
interface WantedChannels {
  /** The account, with the relayer that wants the most channels. The work belongs to this relayer. */
  readonly account: Account
  readonly count: number
}

const keyOf = ({ address, chain }: Pick<Account, "address" | "chain">): string => `${chain} ${address}`

/** Lanes by their key. */
const wantedIn = (relayers: ReadonlyArray<WantedChannels>): ReadonlyMap<string, WantedChannels> => {
  const lanes = new Map<string, WantedChannels>()
  for (const one of relayers) {
    const key = keyOf(one.account)
    const former = lanes.get(key)
    if (former === undefined || one.count > former.count) lanes.set(key, one)
  }
  return lanes
}

/** Lanes whose number of channels is wrong, or whose channels are being made or ended. */
const dueIn = (
  wanted: ReadonlyMap<string, WantedChannels>,
  lanes: ReadonlyArray<LaneWithChannels>
): ReadonlyArray<WantedChannels> => {
  const found = new Map(lanes.map((lane) => [keyOf(lane), lane]))
  return [...wanted].flatMap(([key, one]) => {
    const { count = 0, unready = 0 } = found.get(key) ?? {}
    return one.count === count && unready === 0 ? [] : [one]
  })
}

type Begun = Exclude<Upkeep, { readonly _tag: "Nothing" }>

const upkeepWorkOf = (upkeep: Begun, fresh: ReadonlyArray<NewChannel>): ChannelWork =>
  upkeep._tag === "Merge"
    ? { kind: "merge", addresses: upkeep.addresses }
    : { kind: "create", addresses: [...upkeep.again, ...fresh.map(({ address }) => address)] }

const creating: Stellar["counters"] = { stage: "creating" }

interface ChannelUpkeepParts {
  readonly ledger: Pick<LaneLedger["Service"], "lanesWithChannels" | "channelsOf" | "beginChannelWork">
  readonly targets: Pick<RelayerTargets["Service"], "get" | "withChannels">
  readonly random: SecureRandom.SecureRandom["Service"]
}

export const makeChannelUpkeep = ({ ledger, random, targets }: ChannelUpkeepParts): Effect.Effect<void> => {
  /** By id of the relayer: its lane, and the version of the relayer from which the lane was read. */
  const accounts = new Map<string, { readonly version: string; readonly account: Account }>()

  const accountOf = Effect.fnUntraced(function* ({ id, version }: WithChannels) {
    const known = accounts.get(id)
    if (known?.version === version) return known.account
    const target = stellarRules.targetOf(yield* targets.get(id))
    if (target === undefined) return undefined
    const relayerNumber = seqOf(version)
    const account: Account = { relayerId: id, relayerNumber, ...stellarRules.laneOf(target) }
    accounts.set(id, { version, account })
    return account
  })

  /** If the row of a relayer was changed in the database, its count is unknown, and nothing is done for its account. */
  const readable = Effect.fnUntraced(function* (relayers: ReadonlyArray<WithChannels>) {
    const unreadable = new Set<string>()
    const wanted: Array<WantedChannels> = []
    for (const relayer of relayers) {
      const account = yield* accountOf(relayer).pipe(
        Effect.catchTag("RelayerNotFound", () => Effect.succeed(undefined)),
        Effect.catchCause((cause) => {
          if (changedRowIn(cause) === undefined) return Effect.failCause(cause)
          return Effect.as(
            Effect.sync(() => unreadable.add(relayer.address)),
            undefined
          )
        })
      )
      if (account !== undefined) wanted.push({ account, count: relayer.channels })
    }
    return wanted.filter(({ account }) => !unreadable.has(account.address))
  })

  const begin = Effect.fnUntraced(function* ({ account, count }: WantedChannels) {
    const { failedAt, isWorking, lane } = yield* ledger.channelsOf(account)
    const now = yield* Clock.currentTimeMillis
    const stored = Option.getOrUndefined(lane)
    const channels = stored !== undefined && isLaneOf<Stellar>(stellarRules, stored) ? channelsOf(stored.lane) : []
    const upkeep = upkeepOf({
      wanted: count,
      channels,
      isWorking,
      now,
      ...(failedAt === undefined ? {} : { failedAt })
    })
    if (upkeep._tag === "Nothing") return
    const fresh =
      upkeep._tag === "Create" ? yield* Effect.replicateEffect(generateChannelKey(random), upkeep.fresh) : []
    yield* ledger.beginChannelWork(account, {
      id: TransactionId.make(yield* random.uuidV7()),
      request: { channels: upkeepWorkOf(upkeep, fresh) },
      priority: channelWorkPriority,
      validUntil: now + channelWorkValidity,
      channels: fresh,
      counters: creating
    })
  })

  return Effect.gen(function* () {
    const lanes = yield* ledger.lanesWithChannels(stellarRules.type)
    yield* showChannels(lanes)
    const relayers = yield* targets.withChannels(lanes.map(({ address }) => address))
    const wanted = wantedIn(yield* readable(relayers))
    yield* Effect.forEach(dueIn(wanted, lanes), begin, { discard: true })
  }).pipe(Effect.withSpan("ChannelUpkeep.run"))
}

// Begins restores of archived entries for calls that wait for them, if the requests of the calls pay for them.

interface RestoreUpkeepParts {
  readonly ledger: Pick<LaneLedger["Service"], "waitingForRestore" | "beginRestore">
  readonly transactions: Pick<Ledger["Service"], "get">
  readonly random: SecureRandom.SecureRandom["Service"]
}

/** The request of the restore: the newest version of the call, and its highest fee. */
const restoreWorkOf = ({ id, transaction }: StoredTransaction<Stellar>): StellarRequest => {
  const { max_fee, operations, transaction_xdr } = newestRequest(transaction)
  return {
    restore: {
      for: id,
      call: { ...present("operations", operations), ...present("transaction_xdr", transaction_xdr) }
    },
    ...present("max_fee", max_fee)
  }
}

export const makeRestoreUpkeep = ({ ledger, random, transactions }: RestoreUpkeepParts): Effect.Effect<void> =>
  Effect.gen(function* () {
    for (const { id, relayer_number } of yield* ledger.waitingForRestore(stellarRules.type)) {
      const stored = yield* transactions.get(relayer_number, id)
      if (!isTransactionOf<Stellar>(stellarRules, stored)) continue
      yield* ledger.beginRestore(stored.chain, id, {
        id: TransactionId.make(yield* random.uuidV7()),
        request: restoreWorkOf(stored),
        validUntil: stored.transaction.validUntil
      })
    }
  }).pipe(
    // The transaction was deleted meanwhile.
    Effect.catchTag("TransactionNotFound", () => Effect.void),
    Effect.withSpan("RestoreUpkeep.run")
  )
