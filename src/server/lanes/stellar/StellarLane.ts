// Stellar, as lanes ask for it: polls, answers to questions, signatures and broadcasts for one account.
import { Clock, Effect, Result } from "effect"
import { withAccount } from "../../../domain/transaction/Lane.ts"
import type { Lane } from "../../../domain/transaction/Lane.ts"
import { guard } from "../../../domain/transaction/stellar/Guard.ts"
import type { Stellar } from "../../../domain/transaction/stellar/Stellar.ts"
import { maxTimeOfGiven } from "../../../domain/transaction/stellar/StellarPlaces.ts"
import { stellarRules } from "../../../domain/transaction/stellar/StellarRules.ts"
import { accountOf as addressOf } from "../../../domain/transaction/stellar/StrKey.ts"
import { decodeWith } from "../../chains/stellar/StellarDecoding.ts"
import { hashIn, withSignatures } from "../../chains/stellar/StellarEnvelopes.ts"
import { termsOf } from "../../chains/stellar/StellarGuarding.ts"
import { library } from "../../chains/stellar/StellarLibrary.ts"
import { accountAt } from "../../chains/stellar/StellarLooks.ts"
import type { GivenAmong } from "../../chains/stellar/StellarLooks.ts"
import { send, StellarNodes } from "../../chains/stellar/StellarNodes.ts"
import { isSignedBy, networkIdOf } from "../../chains/stellar/StellarSignatures.ts"
import { wrongKey } from "../LaneKeys.ts"
import * as Metrics from "../LaneMetrics.ts"
import type {
  Finding,
  Inquiry,
  LaneChain,
  LaneOptions,
  Poll,
  PollOptions,
  SendingNetwork,
  Unsigned
} from "../LaneNetwork.ts"
import * as OwnAccounts from "./OwnAccounts.ts"
import { unsignedOf } from "./StellarBuilding.ts"
import * as StellarContext from "./StellarContext.ts"
import * as StellarMetrics from "./StellarMetrics.ts"
import * as StellarPolls from "./StellarPolls.ts"
import type { StellarPoll } from "./StellarPolls.ts"
import { modeOf, prepare } from "./StellarPreparing.ts"
import { prove } from "./StellarProofs.ts"

/** Envelopes of a lane that are on their way to a node at once. Each has an account of its own, so that they need no order. */
const inParallel = 16

/** The lane with the sequences that its providers show. */
const laneAfter = ({ lane, rows }: PollOptions<Stellar>, { seen }: StellarPoll): Lane<Stellar> => {
  const taken = new Set(rows.flatMap(({ transaction: { place } }) => (place === undefined ? [] : [place.account])))
  return lane.accounts.reduce((read, account) => {
    const shown = seen.flatMap(({ sighting }) => {
      if (sighting === undefined) return []
      const { sequence } = accountAt(sighting.accounts, account.address)
      return sequence === undefined ? [] : [sequence]
    })
    return withAccount(read, StellarPolls.accountAfter(account, shown, taken.has(account.address)))
  }, lane)
}

/** What lanes of stellar need of the service. */
interface Parts {
  readonly nodes: StellarNodes["Service"]
  readonly ownAccounts: Effect.Effect<ReadonlySet<string>>
}

const open = ({ nodes, ownAccounts }: Parts, { address, keys }: LaneOptions): LaneChain<Stellar> => {
  const context: StellarContext.StellarContext = { address, nodes, ownAccounts, memory: StellarContext.make() }
  const own = keys({ curve: "ed25519", isOwn: (publicKey) => Effect.succeed(addressOf(publicKey) === address) })
  /** What the newest poll saw, by `LaneRelayer.urlsKey`. */
  let polls = new Map<string, StellarPoll>()
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
    for (const relayer of new Map(rows.map((row) => [row.relayer.urlsKey, row.relayer])).values()) {
      const retryAt = now + stellarRules.pollInterval(relayer.target)
      const one = yield* StellarPolls.poll(context, relayer, addresses, given, now, retryAt)
      found.set(relayer.urlsKey, one)
      const closedAt = StellarPolls.newestCloseOf(one)
      if (closedAt !== undefined) yield* StellarMetrics.showLedgerAge(relayer.target.network.name, closedAt, now)
      yield* Metrics.countPoll(one.isOtherChain ? "chain_changed" : one.failure === undefined ? "seen" : "unreachable")
    }
    polls = found
    givenAmong = options.given
    const all = [...found.values()]
    const [{ relayer: lead }] = rows
    const led = found.get(lead.urlsKey)
    const result: Poll<Stellar> = {
      isAnswered: all.some(({ failure }) => failure === undefined),
      isOtherChain: all.some(({ isOtherChain }) => isOtherChain),
      seenOf: (row, at) => StellarPolls.seenOf(context, row, found.get(row.relayer.urlsKey), at),
      heightOf: ({ urlsKey }) => StellarPolls.heightOf(found.get(urlsKey)),
      ...(led === undefined || led.failure !== undefined
        ? {}
        : { reading: { lane: laneAfter(options, led), usedTrust: false, fillers: [], foreign: [] } })
    }
    return result
  })

  const answer = Effect.fnUntraced(function* (inquiry: Inquiry<Stellar>, now: number) {
    const { row, seen, question } = inquiry
    if (question === "prepare") {
      const preparation = yield* prepare(context, inquiry, now)
      return { seen: { ...seen, preparation } } satisfies Finding<Stellar>
    }
    const found = polls.get(row.relayer.urlsKey)
    if (found === undefined) return { seen } satisfies Finding<Stellar>
    return {
      seen: StellarPolls.seenIn(context, row, found, now, yield* prove(context, row, givenAmong))
    } satisfies Finding<Stellar>
  })

  const inquire: LaneChain<Stellar>["inquire"] = Effect.fn("StellarLane.inquire")(function* (_, inquiries) {
    const now = yield* Clock.currentTimeMillis
    return yield* Effect.forEach(inquiries, (inquiry) => answer(inquiry, now), { concurrency: inParallel })
  })

  /** The guard reads the final bytes: what it does not allow is never signed. */
  const check = Effect.fnUntraced(function* ({ place, relayer, request = {}, sign }: Unsigned<Stellar>, text: string) {
    const lib = yield* library
    const now = yield* Clock.currentTimeMillis
    const accounts = yield* ownAccounts
    const { target } = relayer
    const networkId = networkIdOf(target.network.passphrase)
    const isGuest = place.sequence === undefined
    // The rules are about what the user has signed, not about the fee bump around it.
    const checked = isGuest ? (request.transaction_xdr ?? "") : text
    const terms = termsOf(lib, { target, own: accounts, maxFee: request.max_fee, now })
    const decoded = decodeWith(lib, checked, { networkId, known: accounts })
    const guarded = Result.flatMap(decoded, (envelope) => guard(modeOf(request, isGuest), envelope, terms))
    if (Result.isFailure(guarded)) return yield* Effect.die(new Error(`is not signed: ${guarded.failure.code}`))
    if (sign.offer.fee > terms.cap) return yield* Effect.die(new Error("is not signed: its fee is above the cap"))
  })

  const sign = Effect.fn("StellarLane.sign")(function* (unsigned: Unsigned<Stellar>) {
    const {
      place,
      relayer,
      request = {},
      sign: { offer }
    } = unsigned
    const lib = yield* library
    const networkId = networkIdOf(relayer.target.network.passphrase)
    const { envelope, hash } = yield* unsignedOf(address, request, place, offer, networkId)
    yield* check(unsigned, envelope)
    const { signature, isChecked } = yield* own.sign(relayer.signerId, hash)
    if (!isChecked && !isSignedBy(address, hash, signature)) return yield* wrongKey()
    const signed = withSignatures(lib, envelope, [{ address, signature }])
    return { hash: Buffer.from(hash).toString("hex"), raw: signed.toXdr() }
  })

  return {
    poll,
    inquire,
    sign,
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

export const network = Effect.map(Effect.all({ nodes: StellarNodes, ownAccounts: OwnAccounts.make }), networkOf)
