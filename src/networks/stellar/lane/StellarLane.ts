// Stellar, as lanes ask for it: polls, answers to questions, signatures and broadcasts for one account.
import { Clock, Effect, Result } from "effect"
import type { Array as Arr } from "effect"
import { SecureRandom } from "effect/crypto"
import { answeredSets, pollSets, wrongKey } from "../../../server/lanes/LaneNetwork.ts"
import type {
  Finding,
  Inquiry,
  LaneChain,
  LaneKeys,
  LaneOptions,
  LaneReading,
  LaneRow,
  Poll,
  PollOptions,
  SendingNetwork,
  SignedBytes,
  Unsigned
} from "../../../server/lanes/LaneNetwork.ts"
import { LaneLedger } from "../../../server/ledger/LaneLedger.ts"
import { Ledger } from "../../../server/ledger/Ledger.ts"
import { PriceSource } from "../../../server/prices/PriceSource.ts"
import { RelayerTargets } from "../../../server/relayers/RelayerTargets.ts"
import { present } from "../../core/Presentation.ts"
import { neededOf } from "../../core/Rows.ts"
import { isFinal, newestRequest } from "../../core/Transaction.ts"
import type { Lane, LaneAccount } from "../../core/Transaction.ts"
import type { Moment, Place } from "../../core/TransactionValues.ts"
import { decodeWith, termsOf } from "../chain/StellarDecoding.ts"
import { givenIn } from "../chain/StellarDrafts.ts"
import * as StellarEncoding from "../chain/StellarEncoding.ts"
import {
  bumped,
  channelWorkOf,
  hashIn,
  onChannel,
  placed,
  restoring,
  withSignatures
} from "../chain/StellarEncoding.ts"
import type { Signature, UnsignedEnvelope } from "../chain/StellarEncoding.ts"
import { isSignedBy, library, networkIdOf, textOf } from "../chain/StellarLibrary.ts"
import type { Library } from "../chain/StellarLibrary.ts"
import * as StellarLooks from "../chain/StellarLooks.ts"
import type { GivenAmong } from "../chain/StellarLooks.ts"
import { send, StellarNodes } from "../chain/StellarNodes.ts"
import { channelInnerFee } from "../rules/DecideSignature.ts"
import type { Envelope, Refusal } from "../rules/Envelope.ts"
import { guard } from "../rules/Guard.ts"
import { momentOf } from "../rules/Stellar.ts"
import type { ChannelWork, Stellar, StellarOffer, StellarRequest } from "../rules/Stellar.ts"
import { maxClockDifference } from "../rules/StellarNumbers.ts"
import { stellarRules } from "../rules/StellarRules.ts"
import { accountAfter, leftOf, maxTimeOfGiven, stageAfter, workRefusal } from "../rules/StellarTerms.ts"
import { accountAddress as addressOf } from "../../../domain/chain/StrKey.ts"
import {
  makeOwnAccounts,
  makeStellarMemory,
  movingAccounts,
  newestCloseOf,
  polledAddresses,
  polledHeight,
  pollProviders,
  prove,
  providersOf,
  seenIn
} from "./StellarContext.ts"
import type { OwnAccounts, StellarContext, StellarPoll, StellarRelayer } from "./StellarContext.ts"
import { modeOf, prepare } from "./StellarPreparing.ts"
import {
  countAnswers,
  countFinal,
  makeChannelKeys,
  makeChannelUpkeep,
  makeRestoreUpkeep,
  showLedgerAge
} from "./StellarUpkeep.ts"
import type { ChannelKeys } from "./StellarUpkeep.ts"

// The accounts of a lane after a poll: their sequences as the providers show them, the stages of channels, and whether the network was
// restarted.

type Account = LaneAccount<Stellar>

/** An account starts at the number of the ledger that created it, shifted left by 32 bits (`getStartingSequenceNumber`). */
const bornAt = (sequence: bigint): bigint => sequence >> 32n

/** The sequence of an account at each provider that shows it. */
const sequencesOf = ({ seen }: StellarPoll, address: string): ReadonlyArray<bigint> =>
  seen.flatMap(({ sighting }) => {
    if (sighting === undefined) return []
    const { sequence } = StellarLooks.accountAt(sighting.accounts, address)
    return sequence === undefined ? [] : [sequence]
  })

/**
 * Whether a test network was restarted: every asked provider shows an account that is older than the one whose sequences the lane
 * knows. A provider that is behind shows the same account, and one alone of two may lie.
 */
const isRestarted = ({ address, settledSequence }: Account, found: StellarPoll): boolean => {
  const shown = sequencesOf(found, address)
  const asked = Math.max(1, neededOf(found))
  return (
    settledSequence > 0n &&
    shown.length >= asked &&
    shown.every((sequence) => bornAt(sequence) < bornAt(settledSequence - 1n))
  )
}

/** The account with the sequence that its providers show. */
const accountRead = (account: Account, found: StellarPoll, isTaken: boolean): Account =>
  accountAfter(account, sequencesOf(found, account.address), isTaken)

interface Reading {
  readonly found: StellarPoll
  readonly now: Moment
  /** Accounts on which a transaction has a place. */
  readonly taken: ReadonlySet<string>
  /** Channels that open transactions end. */
  readonly ending: ReadonlySet<string>
}

/** Whether a provider shows the account at a ledger that was closed now, and whose successors follow. */
const showsNow = (found: StellarPoll, { address }: Account, now: Moment): boolean =>
  Math.abs(now - newestCloseOf(found)) <= momentOf(maxClockDifference) &&
  movingAccounts(found, address, now).some(({ sequence }) => sequence !== undefined)

/** Whether an account is in the ledger. Undefined: the providers differ, or fewer answered than have to agree. */
const exists = ({ found, now }: Reading, address: string): boolean | undefined => {
  const shown = movingAccounts(found, address, now)
  if (shown.length < neededOf(found)) return undefined
  if (shown.every(({ sequence }) => sequence !== undefined)) return true
  return shown.every(({ sequence }) => sequence === undefined) ? false : undefined
}

/** Stores the ledger of the last use: the lane first uses the channel that has been idle longest. No `seqLedger`: never used. */
const withUse = (channel: Account, { found, now }: Reading): Account => {
  const used = Math.max(0, ...movingAccounts(found, channel.address, now).map(({ seqLedger = 0 }) => seqLedger))
  return used === 0 ? channel : { ...channel, chainBlock: { number: used, hash: "" } }
}

/** The channel after the poll. Undefined: its account does not exist any more. */
const channelAfter = (before: Account, reading: Reading): Account | undefined => {
  const { address, counters } = before
  const isTaken = reading.taken.has(address)
  const channel = withUse(accountRead(before, reading.found, isTaken), reading)
  if (counters?.stage === undefined) return channel
  const stage = stageAfter(counters.stage, {
    exists: exists(reading, address),
    isTaken,
    isEnding: reading.ending.has(address)
  })
  return stage === undefined ? undefined : { ...channel, counters: { ...counters, stage } }
}

const placesOf = (rows: ReadonlyArray<LaneRow<Stellar>>): ReadonlySet<string> =>
  new Set(rows.flatMap(({ transaction: { place } }) => (place === undefined ? [] : [place.account])))

const endingIn = (rows: ReadonlyArray<LaneRow<Stellar>>): ReadonlySet<string> =>
  new Set(
    rows.flatMap(({ transaction }) => {
      const { channels } = newestRequest(transaction)
      return channels?.kind === "merge" && !isFinal(transaction) ? channels.addresses : []
    })
  )

/** What a poll says about the lane. */
const readingOf = (
  { lane, now, rows }: PollOptions<Stellar>,
  found: StellarPoll
): Pick<LaneReading<Stellar>, "lane" | "released"> => {
  const reading: Reading = { found, now, taken: placesOf(rows), ending: endingIn(rows) }
  const [own, ...before] = lane.accounts
  const channels = before.map((channel) => ({ address: channel.address, after: channelAfter(channel, reading) }))
  const accounts: Arr.NonEmptyReadonlyArray<Account> = [
    accountRead(own, found, reading.taken.has(own.address)),
    ...channels.flatMap(({ after }) => after ?? [])
  ]
  const released = channels.flatMap(({ address, after }) => (after === undefined ? [address] : []))
  return { lane: { ...lane, accounts }, ...(released.length === 0 ? {} : { released }) }
}

// The envelopes that are signed.

/** Any sequence: a fee bump has none of its own. */
const anySequence = 1n

/** The envelope of an attempt. At a place without a sequence, the relayer pays for an envelope of its source. */
const unsignedOf = Effect.fnUntraced(function* (
  address: string,
  { memo, operations, restore, ...request }: StellarRequest,
  { sequence }: Place,
  { fee, maxLedger, maxTime, soroban }: StellarOffer,
  networkId: Uint8Array
) {
  const lib = yield* library
  const transaction_xdr = givenIn(lib, request)
  if (transaction_xdr !== undefined && sequence === undefined) {
    return bumped(lib, transaction_xdr, { feeSource: address, fee }, networkId)
  }
  const given = {
    sequence: sequence ?? anySequence,
    fee,
    maxTime: BigInt(maxTime),
    ...present("maxLedger", maxLedger),
    ...present("sorobanData", soroban?.data)
  }
  if (restore !== undefined) return restoring(lib, { ...given, source: address }, networkId)
  if (transaction_xdr !== undefined) return placed(lib, transaction_xdr, given, networkId)
  const own: UnsignedEnvelope = yield* StellarEncoding.build(
    {
      ...given,
      source: address,
      operations: operations ?? [],
      ...present("memo", memo),
      ...present("recorded", soroban?.recorded)
    },
    networkId
  )
  return own
})

// Signs for stellar lanes. The guard reads the final bytes. If it refuses them, nothing is signed.

type Signing = Unsigned<Stellar>

interface SignerParts extends Pick<StellarContext, "address" | "ownAccounts"> {
  /** The key of the relayer. */
  readonly own: LaneKeys
  readonly channelKeys: ChannelKeys
}

const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex")

/** The guard allowed the draft before the decision. A refusal here is a defect: the final bytes differ from the draft. */
const refused = ({ code }: Refusal) => Effect.die(new Error(`is not signed: ${code}`))

const bytesOf = (lib: Library, { envelope, hash }: UnsignedEnvelope, signatures: ReadonlyArray<Signature>) => ({
  hash: hexOf(hash),
  raw: withSignatures(lib, envelope, signatures).toXdr()
})

export const makeSigner = ({ address, channelKeys, own, ownAccounts }: SignerParts) => {
  const byRelayer = Effect.fnUntraced(function* ({ relayer }: Signing, hash: Uint8Array) {
    const { signature, isChecked } = yield* own.sign(relayer.signerId, hash)
    if (!isChecked && !isSignedBy(address, hash, signature)) return yield* wrongKey()
    return { address, signature } satisfies Signature
  })

  /** The envelope, with the accounts of the service that it names. */
  const read = Effect.fnUntraced(function* (lib: Library, { relayer }: Signing, text: string) {
    const accounts = yield* ownAccounts({ text })
    const networkId = networkIdOf(relayer.target.network.passphrase)
    return { accounts, decoded: decodeWith(lib, text, { networkId, known: accounts }) }
  })

  /** `text`: the envelope for the guard. `channel`: the channel whose sequence it uses. Absent: it uses that of the relayer. */
  const check = Effect.fnUntraced(function* (lib: Library, signing: Signing, text: string, channel?: string) {
    const { place, relayer, request = {}, sign } = signing
    const { accounts, decoded } = yield* read(lib, signing, text)
    const terms = {
      ...termsOf(lib, {
        target: relayer.target,
        own: accounts,
        maxFee: request.max_fee,
        now: yield* Clock.currentTimeMillis
      }),
      ...present("channel", channel)
    }
    const guarded = Result.flatMap(decoded, (envelope: Envelope) =>
      guard(modeOf(request, place.sequence === undefined), envelope, terms)
    )
    if (Result.isFailure(guarded)) return yield* refused(guarded.failure)
    if (sign.offer.fee > terms.cap) return yield* Effect.die(new Error("is not signed: its fee is above the cap"))
  })

  const build = ({ place, relayer, request = {}, sign: { offer } }: Signing) =>
    unsignedOf(address, request, place, offer, networkIdOf(relayer.target.network.passphrase))

  /** An envelope of the relayer's own account, or a fee bump around a guest's envelope. The guard reads what the guest signed. */
  const signOwn = Effect.fnUntraced(function* (lib: Library, signing: Signing) {
    const { place, request = {} } = signing
    const unsigned = yield* build(signing)
    yield* check(lib, signing, place.sequence === undefined ? (request.transaction_xdr ?? "") : unsigned.envelope)
    return bytesOf(lib, unsigned, [yield* byRelayer(signing, unsigned.hash)])
  })

  /** The channel is the source of the inner envelope. The relayer acts in its operations, and pays with a fee bump around it. */
  const signOnChannel = Effect.fnUntraced(function* (lib: Library, signing: Signing) {
    const { relayer, sign } = signing
    const { offer } = sign
    const channel = signing.place.account
    const networkId = networkIdOf(relayer.target.network.passphrase)
    const { envelope } = yield* build(signing)
    const fee = (operations: number) => channelInnerFee(operations, offer.resourceFee ?? 0n)
    const inner = onChannel(lib, envelope, { relayer: address, channel, fee }, networkId)
    yield* check(lib, signing, inner.envelope, channel)
    const signatures = [
      yield* channelKeys.sign(channel, inner.hash),
      ...(inner.needsRelayer ? [yield* byRelayer(signing, inner.hash)] : [])
    ]
    const signed = textOf(withSignatures(lib, inner.envelope, signatures))
    const outer = bumped(lib, signed, { feeSource: address, fee: offer.fee }, networkId)
    const bytes = bytesOf(lib, outer, [yield* byRelayer(signing, outer.hash)])
    return { ...bytes, offer: { ...offer, innerHash: hexOf(inner.hash) } }
  })

  /**
   * Each channel signs before the relayer. The relayer is a signer of the channel: if it signed first, the channel's signature
   * would be superfluous, and nodes refuse an envelope with a superfluous signature.
   */
  const signWork = Effect.fnUntraced(function* (lib: Library, signing: Signing, work: ChannelWork) {
    const { place, relayer, sign } = signing
    const { fee, maxTime } = sign.offer
    const networkId = networkIdOf(relayer.target.network.passphrase)
    const given = { sequence: place.sequence ?? 0n, fee, maxTime: BigInt(maxTime) }
    const unsigned = channelWorkOf(lib, address, work, given, networkId)
    const { decoded } = yield* read(lib, signing, unsigned.envelope)
    const broken = Result.match(decoded, {
      onFailure: (refusal) => refusal,
      onSuccess: (envelope) => workRefusal(envelope, work, address)
    })
    if (broken !== undefined) return yield* refused(broken)
    const signatures = yield* Effect.forEach(work.addresses, (channel) => channelKeys.sign(channel, unsigned.hash))
    return bytesOf(lib, unsigned, [...signatures, yield* byRelayer(signing, unsigned.hash)])
  })

  return Effect.fn("StellarLane.sign")(function* (signing: Signing) {
    const { lane, place, request } = signing
    const lib = yield* library
    const work = request?.channels
    if (work !== undefined) return (yield* signWork(lib, signing, leftOf(work, lane))) satisfies SignedBytes<Stellar>
    const isOnChannel = place.sequence !== undefined && place.account !== address
    const signed: SignedBytes<Stellar> = yield* isOnChannel ? signOnChannel(lib, signing) : signOwn(lib, signing)
    return signed
  })
}

/** Envelopes of a lane that are prepared, or on their way to a node, at once. Each has an account of its own, so they need no order. */
const inParallel = 16

/** What lanes of stellar need of the service. */
interface Parts {
  readonly nodes: StellarNodes["Service"]
  readonly prices: PriceSource["Service"]
  readonly ownAccounts: OwnAccounts
  readonly ledger: Pick<LaneLedger["Service"], "channelSeed">
}

const open = ({ ledger, nodes, ownAccounts, prices }: Parts, { address, keys }: LaneOptions): LaneChain<Stellar> => {
  const context: StellarContext = { address, nodes, ownAccounts, prices, memory: makeStellarMemory() }
  const ownKey = keys({ curve: "ed25519", isOwn: (publicKey) => Effect.succeed(addressOf(publicKey) === address) })
  /** What the newest poll saw, by `LaneRelayer.urlsKey`. */
  let polls: ReadonlyMap<string, StellarPoll> = new Map()
  /** Finds signatures that callers got, by the ledger of the newest poll. */
  let givenAmong: GivenAmong = () => Effect.succeed(new Set())

  const poll = Effect.fn("StellarLane.poll")(function* (options: PollOptions<Stellar>) {
    const { lane, rows, now } = options
    const addresses = polledAddresses(lane, rows)
    const given = (yield* options.givenPlaces).map(({ hash, sequence, validUntil }) => ({
      hash,
      sequence,
      maxTime: maxTimeOfGiven(validUntil)
    }))
    const polled = yield* pollSets<Stellar, StellarPoll>(options, {
      rules: stellarRules,
      ask: (relayer) =>
        Effect.tap(pollProviders(context, relayer, addresses, given, now), (one) =>
          showLedgerAge(relayer.target.network.name, newestCloseOf(one), now)
        ),
      seenIn: (found, row, at) => seenIn(context, row, found, at),
      heightIn: polledHeight
    })
    polls = polled.polls
    givenAmong = options.given
    // What a stale set shows, or one without the account, would give the lane no sequence, or an old one.
    const sets = answeredSets(options, polls)
    const source = sets.find(({ poll: one }) => showsNow(one, lane.accounts[0], now)) ?? sets[0]
    if (source === undefined) return polled.poll
    const { poll: found, relayer } = source
    if (relayer.target.network.is_testnet && isRestarted(lane.accounts[0], found)) {
      return { ...polled.poll, isOtherChain: true }
    }
    const reading = { ...readingOf(options, found), usedTrust: false, fillers: [], foreign: [] }
    return { ...polled.poll, reading } satisfies Poll<Stellar>
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
      seen: seenIn(context, row, found, now, yield* prove(context, row, givenAmong))
    } satisfies Finding<Stellar>
  })

  const inquire: LaneChain<Stellar>["inquire"] = Effect.fn("StellarLane.inquire")(function* (lane, inquiries) {
    const now = yield* Clock.currentTimeMillis
    return yield* Effect.forEach(inquiries, (inquiry) => answer(lane, inquiry, now), { concurrency: inParallel })
  })

  return {
    poll,
    inquire,
    sign: makeSigner({ address, ownAccounts, own: ownKey, channelKeys: makeChannelKeys(ledger) }),
    broadcast: Effect.fnUntraced(function* (relayer: StellarRelayer, raw: Uint8Array, sends: number) {
      const lib = yield* library
      const providers = yield* providersOf(context, relayer)
      const text = Buffer.from(raw).toString("base64")
      const hash = hashIn(lib, text, networkIdOf(relayer.target.network.passphrase))
      const answers = yield* providers.broadcast(send(lib, text, hash), sends)
      yield* countAnswers(answers)
      return answers
    }),
    broadcastsAtOnce: () => inParallel,
    noteFinal: countFinal
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
      ownAccounts: yield* makeOwnAccounts,
      ledger
    }),
    upkeep: Effect.andThen(
      makeChannelUpkeep({ ledger, targets, random }),
      makeRestoreUpkeep({ ledger, transactions, random })
    )
  }
  return network
}).pipe(Effect.provide(SecureRandom.layerWebCrypto))
