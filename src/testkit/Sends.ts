// Transactions of the kit: what callers send, replace and cancel, in a ledger in memory, and the lanes that send it. All decisions are those
// of the rules of the service.
import { Clock, Context, Data, DateTime, Effect, Layer, Result, Schema } from "effect"
import { canonicalHash } from "../domain/chain/Amount.ts"
import type { KnownEventType } from "../domain/event/Event.ts"
import { networkId } from "../domain/network/Network.ts"
import { RelayerNotFound } from "../domain/relayer/Relayer.ts"
import type { Relayer, RelayerId } from "../domain/relayer/Relayer.ts"
import { parse } from "../domain/request/ExactJson.ts"
import { pageRequest } from "../domain/request/Page.ts"
import { BadRequest, NotImplemented } from "../domain/request/Request.ts"
import type { Violation } from "../domain/request/Request.ts"
import { SignerId } from "../domain/signer/Signer.ts"
import { cause } from "../networks/core/Cause.ts"
import { present, shownAttempt, statusOf } from "../networks/core/Presentation.ts"
import { canReplace, TransactionConflict } from "../networks/core/Rules.ts"
import { beginning, isFinal } from "../networks/core/Transaction.ts"
import type { Transaction } from "../networks/core/Transaction.ts"
import { RelayerPaused } from "../networks/core/TransactionLimits.ts"
import type {
  AllTransactionsQuery,
  CanceledTransactions,
  TransactionExplanation,
  TransactionFilter,
  TransactionQuery
} from "../networks/core/TransactionRequests.ts"
import { TransactionId, TransactionNotFound } from "../networks/core/TransactionValues.ts"
import type { Moment } from "../networks/core/TransactionValues.ts"
import { eventsOf, usualCodes, withCancellation } from "../networks/core/Transition.ts"
import { Feed } from "./Feed.ts"
import { isNewest } from "./KitNetwork.ts"
import type { Admitted, KitLane, Replacement } from "./KitNetwork.ts"
import { Store } from "./Resources.ts"
import { Transactions } from "./Tags.ts"
import { TestChain } from "./TestChain.ts"

/** A request was accepted, and the program does not see the answer: what the service calls an unexpected failure, such as a lost connection. */
export class AnswerLost extends Data.TaggedError("AnswerLost")<{}> {
  override readonly message = "the answer was lost: whether the request was accepted is not known"
}

/** A transaction with what identifies it. */
interface Row {
  readonly id: TransactionId
  readonly relayerId: RelayerId
  readonly from: string
  readonly externalId: string | undefined
  /** Canonical text of the body. */
  readonly body: string
  /** Equal bytes of a caller have the same. Undefined: the request has no bytes of its own. */
  readonly identity: string | undefined
  readonly confirmedAt: Moment | undefined
  readonly transaction: Transaction
  /** Signed bytes by ordinal. */
  readonly raws: ReadonlyMap<number, Uint8Array>
}

/** Values that the kit has made or checked. */
const encoderOf = (schema: Schema.Codec<unknown, unknown>) => Schema.encodeUnknownSync(schema)

const parseOptions = { errors: "all", onExcessProperty: "error" } as const

/** A body as it arrives over HTTP, as handlers give it to the service. */
const isJson = (body: object): body is { readonly text: string } => "text" in body

/** Reads a body that is JSON, and checks one that a program gives. */
const readerOf = <A>(schema: Schema.Codec<A, unknown>) => {
  const ofJson = Schema.decodeUnknownEffect(schema, parseOptions)
  const ofValue = Schema.decodeUnknownEffect(Schema.toType(schema), parseOptions)
  return (body: object): Effect.Effect<A, BadRequest> =>
    (isJson(body) ? ofJson(parse(body.text)) : ofValue(body)).pipe(
      Effect.mapError(({ issue }) => BadRequest.fromIssue(issue, "body"))
    )
}

const usual: ReadonlySet<string> = new Set(usualCodes)

/** Whether a list with these filters has the transaction. */
const isListed = (filter: TransactionFilter, { externalId, transaction }: Row): boolean => {
  const { status, code, held, hash, external_id, created_after, created_before, origin = "request" } = filter
  const { attempts, cause: why, createdAt, state } = transaction
  const wanted = hash === undefined ? undefined : canonicalHash(hash)
  return (
    origin === transaction.origin &&
    (status === undefined || status.includes(statusOf(state))) &&
    (code === undefined || (!isFinal(transaction) && code.includes(why?.code ?? "queued"))) &&
    (held !== true || (!isFinal(transaction) && !usual.has(why?.code ?? "queued"))) &&
    (wanted === undefined || attempts.some((attempt) => attempt.hash === wanted)) &&
    (external_id === undefined || externalId === external_id) &&
    (created_after === undefined || createdAt >= DateTime.toEpochMillis(created_after)) &&
    (created_before === undefined || createdAt < DateTime.toEpochMillis(created_before))
  )
}

/** A relayer, and what the rules of its network read of it and of the network. */
interface Target {
  readonly relayer: Relayer
  readonly target: unknown
}

const makeLedger = Effect.gen(function* () {
  const store = yield* Store
  const feed = yield* Feed
  const { sending } = (yield* TestChain).kit
  const { rules } = sending
  const encodeShown = encoderOf(rules.shown)
  const rows = new Map<number, Row>()
  const lanes = new Map<string, KitLane>()
  let numbers = 0
  let now: Moment = yield* Clock.currentTimeMillis

  const all = () => [...rows.values()]

  const show = (row: Row, isWhole = true) => {
    const { id, relayerId, from, externalId, confirmedAt, transaction, raws } = row
    const identity = {
      id,
      relayerId,
      from,
      ...present("externalId", externalId),
      ...present("confirmedAt", confirmedAt)
    }
    return rules.show(transaction, { ...identity, isWhole }, raws.get(shownAttempt(transaction)?.ordinal ?? 0))
  }

  const noteOpen = ({ relayerId, transaction }: Row): void => {
    const open = store.open.get(relayerId) ?? new Set<number>()
    if (isFinal(transaction)) open.delete(transaction.number)
    else open.add(transaction.number)
    store.open.set(relayerId, open)
  }

  const publish = (type: KnownEventType, row: Row, at: Moment): void =>
    feed.publish({ type, id: row.id, relayerId: row.relayerId, data: encodeShown(show(row, false)) }, at)

  /** Writes the next state of a row, and publishes the events of the change. */
  const write = (row: Row, transaction: Transaction): Row => {
    const confirmedAt = row.confirmedAt ?? (transaction.state === "confirmed" ? now : undefined)
    const after = { ...row, transaction, confirmedAt }
    rows.set(transaction.number, after)
    noteOpen(after)
    if (transaction.origin !== "request") return after
    for (const type of eventsOf(row.transaction, transaction)) publish(type, after, now)
    return after
  }

  /** Undefined: the relayer was deleted. */
  const targetOf = (relayerId: RelayerId) => {
    const relayer = store.relayers.get(relayerId)?.value
    const found = relayer && store.networks.get(networkId(relayer.network_type, relayer.network))?.value
    if (relayer === undefined || found === undefined) return undefined
    return { relayer, target: rules.targetOf({ relayer, network: found }) }
  }

  const rowOf = (number: number): Row => {
    const found = rows.get(number)
    if (found === undefined) throw new Error(`the kit has no transaction ${number}`)
    return found
  }

  const laneOf = (row: Pick<Row, "relayerId" | "from">, { relayer, target }: Target): KitLane => {
    const known = lanes.get(row.from)
    if (known !== undefined) return known
    const key = store.signers.get(SignerId.make(relayer.signer_id))?.key
    if (key === undefined) throw new Error(`the kit has no key of signer ${relayer.signer_id}`)
    const own = (id: RelayerId) => ({ id: TransactionId.make(crypto.randomUUID()), relayerId: id, from: row.from })
    const lane = sending.openLane({
      address: row.from,
      key,
      target,
      relayerNumber: store.relayers.get(row.relayerId)?.number ?? 0,
      rows: {
        all: () => all().flatMap(({ from, transaction }) => (from === row.from ? transaction : [])),
        nextNumber: () => ++numbers,
        store: (transaction, bytes) => {
          const nothing = {
            externalId: undefined,
            body: "",
            identity: undefined,
            confirmedAt: undefined,
            raws: new Map<number, Uint8Array>()
          }
          const before = rows.get(transaction.number) ?? { ...own(row.relayerId), ...nothing, transaction }
          const raws = bytes === undefined ? before.raws : new Map([...before.raws, [bytes.ordinal, bytes.raw]])
          write({ ...before, raws }, transaction)
        },
        termsOf: (transaction) => {
          const current = targetOf(rowOf(transaction.number).relayerId) ?? { relayer, target }
          return { ...rules.termsOf(current.target, transaction, row.from), isPaused: current.relayer.paused }
        }
      }
    })
    lanes.set(row.from, lane)
    return lane
  }

  const step = (at: Moment): void => {
    now = at
    for (const lane of lanes.values()) lane.step(at)
  }

  return {
    all,
    show,
    write: (row: Row, transaction: Transaction, at: Moment) => {
      now = at
      return write(row, transaction)
    },
    targetOf,
    lanes,
    step,
    insert: (target: Target, row: Row): void => {
      rows.set(row.transaction.number, row)
      noteOpen(row)
      publish("transaction.created", row, row.transaction.createdAt)
      laneOf(row, target)
    },
    nextNumber: () => ++numbers
  }
})
type Ledger = Effect.Success<typeof makeLedger>

interface Checked {
  readonly name: string | undefined
  readonly text: string
  readonly identity: string | undefined
  /** What is stored of it, or the row that was accepted before as the same request. */
  readonly accepted: Admitted | Row
}

const isRow = (accepted: Admitted | Row): accepted is Row => "id" in accepted

const refused = (violations: ReadonlyArray<Violation>, prefix: string) =>
  BadRequest.of(violations.map(({ field, message }) => ({ field: `${prefix}${field}`, message })))

const makeSending = Effect.fnUntraced(function* (ledger: Ledger) {
  const store = yield* Store
  const { sending } = (yield* TestChain).kit
  const { rules } = sending
  const encodeBody = encoderOf(sending.body)

  /** The relayer of a request and its network. */
  const targetOf = (relayerId: RelayerId) =>
    Effect.suspend(() => {
      const target = ledger.targetOf(relayerId)
      return target === undefined ? Effect.fail(new RelayerNotFound({})) : Effect.succeed(target)
    })

  /** What keeps a request that is valid from being accepted. */
  const checkRelayer = Effect.fnUntraced(function* ({ relayer, target }: Target, request: unknown, body?: unknown) {
    const lacking = sending.lacking(target, request, body)
    if (lacking !== undefined) return yield* new TransactionConflict({ error: lacking })
    if (relayer.paused) return yield* new RelayerPaused({})
  })

  const withName = (relayerId: RelayerId, name: string | undefined) =>
    name === undefined ? undefined : ledger.all().find((row) => row.relayerId === relayerId && row.externalId === name)

  /** A repeat is answered with what was accepted before, whatever would keep it from being accepted now. */
  const check = Effect.fnUntraced(function* (relayerId: RelayerId, body: unknown, target: Target, prefix: string) {
    const text = JSON.stringify(encodeBody(body))
    const name = sending.nameOf(body)
    const known = withName(relayerId, name)
    if (known?.body === text) return { name, text, identity: known.identity, accepted: known } satisfies Checked
    const now = yield* Clock.currentTimeMillis
    const admitted = yield* Effect.mapError(Effect.fromResult(sending.admit(body, target.target, now)), (violations) =>
      refused(violations, prefix)
    )
    yield* checkRelayer(target, admitted.request, body)
    if (known !== undefined) {
      const error = `external_id: was used with another body, by transaction ${known.id}`
      return yield* new TransactionConflict({ error })
    }
    const identity = rules.identityOf(admitted.request, admitted.facts)
    // Equal bytes of a caller are one transaction.
    const same = identity === undefined ? undefined : ledger.all().find((row) => row.identity === identity)
    if (same !== undefined && same.body !== text) {
      const error = `${prefix}transaction: was sent before, with another request, as transaction ${same.id}`
      return yield* new TransactionConflict({ error })
    }
    return { name, text, identity, accepted: same ?? admitted } satisfies Checked
  })

  const insert = (
    relayerId: RelayerId,
    { accepted, identity, name, text }: Checked,
    target: Target,
    now: Moment
  ): Row => {
    if (isRow(accepted)) return accepted
    const { facts, notBefore, priority, request, requiredSequence, validUntil } = accepted
    const own = {
      number: ledger.nextNumber(),
      relayerNumber: store.relayers.get(relayerId)?.number ?? 0,
      origin: "request",
      generation: 0,
      versions: [request] as const,
      facts,
      priority,
      validUntil
    }
    const transaction: Transaction = {
      ...beginning(own, now),
      ...present("notBefore", notBefore),
      ...present("requiredSequence", requiredSequence)
    }
    const row: Row = {
      id: TransactionId.make(crypto.randomUUID()),
      relayerId,
      from: rules.laneOf(target.target).address,
      externalId: name,
      body: text,
      identity,
      confirmedAt: undefined,
      transaction,
      raws: new Map()
    }
    ledger.insert(target, row)
    return row
  }

  const namesAreUsedOnce = (bodies: ReadonlyArray<unknown>): boolean => {
    const names = bodies.flatMap((body) => sending.nameOf(body) ?? [])
    return new Set(names).size === names.length
  }

  /** Accepts all bodies, or none. */
  const accept = Effect.fnUntraced(function* (
    relayerId: RelayerId,
    bodies: ReadonlyArray<unknown>,
    pathOf: (index: number) => string
  ) {
    const target = yield* targetOf(relayerId)
    if (!namesAreUsedOnce(bodies)) {
      return yield* new TransactionConflict({ error: "external_id: is used twice in this request" })
    }
    const all = yield* Effect.forEach(bodies, (body, index) => check(relayerId, body, target, pathOf(index)))
    const now = yield* Clock.currentTimeMillis
    return all.map((one) => insert(relayerId, one, target, now))
  })

  return { accept, checkRelayer, targetOf }
})

const makeTransactions = Effect.gen(function* () {
  const ledger = yield* makeLedger
  const store = yield* Store
  const { faults } = yield* AnswerFaults
  const { pollInterval: interval, sending: network } = (yield* TestChain).kit
  const { rules } = network
  const sending = yield* makeSending(ledger)
  const readBody = readerOf(network.body)
  const readBatch = readerOf(network.batch)
  const readReplacement = readerOf(network.replacement)
  yield* Effect.forkScoped(
    Effect.forever(Effect.andThen(Effect.sleep(interval), Effect.map(Clock.currentTimeMillis, ledger.step)))
  )

  /** The program does not see this answer. */
  const answered = <A>(answer: A): Effect.Effect<A> =>
    Effect.suspend(() => {
      if (faults.lost === 0) return Effect.succeed(answer)
      faults.lost -= 1
      return Effect.die(new AnswerLost())
    })

  const exists = (relayerId: RelayerId) =>
    store.relayers.has(relayerId) ? Effect.void : Effect.fail(new RelayerNotFound({}))

  const find = Effect.fnUntraced(function* (relayerId: RelayerId, isWanted: (row: Row) => boolean) {
    yield* exists(relayerId)
    const row = ledger.all().find((one) => one.relayerId === relayerId && isWanted(one))
    return row ?? (yield* new TransactionNotFound({}))
  })

  const get = (relayerId: RelayerId, id: TransactionId) => find(relayerId, (row) => row.id === id)

  const listOf = (rows: ReadonlyArray<Row>, filter: TransactionFilter) =>
    rows.filter((row) => isListed(filter, row)).toReversed()

  /** Cursors are numbers of transactions. */
  const afterCursor = Effect.fnUntraced(function* (
    found: ReadonlyArray<Row>,
    cursor: string | undefined,
    size: number
  ) {
    const position = cursor === undefined ? Infinity : Number(cursor)
    if (Number.isNaN(position)) {
      const message = "does not belong to this list; restart without a cursor"
      return yield* BadRequest.of([{ field: "cursor", message }])
    }
    const left = found.filter(({ transaction }) => transaction.number < position)
    const page = left.slice(0, size)
    const last = page.at(-1)
    const items = page.map((row) => ledger.show(row, false))
    return left.length > size && last !== undefined ? { items, next: String(last.transaction.number) } : { items }
  })

  const cancelOne = Effect.fnUntraced(function* (row: Row) {
    const cancellation = yield* Effect.fromResult(rules.cancel(row.transaction))
    const now = yield* Clock.currentTimeMillis
    return ledger.write(row, withCancellation(row.transaction, cancellation, now), now)
  })

  const replaceNew = Effect.fnUntraced(function* (
    relayerId: RelayerId,
    row: Row,
    replacement: unknown,
    { deadline, request }: Replacement
  ) {
    const target = yield* sending.targetOf(relayerId)
    const now = yield* Clock.currentTimeMillis
    const violations = network.replacementViolations(replacement, target.target, now)
    if (violations.length > 0) return yield* BadRequest.of(violations)
    yield* sending.checkRelayer(target, request)
    const { transaction } = row
    yield* Effect.fromResult(rules.canReplace?.(transaction) ?? canReplace(transaction))
    const conflicts = rules.replacementViolations(transaction, request, deadline)
    if (conflicts.length > 0) return yield* BadRequest.of(conflicts)
    return ledger.write(row, rules.replaced(transaction, request, deadline), now)
  })

  /** Blocks on top of the block that contains it change with each block. */
  const withDepth = ({ from, transaction }: Row) => {
    const why = transaction.cause ?? cause("queued")
    const { block, required_blocks = Infinity } = why.figures
    const height = ledger.lanes.get(from)?.height()
    if (block === undefined || height === undefined) return why
    return { ...why, figures: { ...why.figures, blocks: Math.min(Math.max(height - block, 0), required_blocks) } }
  }

  const explain = Effect.fnUntraced(function* (relayerId: RelayerId, id: TransactionId) {
    const row = yield* get(relayerId, id)
    const { transaction } = row
    const why = withDepth(row)
    const now = yield* Clock.currentTimeMillis
    const explanation: TransactionExplanation = {
      status: statusOf(transaction.state),
      code: why.code,
      ...rules.explain(why, isFinal(transaction)),
      figures: why.figures,
      since: DateTime.makeUnsafe(transaction.causeSince),
      ...(isFinal(transaction) ? {} : { next_at: DateTime.makeUnsafe(now + interval) })
    }
    return explanation
  })

  const cancelPending = Effect.fnUntraced(function* (relayerId: RelayerId) {
    yield* exists(relayerId)
    const open = ledger.all().filter((row) => row.relayerId === relayerId && !isFinal(row.transaction))
    const own = open.filter(({ transaction }) => transaction.origin === "request")
    const results = yield* Effect.forEach(own, (row) =>
      Effect.map(Effect.result(cancelOne(row)), (one) => ({ row, one }))
    )
    const idsOf = (isQueued: boolean) =>
      results.flatMap(({ row, one }) => (Result.isSuccess(one) === isQueued ? row.id : []))
    const canceled: CanceledTransactions = {
      queued_for_cancellation_transaction_ids: idsOf(true),
      failed_to_queue_transaction_ids: idsOf(false),
      total_processed: results.length
    }
    return canceled
  })

  return {
    send: Effect.fnUntraced(function* (relayerId: RelayerId, given: object) {
      const body = yield* readBody(given)
      const [row] = yield* sending.accept(relayerId, [body], () => "")
      if (row === undefined) throw new Error("the kit has accepted nothing")
      return yield* answered(ledger.show(row))
    }),
    sendBatch: Effect.fnUntraced(function* (relayerId: RelayerId, given: object) {
      const { transactions } = yield* readBatch(given)
      const rows = yield* sending.accept(relayerId, transactions, (index) => `transactions.${index}.`)
      return yield* answered(rows.map((row) => ledger.show(row)))
    }),
    simulate: Effect.fnUntraced(function* (relayerId: RelayerId) {
      yield* sending.targetOf(relayerId)
      return yield* new NotImplemented({ error: "the test kit does not simulate transactions" })
    }),
    get: (relayerId: RelayerId, id: TransactionId) => Effect.map(get(relayerId, id), (row) => ledger.show(row)),
    byNonce: Effect.fnUntraced(function* (relayerId: RelayerId, nonce: number | bigint) {
      if (!network.hasSequences) {
        return yield* new NotImplemented({ error: "transactions of this network type are not found by a nonce" })
      }
      return ledger.show(yield* find(relayerId, ({ transaction }) => transaction.place?.sequence === BigInt(nonce)))
    }),
    list: Effect.fnUntraced(function* (relayerId: RelayerId, { page, cursor, ...query }: TransactionQuery) {
      yield* exists(relayerId)
      const found = listOf(
        ledger.all().filter((row) => row.relayerId === relayerId),
        query
      )
      const request = pageRequest({ ...query, ...(page === undefined ? {} : { page }) })
      if (cursor !== undefined) return yield* afterCursor(found, cursor, request.perPage)
      const { items, ...more } = yield* afterCursor(found.slice(request.offset), undefined, request.perPage)
      return { items, ...more, total: found.length, request }
    }),
    listAll: ({ relayer_id, cursor, ...query }: AllTransactionsQuery) => {
      const rows = ledger.all().filter((row) => relayer_id === undefined || relayer_id.includes(row.relayerId))
      return afterCursor(listOf(rows, query), cursor, pageRequest(query).perPage)
    },
    explain,
    replace: Effect.fnUntraced(function* (relayerId: RelayerId, id: TransactionId, given: object) {
      const replacement = yield* readReplacement(given)
      const row = yield* get(relayerId, id)
      const read = network.replacementOf(replacement)
      const after = isNewest(network, row.transaction, read)
        ? row
        : yield* replaceNew(relayerId, row, replacement, read)
      return yield* answered(ledger.show(after))
    }),
    cancel: (relayerId: RelayerId, id: TransactionId) =>
      get(relayerId, id).pipe(
        Effect.flatMap(cancelOne),
        Effect.flatMap((row) => answered(ledger.show(row)))
      ),
    cancelPending
  }
})

/** Answers of sends, replacements and cancels that the program does not see. */
export class AnswerFaults extends Context.Service<AnswerFaults, { readonly faults: { lost: number } }>()(
  "effect-relayer/testkit/Sends/AnswerFaults"
) {
  static readonly layer = Layer.sync(AnswerFaults, () => AnswerFaults.of({ faults: { lost: 0 } }))
}

export const layer = Layer.unwrap(Effect.map(makeTransactions, Layer.mock(Transactions)))
