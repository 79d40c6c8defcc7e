// Channels: the further accounts of a lane, their keys, and the transactions of the service that make and end them.
import { Clock, Effect, Option } from "effect"
import type { Redacted } from "effect"
import type { Moment } from "../../../domain/transaction/Moment.ts"
import type { LaneKey } from "../../../domain/transaction/Rules.ts"
import * as Transaction from "../../../sql/Transaction.ts"
import { commitSignalOf } from "../../lifecycle/Lifecycle.ts"
import { Secrets } from "../../secrets/Secrets.ts"
import type { Account } from "../NewTransaction.ts"
import type { StoredLane } from "../StoredLane.ts"
import * as ChannelsRepo from "./ChannelsRepo.ts"
import type { Work } from "./ChannelsRepo.ts"
import * as LanesRepo from "./LanesRepo.ts"

/** A lane with channels that are not ended. */
export interface LaneWithChannels extends LaneKey {
  readonly count: number
  /** The number of channels that are being made or ended, so that transactions cannot use them. */
  readonly unready: number
  /** The number of channels on which an open transaction has a place. */
  readonly used: number
}

/** A new account, with the seed of its key in hex. */
export interface NewChannel {
  readonly address: string
  readonly seed: Redacted.Redacted
}

export interface LaneChannels {
  /** None: nothing was accepted for the account, and it has no channels. */
  readonly lane: Option.Option<StoredLane>
  /** Whether a transaction is open that makes or ends channels. */
  readonly isWorking: boolean
  /** When such a transaction failed last. Absent: never. */
  readonly failedAt?: Moment
}

export interface ChannelWork extends Work {
  /** The new channels, and the counters that the network stores of each. */
  readonly channels: ReadonlyArray<NewChannel>
  readonly counters: unknown
}

/** The seal binds the key to the address: if somebody exchanges one of them, the service notices it. */
const placeOf = (address: string) => ({ table: "channel_keys", id: address, column: "key" })

export const make = Effect.gen(function* () {
  const repo = yield* ChannelsRepo.make
  const lanes = yield* LanesRepo.make
  const secrets = yield* Secrets
  const transaction = yield* Transaction.make
  const due = yield* commitSignalOf("lanes")

  const channelSeed = Effect.fn("LaneLedger.channelSeed")(function* (address: string) {
    const sealed = yield* repo.findKey(address)
    if (Option.isNone(sealed)) return Option.none()
    return yield* Effect.option(secrets.open(sealed.value, placeOf(address)))
  })

  const stateOf = Effect.fnUntraced(function* (lane: Option.Option<StoredLane>) {
    if (Option.isNone(lane)) return { lane, isWorking: false } satisfies LaneChannels
    const { failed_at, is_open } = yield* repo.work(lane.value.id)
    const state: LaneChannels = {
      lane,
      isWorking: is_open,
      ...(failed_at === undefined ? {} : { failedAt: failed_at })
    }
    return state
  })

  const channelsOf = Effect.fn("LaneLedger.channelsOf")((account: Account) =>
    Effect.flatMap(lanes.find(account), stateOf)
  )

  const sealedOf = ({ address, seed }: NewChannel) =>
    Effect.map(secrets.seal(seed, placeOf(address)), (sealed) => ({ address, sealed }))

  /** The lock prevents two processes from beginning the same work. */
  const beginChannelWork = Effect.fn("LaneLedger.beginChannelWork")(function* (
    account: Account,
    { channels, counters, ...work }: ChannelWork
  ) {
    yield* lanes.ensure([account])
    const { isWorking, lane } = yield* stateOf(yield* lanes.findLocked(account))
    if (isWorking || Option.isNone(lane)) return
    const { id } = lane.value
    yield* repo.insert(id, account, counters, yield* Effect.forEach(channels, sealedOf))
    yield* repo.insertWork(id, account, work, yield* Clock.currentTimeMillis)
    yield* due.afterCommit
  }, transaction)

  return { channelSeed, lanesWithChannels: repo.lanes, channelsOf, beginChannelWork }
})
