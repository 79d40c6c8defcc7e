// Keeps as many channels on each lane as its relayers want: begins transactions that make or end channels. Any number of processes
// may do this at the same time. The holder of the lane sends the transactions.
import { Clock, Effect, Option } from "effect"
import type { SecureRandom } from "effect/crypto"
import { channelsOf, upkeepOf } from "../../../domain/transaction/stellar/Channels.ts"
import type { Upkeep } from "../../../domain/transaction/stellar/Channels.ts"
import type { ChannelWork, Stellar } from "../../../domain/transaction/stellar/Stellar.ts"
import { channelWorkPriority, channelWorkValidity } from "../../../domain/transaction/stellar/StellarNumbers.ts"
import { stellarRules } from "../../../domain/transaction/stellar/StellarRules.ts"
import { seqOf } from "../../../sql/Rows.ts"
import type { LaneLedger } from "../../ledger/LaneLedger.ts"
import { TransactionId } from "../../../domain/transaction/TransactionValues.ts"
import type { LaneWithChannels, NewChannel } from "../../ledger/LaneChannels.ts"
import { isLaneOf } from "../../ledger/LedgerEntries.ts"
import type { Account } from "../../ledger/LedgerEntries.ts"
import type { RelayerTargets, WithChannels } from "../../relayers/RelayerTargets.ts"
import { changedRowIn } from "../../secrets/RowMacs.ts"
import { generate } from "./ChannelKeys.ts"
import * as StellarMetrics from "./StellarMetrics.ts"

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

const workOf = (upkeep: Begun, fresh: ReadonlyArray<NewChannel>): ChannelWork =>
  upkeep._tag === "Merge"
    ? { kind: "merge", addresses: upkeep.addresses }
    : { kind: "create", addresses: [...upkeep.again, ...fresh.map(({ address }) => address)] }

const creating: Stellar["counters"] = { stage: "creating" }

interface Parts {
  readonly ledger: Pick<LaneLedger["Service"], "lanesWithChannels" | "channelsOf" | "beginChannelWork">
  readonly targets: Pick<RelayerTargets["Service"], "get" | "withChannels">
  readonly random: SecureRandom.SecureRandom["Service"]
}

export const make = ({ ledger, random, targets }: Parts): Effect.Effect<void> => {
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
    const fresh = upkeep._tag === "Create" ? yield* Effect.replicateEffect(generate(random), upkeep.fresh) : []
    yield* ledger.beginChannelWork(account, {
      id: TransactionId.make(yield* random.uuidV7()),
      request: { channels: workOf(upkeep, fresh) },
      priority: channelWorkPriority,
      validUntil: now + channelWorkValidity,
      channels: fresh,
      counters: creating
    })
  })

  return Effect.gen(function* () {
    const lanes = yield* ledger.lanesWithChannels(stellarRules.type)
    yield* StellarMetrics.showChannels(lanes)
    const relayers = yield* targets.withChannels(lanes.map(({ address }) => address))
    const wanted = wantedIn(yield* readable(relayers))
    yield* Effect.forEach(dueIn(wanted, lanes), begin, { discard: true })
  }).pipe(Effect.withSpan("ChannelUpkeep.run"))
}
