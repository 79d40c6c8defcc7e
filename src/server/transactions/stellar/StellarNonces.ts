// The sequences of a stellar relayer's account, for operators.
import { Clock, DateTime, Effect, Option } from "effect"
import { publicSettings } from "../../../domain/transaction/stellar/LedgerSettings.ts"
import type { LedgerSettings } from "../../../domain/transaction/stellar/LedgerSettings.ts"
import type { Stellar } from "../../../domain/transaction/stellar/Stellar.ts"
import type { StellarNonceState } from "../../../domain/transaction/stellar/StellarNonceState.ts"
import { maxTimeOfGiven } from "../../../domain/transaction/stellar/StellarPlaces.ts"
import { momentOf } from "../../../domain/transaction/stellar/Stellar.ts"
import { stellarRules } from "../../../domain/transaction/stellar/StellarRules.ts"
import { Ledger } from "../../ledger/Ledger.ts"
import { lockedBy } from "../../../domain/relayer/Policy.ts"
import { OutboundWork } from "../../limits/CallerLimits.ts"
import { Relayers } from "../../relayers/Relayers.ts"
import type { Sender } from "../Intake.ts"
import { present } from "../../../domain/transaction/Presentation.ts"
import type { Lane } from "../../../domain/transaction/Transaction.ts"
import type { TransactionId } from "../../../domain/transaction/TransactionValues.ts"
import { isLaneOf } from "../../ledger/LedgerEntries.ts"
import type { GivenPlace, StoredLane } from "../../ledger/LedgerEntries.ts"
import type { SequenceNetwork } from "../Senders.ts"
import * as RelayerChain from "./RelayerChain.ts"

/** `places`: open transactions by channel. */
const channelFields = (
  lane: Lane<Stellar> | undefined,
  places: ReadonlyMap<string, TransactionId>,
  { baseReserve }: LedgerSettings
) => {
  const [, ...channels] = lane?.accounts ?? []
  const shown = channels.map(({ address, counters, nextSequence }) => ({
    address,
    stage: counters?.stage ?? ("creating" as const),
    next_sequence: nextSequence,
    ...present("transaction_id", places.get(address))
  }))
  return { channels: shown, locked_by_channels: lockedBy(shown.length, baseReserve) }
}

const noPlaces: ReadonlyMap<string, TransactionId> = new Map()

const laneFields = (found: Option.Option<StoredLane>) => {
  if (Option.isNone(found)) return { generation: 0, next_sequence: 0n, used_sequence: 0n }
  const { lane, code, codeSince } = found.value
  const [{ nextSequence, chainSequence }] = lane.accounts
  return {
    generation: lane.generation,
    next_sequence: nextSequence,
    used_sequence: chainSequence > 0n ? chainSequence - 1n : 0n,
    ...present("code", code),
    ...present("code_since", codeSince === undefined ? undefined : DateTime.makeUnsafe(codeSince))
  }
}

const givenOf = ({ hash, sequence, validUntil }: GivenPlace) => ({
  hash,
  sequence,
  valid_until: DateTime.makeUnsafe(momentOf(maxTimeOfGiven(validUntil)))
})

export const make = Effect.gen(function* () {
  const ledger = yield* Ledger
  const chain = yield* RelayerChain.make
  const outboundWork = yield* OutboundWork
  const relayers = yield* Relayers

  /** What the network has voted, as its providers have said it not long ago. */
  const settingsOf = (sender: Sender) =>
    outboundWork
      .run(Effect.flatMap(chain.providersOf(sender), ({ settings }) => settings))
      .pipe(Effect.orElseSucceed(() => publicSettings))

  const ofLedger = Effect.fnUntraced(function* (sender: Sender) {
    const { account } = sender
    const lane = yield* ledger.laneOf(account)
    const { inFlight, oldestSequence, pending } = yield* ledger.countLane(account)
    const stored = Option.getOrUndefined(lane)
    const isKnown = stored !== undefined && isLaneOf<Stellar>(stellarRules, stored)
    const given = isKnown ? yield* ledger.givenPlaces(stored.id, yield* Clock.currentTimeMillis) : []
    const places = isKnown ? yield* ledger.channelPlaces(stored.id) : noPlaces
    const hasChannels = isKnown && stored.lane.accounts.length > 1
    const settings = hasChannels ? yield* settingsOf(sender) : publicSettings
    const state: StellarNonceState = {
      address: account.address,
      ...laneFields(lane),
      pending,
      in_flight: inFlight,
      ...present("oldest_open_sequence", oldestSequence),
      given: given.map(givenOf),
      ...channelFields(isKnown ? stored.lane : undefined, places, settings)
    }
    return state
  })

  const ofChain = Effect.fnUntraced(
    function* (sender: Sender, { address, channels }: StellarNonceState) {
      const addresses = [address, ...channels.map((channel) => channel.address)]
      const { newest, of } = yield* chain.look(yield* chain.providersOf(sender), addresses)
      return {
        chain_ledger: newest,
        ...present("chain_sequence", of.get(address)?.sequence),
        channels: channels.map((channel) => ({
          ...channel,
          ...present("chain_sequence", of.get(channel.address)?.sequence)
        }))
      }
    },
    Effect.catchTag("BadGateway", () => Effect.succeed({}))
  )

  /** The update names no version, so `PreconditionFailed` cannot happen. */
  const releaseChannels = Effect.fnUntraced(function* (sender: Sender) {
    yield* Effect.catchTag(
      relayers.update(sender.relayer.id, { policies: { channels: { count: 0 } } }),
      "PreconditionFailed",
      Effect.die
    )
    return yield* ofLedger(sender)
  })

  /** Without an account, or without a provider that answers, no sequence counts as used. */
  const usedBelow = Effect.fnUntraced(function* (sender: Sender) {
    const { address } = sender.account
    const looks = yield* chain.lookEach(yield* chain.providersOf(sender), [address])
    const used = looks.map(({ of }) => (of.get(address)?.sequence ?? -1n) + 1n)
    return used.length === 0 ? 0n : used.reduce((least, one) => (one < least ? one : least))
  })

  const nonces: SequenceNetwork = {
    type: stellarRules.type,
    ofLedger,
    get: Effect.fnUntraced(function* (sender: Sender) {
      const known = yield* ofLedger(sender)
      return { ...known, ...(yield* outboundWork.run(ofChain(sender, known))) }
    }),
    releaseChannels,
    usedBelow: (sender) => outboundWork.run(usedBelow(sender)),
    notCleared:
      "accounts of stellar have no gaps: a sequence that no envelope has used is free when its envelopes are dead; cancel the transactions instead"
  }
  return nonces
})
