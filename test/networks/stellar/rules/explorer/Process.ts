// What one process does with the lane that it believes to hold. Each `yield` is a point where it can die, freeze or be overtaken.
import type { Commands, Sign, Situation } from "../../../../../src/networks/core/Rules.ts"
import { accountAt, isFinal, withAccount } from "../../../../../src/networks/core/Transaction.ts"
import type { Attempt, Lane, LaneAccount, Transaction } from "../../../../../src/networks/core/Transaction.ts"
import { apply, withAttempt, withSent } from "../../../../../src/networks/core/Transition.ts"
import { sequenceOf, watchedOf } from "../../../../../src/networks/stellar/rules/Proving.ts"
import type { Stellar } from "../../../../../src/networks/stellar/rules/Stellar.ts"
import { stellarRules } from "../../../../../src/networks/stellar/rules/StellarRules.ts"
import { rangeOf } from "../../../../../src/networks/stellar/rules/StellarSeen.ts"
import type { AccountAt, ProviderLook, StellarSeen } from "../../../../../src/networks/stellar/rules/StellarSeen.ts"
import { placeOf, survey } from "../../../../../src/networks/stellar/rules/StellarTerms.ts"
import type { Random } from "../../../solana/rules/explorer/Random.ts"
import { entry } from "../Situations.ts"
import { accounts } from "./Chain.ts"
import type { Chain, ChainEnvelope } from "./Chain.ts"
import type { Provider } from "./Provider.ts"

export interface StoredRow {
  readonly transaction: Transaction<Stellar>
  readonly version: number
}

/** The database. A row that an operator has found on the chain is gone. */
export interface Ledger {
  rows: Map<number, StoredRow>
  lane: Lane<Stellar>
  epoch: number
}

/** Rules that are taken out. */
export interface Without {
  readonly decide?: (decide: Decide, situation: Situation<Stellar>) => Commands<Stellar>
  readonly secondOpinion?: true
  readonly commitFirst?: true
  readonly waitAfterRestore?: true
}

export type Decide = (situation: Situation<Stellar>) => Commands<Stellar>

export interface World {
  readonly random: Random
  readonly chain: Chain
  readonly providers: ReadonlyArray<Provider>
  readonly envelopes: Map<string, ChainEnvelope>
  readonly without: Without
  ledger: Ledger
}

const termsOf = (usesChannels: boolean): Situation<Stellar>["terms"] => ({
  isPaused: false,
  isAllowed: true,
  minBalance: 0n,
  cap: 1_000_000n,
  timeout: 25,
  finalityByOne: "never",
  usesChannels
})

const preparation = { operations: 1, out: 0n, stats: { p95: 100n, p99: 100n } }

const lowest = (values: ReadonlyArray<bigint>): bigint | undefined =>
  values.reduce<bigint | undefined>((least, one) => (least === undefined || one < least ? one : least), undefined)

/** As the poll of a lane believes it. */
const accountAfter = (account: LaneAccount<Stellar>, shown: ReadonlyArray<bigint>, isTaken: boolean) => {
  const least = lowest(shown)
  if (least === undefined || isTaken) return account
  const next = least + 1n > account.chainSequence ? least + 1n : account.chainSequence
  return { ...account, nextSequence: next, chainSequence: next, settledSequence: next }
}

const openOf = ({ rows }: Ledger) => [...rows.values()].filter(({ transaction }) => !isFinal(transaction))

export const makeProcess = (world: World, note: (before: StoredRow, after: Transaction<Stellar>) => void) => {
  const { chain, envelopes, providers, random, without } = world
  const terms = termsOf(world.ledger.lane.accounts.length > 1)
  const moment = () => chain.now() * 1000

  const isHeld = (epoch: number) => world.ledger.epoch === epoch

  const write = (row: StoredRow, transaction: Transaction<Stellar>): void => {
    note(row, transaction)
    world.ledger.rows.set(transaction.number, { transaction, version: row.version + 1 })
  }

  const unchanged = ({ transaction, version }: StoredRow) =>
    world.ledger.rows.get(transaction.number)?.version === version

  const addressOf = (transaction: Transaction<Stellar>) =>
    transaction.facts.guest?.account ??
    transaction.place?.account ??
    placeOf(world.ledger.lane, transaction, terms)?.account ??
    accounts.own

  const asked = () => (without.secondOpinion === true ? [random.pick(providers)] : providers)

  const lookOf = (provider: Provider, account: AccountAt | undefined, more = {}): ProviderLook => ({
    host: "provider",
    isStalled: account === undefined,
    ...(account === undefined ? {} : { newest: account.ledger, payer: entry }),
    testimony: { ...(account === undefined ? {} : { account }), oldestLedger: provider.oldest(), ...more }
  })

  const seenOf = (looks: ReadonlyArray<ProviderLook>, more: Partial<StellarSeen> = {}): StellarSeen => ({
    _tag: "Seen",
    configured: looks.length,
    looks,
    newestSince: moment(),
    polledSince: 0,
    ...more
  })

  const situationOf = (transaction: Transaction<Stellar>, view: StellarSeen): Situation<Stellar> => {
    const open = openOf(world.ledger).map((row) => row.transaction)
    return {
      transaction,
      lane: world.ledger.lane,
      isDeepReorg: false,
      terms,
      rest: { inFlight: 0, reserved: 0n, isPendingBefore: false, survey: survey(open) },
      view,
      now: moment()
    }
  }

  const decide = (situation: Situation<Stellar>): Commands<Stellar> =>
    without.decide === undefined ? stellarRules.decide(situation) : without.decide(stellarRules.decide, situation)

  function* prove(
    transaction: Transaction<Stellar>,
    looks: ReadonlyArray<ProviderLook>,
    given: ReadonlyArray<Provider>
  ) {
    const sequence = sequenceOf(transaction) ?? 0n
    const watched = watchedOf(transaction)
    const all: Array<ProviderLook> = []
    for (const [index, look] of looks.entries()) {
      const provider = given[index]
      const { account } = look.testimony
      if (provider === undefined || account === undefined) {
        all.push(look)
        continue
      }
      let more = {}
      for (const hash of watched.flatMap((one) => [
        one.hash,
        ...(one.innerHash === undefined ? [] : [one.innerHash])
      ])) {
        const found = provider.find(hash)
        yield
        if (found !== undefined && found !== "nothing") more = { found }
      }
      const isUsed = account.sequence === undefined || account.sequence >= sequence
      if (!("found" in more) && isUsed) {
        const range = rangeOf(sequence, watched, account)
        const from = transaction.state === "pending" ? Math.max(range.from, provider.oldest()) : range.from
        const scan = provider.scan(addressOf(transaction), sequence, { ...range, from })
        yield
        if (scan !== undefined) more = { scan }
      }
      all.push(lookOf(provider, account, more))
    }
    return all
  }

  function* broadcast(epoch: number, number: number, ordinal: number) {
    const row = world.ledger.rows.get(number)
    const attempt = row?.transaction.attempts.find((one) => one.ordinal === ordinal)
    const envelope = envelopes.get(attempt?.hash ?? "")
    if (row === undefined || attempt === undefined || envelope === undefined) return
    const answers = []
    for (const provider of providers) {
      answers.push(provider.send(envelope))
      yield
    }
    const current = world.ledger.rows.get(number)
    const now = current?.transaction.attempts.find((one) => one.hash === attempt.hash)
    if (!isHeld(epoch) || current === undefined || now === undefined || isFinal(current.transaction)) return
    const heard = stellarRules.hear(current.transaction, now, answers, { at: moment(), height: chain.height() })
    write(current, withSent(current.transaction, heard))
  }

  const placeFor = ({ transaction }: StoredRow) => transaction.place ?? placeOf(world.ledger.lane, transaction, terms)

  function* signed(epoch: number, row: StoredRow, { cause, kind, maxFee, offer }: Sign<Stellar>) {
    const { transaction } = row
    const place = placeFor(row)
    if (place === undefined) return
    const { guest } = transaction.facts
    const hash = chain.newHash()
    const envelope: ChainEnvelope = {
      hash,
      ...(guest === undefined ? {} : { innerHash: guest.innerHash }),
      account: place.account,
      sequence: guest?.sequence ?? place.sequence ?? 0n,
      maxTime: offer.maxTime,
      request: transaction.number
    }
    if (without.commitFirst === true) {
      envelopes.set(hash, envelope)
      providers[0]?.send(envelope)
    }
    yield
    const account = accountAt(world.ledger.lane, place.account)
    const isNext = transaction.place !== undefined || account === undefined || account.nextSequence === place.sequence
    if (!isHeld(epoch) || !unchanged(row) || !isNext) return
    const attempt: Attempt<Stellar> = {
      ordinal: transaction.attempts.length + 1,
      kind,
      generation: 0,
      requestVersion: 1,
      hash,
      place,
      offer,
      maxFee,
      signedAt: moment(),
      sends: 0,
      outcome: "unknown"
    }
    envelopes.set(hash, envelope)
    if (transaction.place === undefined && account !== undefined) {
      world.ledger.lane = withAccount(world.ledger.lane, { ...account, nextSequence: (place.sequence ?? 0n) + 1n })
    }
    write(row, withAttempt(transaction, attempt, cause, moment()))
    yield
    yield* broadcast(epoch, transaction.number, attempt.ordinal)
  }

  const change = (epoch: number, row: StoredRow, command: Commands<Stellar>[number]): boolean => {
    if (!isHeld(epoch) || !unchanged(row)) return false
    const { transaction } = row
    const { account = "", sequence } = transaction.place ?? {}
    write(row, apply(transaction, command, moment()))
    const frees = command._tag === "Finish" || command._tag === "Requeue" ? command.frees : undefined
    const found = accountAt(world.ledger.lane, account)
    if (frees === undefined || found === undefined || found.nextSequence !== (sequence ?? 0n) + 1n) return true
    const next = { nextSequence: frees.next, chainSequence: frees.next, settledSequence: frees.next }
    world.ledger.lane = withAccount(world.ledger.lane, { ...found, ...next })
    return true
  }

  function* pollAccount(epoch: number, address: string) {
    const shown: Array<bigint> = []
    for (const provider of asked()) {
      const account = provider.account(address)
      yield
      if (account !== undefined) shown.push(account.sequence ?? 0n)
    }
    const found = accountAt(world.ledger.lane, address)
    if (!isHeld(epoch) || shown.length < asked().length || found === undefined) return
    const isTaken = openOf(world.ledger).some(({ transaction }) => transaction.place?.account === address)
    world.ledger.lane = withAccount(world.ledger.lane, accountAfter(found, shown, isTaken))
  }

  function* one(epoch: number, number: number) {
    const row = world.ledger.rows.get(number)
    if (row === undefined || isFinal(row.transaction)) return
    const given = asked()
    const polled: Array<ProviderLook> = []
    for (const provider of given) {
      polled.push(lookOf(provider, provider.account(addressOf(row.transaction))))
      yield
    }
    let looks: ReadonlyArray<ProviderLook> = polled
    let commands = decide(situationOf(row.transaction, seenOf(looks)))
    let isProofAsked = false
    for (let round = 0; round < 3 && commands[0]._tag === "Ask"; round++) {
      if (commands[0].question === "proof") {
        looks = yield* prove(row.transaction, looks, given)
        isProofAsked = true
        commands = decide(situationOf(row.transaction, seenOf(looks, { isProofAsked: true })))
      } else {
        const more = isProofAsked ? { preparation, isProofAsked: true as const } : { preparation }
        commands = decide(situationOf(row.transaction, seenOf(looks, more)))
      }
    }
    yield
    if (!isHeld(epoch)) return
    let current: StoredRow | undefined = row
    for (const command of commands) {
      if (current === undefined) return
      if (command._tag === "Sign") yield* signed(epoch, current, command)
      else if (command._tag === "Broadcast") yield* broadcast(epoch, number, command.ordinals[0])
      else if (command._tag === "Finish" || command._tag === "Requeue" || command._tag === "Hold") {
        if (!change(epoch, current, command)) return
        current = world.ledger.rows.get(number)
      }
    }
  }

  /** The program of a process from the claim of the lane on. */
  return function* (epoch: number): Generator<undefined, void> {
    for (;;) {
      yield
      if (!isHeld(epoch)) return
      for (const { address } of world.ledger.lane.accounts) yield* pollAccount(epoch, address)
      for (const { transaction } of openOf(world.ledger)) yield* one(epoch, transaction.number)
    }
  }
}
