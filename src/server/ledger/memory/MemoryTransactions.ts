// The ledger for callers and operators, in memory: it accepts, cancels and replaces as on a database, over the same pure rules.
import { Array, Clock, Effect, Option } from "effect"
import * as Caller from "../../../domain/access/Caller.ts"
import { BadRequest } from "../../../domain/request/Request.ts"
import { currentOrigin } from "../../responses/CurrentRequest.ts"
import { cancelUnsigned, canReplace } from "../../../networks/core/Rules.ts"
import type { LaneKey } from "../../../networks/core/Rules.ts"
import { newestRequest } from "../../../networks/core/Transaction.ts"
import { FeeLimitExceeded } from "../../../networks/core/TransactionLimits.ts"
import { maxOpen, TransactionNotFound } from "../../../networks/core/TransactionValues.ts"
import type { Moment, TransactionId } from "../../../networks/core/TransactionValues.ts"
import { apply, asPublic, onNewGeneration, withCancellation } from "../../../networks/core/Transition.ts"
import { conflictWith, feePeriod, openRetryAfter, repeatedIn, sameBytes } from "../AcceptanceChecks.ts"
import type { Identified, Rival } from "../AcceptanceChecks.ts"
import * as Accepting from "../Accepting.ts"
import { isOfAnother } from "../Accepting.ts"
import { Holder } from "../Holder.ts"
import type {
  Accepted,
  Account,
  FeeLimit,
  GivenSignature,
  IssuedSignature,
  LaneId,
  NamedBody,
  NewTransaction,
  StoredTransaction
} from "../LedgerEntries.ts"
import { clearedBy, isShared, resolutionsOf } from "../Operators.ts"
import type { Cleared, Clearing, Decision } from "../Operators.ts"
import { newlyStored } from "../TransactionWrites.ts"
import type { Change } from "../TransactionWrites.ts"
import type { Acceptance } from "../TransactionsRepo.ts"
import { feesSince, hasPlace, isOpen, kept, LedgerMemory } from "./LedgerMemory.ts"
import type { TransactionRow } from "./LedgerMemory.ts"

/** Identifies a body, so that its repeats are recognized. */
interface Named {
  readonly bodyHash: string
  readonly externalId: string | undefined
  readonly identity?: string | undefined
}

export const make = Effect.gen(function* () {
  const memory = yield* LedgerMemory
  const holder = yield* Holder
  const { atomically, rows } = memory

  const generationOf = (key: LaneKey): number => rows.find(key)?.generation ?? 0

  const hasInner = (row: TransactionRow, identities: ReadonlyArray<string>): boolean =>
    row.stored.transaction.attempts.some(({ offer }) => {
      const { innerHash } = JSON.parse(rows.rules.of(row.stored.chain).offer.text(offer))
      return typeof innerHash === "string" && identities.includes(innerHash)
    })

  const isOpenOrExecuted = (row: TransactionRow): boolean =>
    isOpen(row) || row.stored.transaction.mined?.ordinal !== undefined

  /** Of all versions: a former one may still be mined. */
  const authoritiesOf = ({ stored: { chain, transaction } }: TransactionRow): ReadonlyArray<string> => {
    const { rules } = rows.rules.of(chain)
    return transaction.versions.flatMap((version) => rules.authoritiesOf?.(version) ?? [])
  }

  /** A stored transaction that conflicts with one of these. */
  const rivalOf = (account: LaneKey, added: ReadonlyArray<Identified>): Rival | undefined => {
    const identities = added.flatMap(({ identity }) => identity ?? [])
    const exclusives = new Set(added.flatMap(({ exclusive }) => exclusive ?? []))
    const generation = generationOf(account)
    const others = rows.all().filter(({ stored }) => added.every(({ id }) => id !== stored.id))
    const sameBytes = others.find(
      (row) =>
        (row.identity !== undefined &&
          row.stored.transaction.generation === generation &&
          identities.includes(row.identity)) ||
        (isOpenOrExecuted(row) && hasInner(row, identities))
    )
    const lane = rows.find(account)?.id
    const excluding = others.find(
      (row) => row.stored.laneId === lane && isOpen(row) && row.exclusive !== undefined && exclusives.has(row.exclusive)
    )
    const authorities = new Set(added.flatMap((one) => one.authorities ?? []))
    const carrying = others.find(
      (row) =>
        row.stored.chain === account.chain && isOpen(row) && authoritiesOf(row).some((one) => authorities.has(one))
    )
    const found = [
      { kind: "identity", row: sameBytes },
      { kind: "exclusive", row: excluding },
      { kind: "authority", row: carrying }
    ] as const
    for (const { kind, row } of found) {
      if (row === undefined) continue
      const { id, transaction } = row.stored
      return { kind, id, relayer_number: transaction.relayerNumber }
    }
    return undefined
  }

  const checkRivals = Effect.fnUntraced(function* (
    account: Pick<Account, "chain" | "address" | "relayerNumber">,
    added: ReadonlyArray<Identified>
  ) {
    const repeated = repeatedIn(added)
    if (repeated !== undefined) return yield* repeated
    const rival = rivalOf(account, added)
    if (rival !== undefined) return yield* conflictWith(rival, account.relayerNumber)
  })

  const checkFees = Effect.fnUntraced(function* (limits: ReadonlyArray<FeeLimit>, more: bigint, now: Moment) {
    for (const { maximum, ...limit } of limits) {
      const used = feesSince(rows.tables(), limit, now - feePeriod)
      if (used + more > maximum) return yield* new FeeLimitExceeded({ keyId: limit.keyId, limit: maximum, used })
    }
  })

  /** What was accepted before with the same name or the same bytes. Fails if it had another body. */
  const formerOf = Effect.fnUntraced(function* (account: Account, { bodyHash, externalId, identity }: Named) {
    const ofRelayer = rows
      .all()
      .filter(
        ({ stored, bodyHash }) => stored.transaction.relayerNumber === account.relayerNumber && bodyHash !== undefined
      )
    const named =
      externalId === undefined ? undefined : ofRelayer.find(({ stored }) => stored.externalId === externalId)
    if (named !== undefined && named.bodyHash !== bodyHash) return yield* Accepting.otherBody(named.stored.id)
    const generation = generationOf(account)
    const identical = ofRelayer.find(
      (row) =>
        row.identity !== undefined && row.identity === identity && row.stored.transaction.generation === generation
    )
    const same = named ?? identical
    if (same !== undefined && same.bodyHash !== bodyHash) return yield* sameBytes(same.stored.id)
    return same?.stored
  })

  /** A transaction whose bytes a caller got signed before takes the signature over. */
  const factsOf = (account: Account, { identity, facts }: NewTransaction): unknown => {
    const { rules } = rows.rules.of(account.chain)
    const found = rows
      .givenOf(account)
      .find(({ generation, given }) => generation === generationOf(account) && given.identity === identity)
    const { hash, offer } = found?.given ?? {}
    return identity === undefined || hash === undefined || offer === undefined || rules.withGiven === undefined
      ? facts
      : rules.withGiven(facts, { hash, offer })
  }

  const rowOf = (given: Acceptance, index: number): TransactionRow => {
    const { account, transaction, bodyHash } = given
    const { id: lane_id, generation } = rows.ensure(account)
    const { request, facts } = rows.rules.of(account.chain)
    const known = {
      ...transaction,
      request: kept(request, transaction.request),
      facts: kept(facts, factsOf(account, transaction))
    }
    const { identity, exclusive } = transaction
    const number = rows.tables().transactions.size + index + 1
    const stored = newlyStored({ ...given, transaction: known }, { number, lane_id, generation })
    return { stored, bodyHash, identity, exclusive, finalAt: undefined, bytes: new Map() }
  }

  const insert = (acceptances: ReadonlyArray<Acceptance>): void => {
    const added = acceptances.map(rowOf)
    rows.setTransactions(added)
    rows.publish(added.map(({ stored }) => ({ type: "transaction.created", stored })))
  }

  /** Open transactions of a relayer, or of all. */
  const countOpen = (relayerNumber?: number): number => {
    const open = rows.all().filter(isOpen)
    const isOf = ({ stored }: TransactionRow) => stored.transaction.relayerNumber === relayerNumber
    return relayerNumber === undefined ? open.length : open.filter(isOf).length
  }

  const acceptAll = Effect.fnUntraced(function* (
    account: Account,
    given: Array.NonEmptyReadonlyArray<NewTransaction>,
    limits: ReadonlyArray<FeeLimit>
  ) {
    const now = yield* Clock.currentTimeMillis
    const origin = yield* currentOrigin
    const trace = yield* Accepting.currentTrace
    // Equal bytes are not looked up: they are refused below.
    const former = yield* Effect.forEach(given, ({ body, externalId }) =>
      formerOf(account, { externalId, bodyHash: Accepting.hashOf(body) })
    )
    const added = given.filter((_, index) => former[index] === undefined)
    yield* Accepting.checkDistinct(added.map((transaction) => ({ transaction })))
    if (added.length > 0 && rows.find(account)?.parent !== undefined) return yield* Accepting.isChannel
    yield* checkRivals(account, added)
    const isFull =
      countOpen(account.relayerNumber) + added.length > maxOpen.perRelayer ||
      countOpen() + added.length > maxOpen.perService
    if (added.length > 0 && isFull) return yield* new Caller.TooManyRequests({ retryAfter: openRetryAfter })
    if (added.length > 0) {
      const more = added.reduce((sum, { fee = 0n }) => sum + fee, 0n)
      yield* checkFees(limits, more, now)
    }
    insert(
      added.map((transaction) => {
        const bodyHash = Accepting.hashOf(transaction.body)
        return { account, transaction, bodyHash, origin, trace, now }
      })
    )
    return Array.map(given, ({ id }, index): Accepted => {
      const found = former[index]
      const stored = found ?? rows.tables().transactions.get(id)?.stored
      if (stored === undefined) throw new Error("an accepted transaction is neither new nor known")
      return { stored, isNew: found === undefined }
    })
  }, atomically)

  const accept = Effect.fn("Ledger.accept")(function* (
    account: Account,
    given: Array.NonEmptyReadonlyArray<NewTransaction>,
    limits: ReadonlyArray<FeeLimit> = []
  ) {
    const accepted = yield* acceptAll(account, given, limits)
    const added = accepted.flatMap(({ isNew, stored }) =>
      isNew ? [{ laneId: stored.laneId, number: stored.transaction.number }] : []
    )
    if (added.length > 0) yield* holder.accepted(added)
    return accepted
  })

  const repeated = Effect.fn("Ledger.repeated")(function* (account: Account, bodies: ReadonlyArray<NamedBody>) {
    if (bodies.every(({ externalId, identity }) => externalId === undefined && identity === undefined)) return []
    return yield* Effect.forEach(bodies, ({ body, externalId, identity }) =>
      formerOf(account, { externalId, identity, bodyHash: Accepting.hashOf(body) })
    )
  })

  const requiring = (account: Account, sequence: bigint, body: string) =>
    Effect.sync(() => {
      const lane = rows.find(account)
      const bodyHash = Accepting.hashOf(body)
      return rows.all().find((row) => {
        const { laneId, transaction } = row.stored
        const { generation, relayerNumber, requiredSequence, state, place } = transaction
        const isAsked =
          laneId === lane?.id &&
          generation === lane.generation &&
          relayerNumber === account.relayerNumber &&
          requiredSequence === sequence &&
          row.bodyHash === bodyHash
        const isExecuted = place?.sequence === sequence && state !== "canceled" && state !== "expired"
        return isAsked && (state === "pending" || (isExecuted && isOpenOrExecuted(row)))
      })?.stored
    })

  const issued = Effect.fnUntraced(function* (account: Account, identity: string) {
    yield* checkRivals(account, [{ identity }])
    const former = rows
      .tables()
      .given.find((row) => row.given.identity === identity && row.generation === generationOf(account))
    if (former === undefined) return undefined
    if (former.relayerNumber !== account.relayerNumber) return yield* isOfAnother
    const { hash, raw } = former.given
    return { hash, raw, isNew: false } satisfies IssuedSignature
  })

  const give = Effect.fn("Ledger.give")(function* (
    account: Account,
    fresh: GivenSignature,
    limits: ReadonlyArray<FeeLimit> = []
  ) {
    const now = yield* Clock.currentTimeMillis
    const { id: keyId } = yield* Caller.current
    const { chain, address, relayerNumber } = account
    const { hash, raw, fee, identity, offer } = fresh
    const lane = rows.ensure(account)
    const former = identity === undefined ? undefined : yield* issued(account, identity)
    if (former !== undefined) return former
    const isSigned = (row: TransactionRow) =>
      isOpenOrExecuted(row) &&
      row.stored.transaction.attempts.some((one) => one.hash === hash && one.generation === lane.generation)
    const rival = rows.of(lane.id).find(isSigned)?.stored
    if (rival !== undefined) {
      const { id, transaction } = rival
      return yield* conflictWith({ kind: "identity", id, relayer_number: transaction.relayerNumber }, relayerNumber)
    }
    yield* checkFees(limits, fee, now)
    const given = offer === undefined ? fresh : { ...fresh, offer: kept(rows.rules.of(chain).offer, offer) }
    const row = { chain, address, relayerNumber, keyId, generation: lane.generation, createdAt: now, given }
    rows.setTables({ given: [...rows.tables().given, row] })
    return { hash, raw, isNew: true } satisfies IssuedSignature
  }, atomically)

  const held = Effect.fnUntraced(function* (relayerNumber: number, id: TransactionId) {
    const row = rows.tables().transactions.get(id)
    return row?.stored.transaction.relayerNumber === relayerNumber ? row : yield* new TransactionNotFound({})
  })

  /** Wakes the holders of lanes, as a notification of the database does. */
  const wake = Effect.suspend(() => Effect.forEach(memory.listeners, (heard) => heard, { discard: true }))

  const waking = <A, E>(changes: Effect.Effect<A, E>, before: () => boolean) =>
    Effect.suspend(() => {
      const isInFlight = before()
      return Effect.tap(changes, () => (isInFlight ? wake : Effect.void))
    })

  const isPlaced = (id: TransactionId): boolean =>
    rows.tables().transactions.get(id)?.stored.transaction.place !== undefined

  const cancelHeld = Effect.fnUntraced(function* (before: StoredTransaction, onlyPending = false) {
    const now = yield* Clock.currentTimeMillis
    const { rules } = rows.rules.of(before.chain)
    const cancellation = yield* Effect.fromResult(
      onlyPending ? cancelUnsigned(rules, before.transaction) : rules.cancel(before.transaction)
    )
    if (cancellation._tag === "unchanged") return before
    const after = withCancellation(before.transaction, cancellation, now)
    return rows.writeChanges([{ before, after }], now)[0] ?? before
  })

  const cancel = Effect.fn("Ledger.cancel")((relayerNumber: number, id: TransactionId, onlyPending?: boolean) =>
    waking(atomically(Effect.flatMap(held(relayerNumber, id), ({ stored }) => cancelHeld(stored, onlyPending))), () =>
      isPlaced(id)
    )
  )

  const publishHeld = Effect.fnUntraced(function* (before: StoredTransaction) {
    const now = yield* Clock.currentTimeMillis
    const after = yield* Effect.fromResult(asPublic(before.transaction, now))
    if (after === undefined) return before
    const [written = before] = rows.writeChanges([{ before, after }], now)
    return written
  })

  const publish = Effect.fn("Ledger.publish")((relayerNumber: number, id: TransactionId) =>
    waking(atomically(Effect.flatMap(held(relayerNumber, id), ({ stored }) => publishHeld(stored))), () => isPlaced(id))
  )

  const cancelMany = Effect.fn("Ledger.cancelMany")((relayerNumber: number, ids: ReadonlyArray<TransactionId>) => {
    const cancelOne = (id: TransactionId) =>
      Effect.flatMap(held(relayerNumber, id), ({ stored }) => cancelHeld(stored)).pipe(
        Effect.as([id]),
        Effect.orElseSucceed((): ReadonlyArray<TransactionId> => [])
      )
    const all = Effect.map(Effect.forEach(ids, cancelOne), (canceled) => canceled.flat())
    return waking(atomically(all), () => ids.some(isPlaced))
  })

  const withdraw = Effect.fn("Ledger.withdraw")(function* (relayerNumber: number, id: TransactionId) {
    const { stored } = yield* held(relayerNumber, id)
    const { state, attempts } = stored.transaction
    if (state !== "pending" || attempts.length > 0) return Option.none()
    yield* cancelHeld(stored)
    return Option.some(stored)
  }, atomically)

  const replaceHeld = Effect.fnUntraced(function* (
    relayerNumber: number,
    id: TransactionId,
    request: unknown,
    validUntil?: Moment
  ) {
    const now = yield* Clock.currentTimeMillis
    const row = yield* held(relayerNumber, id)
    const before = row.stored
    const network = rows.rules.of(before.chain)
    const { rules } = network
    yield* Effect.fromResult((rules.canReplace ?? canReplace)(before.transaction))
    const violations = rules.replacementViolations(before.transaction, request, validUntil)
    if (violations.length > 0) return yield* BadRequest.of(violations)
    const after = rules.replaced(before.transaction, request, validUntil)
    const newest = kept(network.request, newestRequest(after))
    const identity = rules.identityOf(newest, after.facts)
    const exclusive = rules.exclusiveOf(newest, after.facts)
    const authorities = rules.authoritiesOf?.(newest)
    const identified = {
      id,
      ...(identity && { identity }),
      ...(exclusive && { exclusive }),
      ...(authorities && { authorities })
    }
    yield* checkRivals({ chain: before.chain, address: before.from, relayerNumber }, [identified])
    const versions = Array.append(before.transaction.versions, newest)
    const transaction = { ...before.transaction, versions, validUntil: after.validUntil }
    rows.setTransaction({ ...row, identity, exclusive, stored: { ...before, transaction } })
    return rows.writeChanges([{ before, after }], now)[0] ?? before
  })

  const replace = Effect.fn("Ledger.replace")((...given: Parameters<typeof replaceHeld>) =>
    waking(atomically(replaceHeld(...given)), () => isPlaced(given[1]))
  )

  /** Fails if the lane has open transactions of relayers that the caller may not use. */
  const checkShared = Effect.fnUntraced(function* (lane: LaneId) {
    const caller = yield* Caller.current
    const open = rows.of(lane).filter(isOpen)
    if (open.some(({ stored }) => !Caller.mayUseRelayer(caller, stored.relayerId))) return yield* isShared
  })

  const resync = Effect.fn("Ledger.resync")(function* <E>(account: Account, decision: Decision<E>) {
    const { answer, check, id } = decision
    const now = yield* Clock.currentTimeMillis
    const lane = rows.find(account)
    if (lane === undefined) return id === undefined ? [] : yield* new TransactionNotFound({})
    yield* checkShared(lane.id)
    rows.setAccount({ ...lane, trustsCount: true })
    const asked = rows
      .of(lane.id)
      .filter((row) => (id === undefined ? answer !== undefined && isOpen(row) : row.stored.id === id))
    const own = asked.flatMap(({ stored }) =>
      stored.transaction.relayerNumber === account.relayerNumber ? [stored] : []
    )
    if (id !== undefined && own.length === 0) return yield* new TransactionNotFound({})
    const known = { lane: rows.laneOf(lane, now).lane, now }
    const resolved = yield* Effect.fromResult(resolutionsOf(rows.rules.of(account.chain).rules, own, decision, known))
    if (check !== undefined) {
      yield* Effect.forEach(
        own.filter((row) => resolved.has(row.id)),
        (row) => check(row),
        { discard: true }
      )
    }
    const changes = own.flatMap((before): ReadonlyArray<Change> => {
      const command = resolved.get(before.id)
      return command === undefined ? [] : [{ before, after: apply(before.transaction, command, now) }]
    })
    return rows.writeChanges(changes, now)
  }, atomically)

  const clear = Effect.fn("Ledger.clear")(function* <E>(account: Account, { from, to, price, check }: Clearing<E>) {
    const now = yield* Clock.currentTimeMillis
    const lane = rows.find(account)
    const found = (lane === undefined ? [] : rows.of(lane.id)).flatMap((row) => {
      const { place, relayerNumber } = row.stored.transaction
      const { sequence = -1n } = place ?? {}
      return hasPlace(row) && sequence >= from && sequence <= to && relayerNumber === account.relayerNumber
        ? [row.stored]
        : []
    })
    const changes = found.flatMap((before): ReadonlyArray<Change> => {
      const commands = clearedBy(before.transaction, price)
      const after = commands.reduce((changed, command) => apply(changed, command, now), before.transaction)
      return commands.length === 0 ? [] : [{ before, after }]
    })
    yield* Effect.forEach(changes, ({ before }) => check(before), { discard: true })
    const written = new Map(rows.writeChanges(changes, now).map((stored) => [stored.id, stored]))
    const cleared: Cleared = {
      rows: found.map((stored) => written.get(stored.id) ?? stored),
      changed: new Set(written.keys())
    }
    return cleared
  }, atomically)

  const beginGeneration = Effect.fn("Ledger.beginGeneration")(function* (account: Account) {
    const now = yield* Clock.currentTimeMillis
    const { id, generation } = rows.ensure(account)
    yield* checkShared(id)
    const zero = { nextSequence: 0n, chainSequence: 0n, settledSequence: 0n }
    for (const row of rows.accounts().filter((one) => (one.parent ?? one.id) === id)) {
      const { chainBlock: _, ...kept } = row.account
      rows.setAccount({
        ...row,
        account: { ...kept, ...zero },
        generation: row.generation + 1,
        genesis: undefined,
        windowSize: account.window,
        trustsCount: false,
        holder: undefined,
        epoch: row.epoch + 1,
        code: undefined,
        codeSince: undefined,
        nextPollAt: now
      })
    }
    const changes = rows
      .of(id)
      .filter(isOpen)
      .flatMap(({ stored: before }): ReadonlyArray<Change> => {
        const command = onNewGeneration(before.transaction)
        return command === undefined ? [] : [{ before, after: apply(before.transaction, command, now) }]
      })
    const ended = rows.writeChanges(changes, now)
    // What stays pending keeps its identity in the new generation, so that the same bytes are not accepted again.
    for (const row of rows.of(id)) {
      const { transaction } = row.stored
      if (transaction.state !== "pending" || row.identity === undefined) continue
      rows.setTransaction({
        ...row,
        stored: { ...row.stored, transaction: { ...transaction, generation: generation + 1 } }
      })
    }
    return ended
  }, atomically)

  return {
    accept,
    repeated,
    requiring,
    give,
    given: issued,
    cancel,
    cancelMany,
    publish,
    withdraw,
    replace,
    resync,
    clear,
    beginGeneration
  }
})
