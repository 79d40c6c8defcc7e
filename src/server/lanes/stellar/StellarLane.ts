// Stellar, as lanes ask for it: polls, answers to questions, signatures and broadcasts for one account.
import { Clock, Effect } from "effect"
import { SecureRandom } from "effect/crypto"
import type { Stellar } from "../../../domain/transaction/stellar/Stellar.ts"
import { maxTimeOfGiven } from "../../../domain/transaction/stellar/StellarPlaces.ts"
import { stellarRules } from "../../../domain/transaction/stellar/StellarRules.ts"
import { accountOf as addressOf } from "../../../domain/transaction/stellar/StrKey.ts"
import { hashIn } from "../../chains/stellar/StellarEnvelopes.ts"
import { library } from "../../chains/stellar/StellarLibrary.ts"
import type { GivenAmong } from "../../chains/stellar/StellarLooks.ts"
import { send, StellarNodes } from "../../chains/stellar/StellarNodes.ts"
import { networkIdOf } from "../../chains/stellar/StellarSignatures.ts"
import { LaneLedger } from "../../ledger/LaneLedger.ts"
import { Ledger } from "../../ledger/Ledger.ts"
import { PriceSource } from "../../prices/PriceSource.ts"
import { RelayerTargets } from "../../relayers/RelayerTargets.ts"
import type { Lane } from "../../../domain/transaction/Transaction.ts"
import { firstOfEachSet } from "../LaneNetwork.ts"
import type { Finding, Inquiry, LaneChain, LaneOptions, Poll, PollOptions, SendingNetwork } from "../LaneNetwork.ts"
import * as LaneTelemetry from "../LaneTelemetry.ts"
import * as ChannelKeys from "./ChannelKeys.ts"
import * as ChannelUpkeep from "./ChannelUpkeep.ts"
import * as RestoreUpkeep from "./RestoreUpkeep.ts"
import * as OwnAccounts from "./OwnAccounts.ts"
import * as StellarContext from "./StellarContext.ts"
import * as StellarMetrics from "./StellarMetrics.ts"
import * as StellarPolls from "./StellarPolls.ts"
import type { StellarPoll } from "./StellarPolls.ts"
import { prepare } from "./StellarPreparing.ts"
import { prove } from "./StellarProofs.ts"
import { isRestarted, readingOf } from "./StellarReading.ts"
import * as StellarSigner from "./StellarSigner.ts"

/** Envelopes of a lane that are prepared, or on their way to a node, at once. Each has an account of its own, so they need no order. */
const inParallel = 16

/** What lanes of stellar need of the service. */
interface Parts {
  readonly nodes: StellarNodes["Service"]
  readonly prices: PriceSource["Service"]
  readonly ownAccounts: OwnAccounts.OwnAccounts
  readonly ledger: Pick<LaneLedger["Service"], "channelSeed">
}

const open = ({ ledger, nodes, ownAccounts, prices }: Parts, { address, keys }: LaneOptions): LaneChain<Stellar> => {
  const context: StellarContext.StellarContext = { address, nodes, ownAccounts, prices, memory: StellarContext.make() }
  const ownKey = keys({ curve: "ed25519", isOwn: (publicKey) => Effect.succeed(addressOf(publicKey) === address) })
  /** What the newest poll saw, by `LaneRelayer.urlsKey`. */
  let polls = new Map<string, StellarPoll>()
  /** Finds signatures that callers got, by the ledger of the newest poll. */
  let givenAmong: GivenAmong = () => Effect.succeed(new Set())

  const poll = Effect.fn("StellarLane.poll")(function* (options: PollOptions<Stellar>) {
    const { lane, rows, now } = options
    const addresses = StellarPolls.addressesOf(lane, rows)
    const found = new Map<string, StellarPoll>()
    const given = (yield* options.givenPlaces).map(({ hash, sequence, validUntil }) => ({
      hash,
      sequence,
      maxTime: maxTimeOfGiven(validUntil)
    }))
    for (const relayer of firstOfEachSet(rows.map(({ relayer }) => relayer))) {
      const retryAt = now + stellarRules.pollInterval(relayer.target)
      const one = yield* StellarPolls.poll(context, relayer, addresses, given, now, retryAt)
      found.set(relayer.urlsKey, one)
      const closedAt = StellarPolls.newestCloseOf(one)
      if (closedAt !== undefined) yield* StellarMetrics.showLedgerAge(relayer.target.network.name, closedAt, now)
      yield* LaneTelemetry.countPoll(
        one.isOtherChain ? "chain_changed" : one.failure === undefined ? "seen" : "unreachable"
      )
    }
    polls = found
    givenAmong = options.given
    const all = [...found.values()]
    const [{ relayer: lead }] = rows
    const leadPoll = found.get(lead.urlsKey)
    const isAnew = leadPoll !== undefined && lead.target.network.is_testnet && isRestarted(lane.accounts[0], leadPoll)
    const result: Poll<Stellar> = {
      isAnswered: all.some(({ failure }) => failure === undefined),
      isOtherChain: isAnew || all.some(({ isOtherChain }) => isOtherChain),
      seenOf: (row, at) => StellarPolls.seenOf(context, row, found.get(row.relayer.urlsKey), at),
      heightOf: ({ urlsKey }) => StellarPolls.heightOf(found.get(urlsKey)),
      ...(leadPoll === undefined || leadPoll.failure !== undefined || isAnew
        ? {}
        : { reading: { ...readingOf(options, leadPoll), usedTrust: false, fillers: [], foreign: [] } })
    }
    return result
  })

  const answer = Effect.fnUntraced(function* (lane: Lane<Stellar>, inquiry: Inquiry<Stellar>, now: number) {
    const { row, seen, question } = inquiry
    if (question === "prepare") {
      const preparation = yield* prepare(context, lane, inquiry, now)
      return { seen: { ...seen, preparation } } satisfies Finding<Stellar>
    }
    const found = polls.get(row.relayer.urlsKey)
    if (found === undefined) return { seen } satisfies Finding<Stellar>
    return {
      seen: StellarPolls.seenIn(context, row, found, now, yield* prove(context, row, givenAmong))
    } satisfies Finding<Stellar>
  })

  const inquire: LaneChain<Stellar>["inquire"] = Effect.fn("StellarLane.inquire")(function* (lane, inquiries) {
    const now = yield* Clock.currentTimeMillis
    return yield* Effect.forEach(inquiries, (inquiry) => answer(lane, inquiry, now), { concurrency: inParallel })
  })

  return {
    poll,
    inquire,
    sign: StellarSigner.make({ address, ownAccounts, own: ownKey, channelKeys: ChannelKeys.make(ledger) }),
    broadcast: Effect.fnUntraced(function* (relayer: StellarContext.StellarRelayer, raw: Uint8Array, sends: number) {
      const lib = yield* library
      const providers = yield* StellarContext.providersOf(context, relayer)
      const text = Buffer.from(raw).toString("base64")
      const hash = hashIn(lib, text, networkIdOf(relayer.target.network.passphrase))
      const answers = yield* providers.broadcast(send(lib, text, hash), sends)
      yield* StellarMetrics.countAnswers(answers)
      return answers
    }),
    broadcastsAtOnce: () => inParallel,
    noteFinal: StellarMetrics.countFinal
  }
}

export const networkOf = (parts: Parts): SendingNetwork<Stellar> => ({
  rules: stellarRules,
  open: (lane) => open(parts, lane),
  warmUp: Effect.asVoid(library)
})

export const network = Effect.gen(function* () {
  const ledger = yield* LaneLedger
  const transactions = yield* Ledger
  const targets = yield* RelayerTargets
  const random = yield* SecureRandom.SecureRandom
  const network: SendingNetwork<Stellar> = {
    ...networkOf({
      nodes: yield* StellarNodes,
      prices: yield* PriceSource,
      ownAccounts: yield* OwnAccounts.make,
      ledger
    }),
    upkeep: Effect.andThen(
      ChannelUpkeep.make({ ledger, targets, random }),
      RestoreUpkeep.make({ ledger, transactions, random })
    )
  }
  return network
}).pipe(Effect.provide(SecureRandom.layerWebCrypto))
