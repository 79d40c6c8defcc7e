// Transactions of the kit: what callers send, replace and cancel, in a ledger in memory, and the lanes that send it. All decisions are those
// of the rules of the service.
import { Clock, Context, Data, DateTime, Effect, Layer, Result, Schema } from "effect"
import { canonicalHash } from "../domain/chain/Amount.ts"
import type { KnownEventType } from "../domain/event/Event.ts"
import { networkId } from "../domain/network/Network.ts"
import { RelayerNotFound } from "../domain/relayer/Relayer.ts"
import type { RelayerId } from "../domain/relayer/Relayer.ts"
import { parse } from "../domain/request/ExactJson.ts"
import { pageRequest } from "../domain/request/Page.ts"
import { BadRequest, NotImplemented } from "../domain/request/Request.ts"
import { SignerId } from "../domain/signer/Signer.ts"
import { cause } from "../networks/core/Cause.ts"
import { present, statusOf } from "../networks/core/Presentation.ts"
import { canReplace, replaced, TransactionConflict } from "../networks/core/Rules.ts"
import { beginning, isFinal, newestRequest } from "../networks/core/Transaction.ts"
import type { Transaction } from "../networks/core/Transaction.ts"
import { RelayerPaused } from "../networks/core/TransactionLimits.ts"
import { batchOf } from "../networks/core/TransactionRequests.ts"
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
import { deadlineOf, evmTermsOf, violationsOf } from "../networks/evm/rules/Admission.ts"
import { requestOfBody } from "../networks/evm/rules/Evm.ts"
import type { Evm, EvmTarget, Request } from "../networks/evm/rules/Evm.ts"
import { networkNumbers, pollInterval } from "../networks/evm/rules/EvmNumbers.ts"
import { cancel, evmRules, replacementViolations } from "../networks/evm/rules/EvmRules.ts"
import { EvmTransaction, ReplaceEvmTransaction, SendEvmTransaction } from "../networks/evm/rules/EvmSchemas.ts"
import * as EvmLane from "./evm/Lane.ts"
import { checksum } from "./evm/Wire.ts"
import { Feed } from "./Feed.ts"
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
  readonly confirmedAt: Moment | undefined
  readonly transaction: Transaction<Evm>
  /** Signed bytes by ordinal. */
  readonly raws: ReadonlyMap<number, Uint8Array>
}

const encodeShown = Schema.encodeSync(EvmTransaction)
const encodeBody = Schema.encodeSync(SendEvmTransaction)
const encodeRequest = Schema.encodeUnknownSync(evmRules.request)

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

const readBody = readerOf(SendEvmTransaction)
const readBatch = readerOf(batchOf(SendEvmTransaction))
const readReplacement = readerOf(ReplaceEvmTransaction)

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

const makeLedger = Effect.gen(function* () {
  const store = yield* Store
  const feed = yield* Feed
  const { chain, network } = yield* TestChain
  const rows = new Map<number, Row>()
  const lanes = new Map<string, EvmLane.Lane>()
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
    const { attempts, mined } = transaction
    const shown =
      mined === undefined ? attempts.findLast((one) => one.outcome !== "refused") : attempts[(mined.ordinal ?? 1) - 1]
    return evmRules.show(transaction, { ...identity, isWhole }, raws.get((shown ?? attempts.at(-1))?.ordinal ?? 0))
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
  const write = (row: Row, transaction: Transaction<Evm>): Row => {
    const confirmedAt = row.confirmedAt ?? (transaction.state === "confirmed" ? now : undefined)
    const after = { ...row, transaction, confirmedAt }
    rows.set(transaction.number, after)
    noteOpen(after)
    if (transaction.origin !== "request") return after
    for (const type of eventsOf(row.transaction, transaction)) publish(type, after, now)
    return after
  }

  /** Undefined: the relayer was deleted. */
  const targetOf = (relayerId: RelayerId): EvmTarget | undefined => {
    const relayer = store.relayers.get(relayerId)?.value
    const found = relayer && store.networks.get(networkId(relayer.network_type, relayer.network))?.value
    return relayer === undefined || found === undefined ? undefined : evmRules.targetOf({ relayer, network: found })
  }

  const rowOf = (number: number): Row => {
    const found = rows.get(number)
    if (found === undefined) throw new Error(`the kit has no transaction ${number}`)
    return found
  }

  const laneOf = (row: Pick<Row, "relayerId" | "from">, target: EvmTarget): EvmLane.Lane => {
    const known = lanes.get(row.from)
    if (known !== undefined) return known
    const { relayer } = target
    const relayerNumber = store.relayers.get(row.relayerId)?.number ?? 0
    const key = store.signers.get(SignerId.make(relayer.signer_id))?.key
    if (key === undefined) throw new Error(`the kit has no key of signer ${relayer.signer_id}`)
    const { minimumTip } = networkNumbers(target.network)
    const own = (id: RelayerId) => ({ id: TransactionId.make(crypto.randomUUID()), relayerId: id, from: row.from })
    const lane = EvmLane.make({
      account: { chain, address: row.from, finality: network.confirmations, minimumTip },
      key: key.secret,
      numbers: networkNumbers(target.network),
      relayerNumber,
      rows: {
        all: () => all().flatMap(({ from, transaction }) => (from === row.from ? transaction : [])),
        nextNumber: () => ++numbers,
        store: (transaction, bytes) => {
          const nothing = {
            externalId: undefined,
            body: "",
            confirmedAt: undefined,
            raws: new Map<number, Uint8Array>()
          }
          const before = rows.get(transaction.number) ?? { ...own(row.relayerId), ...nothing, transaction }
          const raws = bytes === undefined ? before.raws : new Map([...before.raws, [bytes.ordinal, bytes.raw]])
          write({ ...before, raws }, transaction)
        },
        termsOf: (transaction) => {
          const current = targetOf(rowOf(transaction.number).relayerId) ?? target
          return { ...evmRules.termsOf(current, transaction, row.from), isPaused: current.relayer.paused }
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
    write: (row: Row, transaction: Transaction<Evm>, at: Moment) => {
      now = at
      return write(row, transaction)
    },
    targetOf,
    lanes,
    step,
    insert: (target: EvmTarget, row: Row): void => {
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
  readonly body: SendEvmTransaction
  readonly text: string
  /** The row that was accepted before with the same `external_id` and body. */
  readonly known: Row | undefined
}

const privateSends =
  "private transactions are not sent by the test kit: leave private out, and private_transactions of the policy"

const makeSending = Effect.fnUntraced(function* (ledger: Ledger) {
  const store = yield* Store

  /** The relayer of a request and its network. */
  const targetOf = (relayerId: RelayerId) =>
    Effect.suspend(() => {
      const target = ledger.targetOf(relayerId)
      return target === undefined ? Effect.fail(new RelayerNotFound({})) : Effect.succeed(target)
    })

  const admissionOf = (target: EvmTarget) =>
    Effect.map(Clock.currentTimeMillis, (now) => ({ now, terms: evmTermsOf(target), checksum }))

  const checkBody = Effect.fnUntraced(function* (
    body: ReplaceEvmTransaction & Pick<SendEvmTransaction, "private">,
    target: EvmTarget,
    prefix: string
  ) {
    const violations = violationsOf(body, yield* admissionOf(target))
    if (violations.length > 0) {
      return yield* BadRequest.of(violations.map(({ field, message }) => ({ field: `${prefix}${field}`, message })))
    }
    if (body.private ?? evmTermsOf(target).isPrivate) return yield* new TransactionConflict({ error: privateSends })
    if (target.relayer.paused) return yield* new RelayerPaused({})
  })

  const withName = (relayerId: RelayerId, name: string | undefined) =>
    name === undefined ? undefined : ledger.all().find((row) => row.relayerId === relayerId && row.externalId === name)

  /** A repeat is answered with what was accepted before, whatever would keep it from being accepted now. */
  const check = Effect.fnUntraced(function* (
    relayerId: RelayerId,
    body: SendEvmTransaction,
    target: EvmTarget,
    prefix: string
  ) {
    const text = JSON.stringify(encodeBody(body))
    const known = withName(relayerId, body.external_id)
    if (known?.body === text) return { body, text, known } satisfies Checked
    yield* checkBody(body, target, prefix)
    if (known !== undefined) {
      const error = `external_id: was used with another body, by transaction ${known.id}`
      return yield* new TransactionConflict({ error })
    }
    return { body, text, known } satisfies Checked
  })

  const insert = (relayerId: RelayerId, { body, text }: Checked, target: EvmTarget, now: Moment): Row => {
    const { not_before, nonce, external_id, priority = 0 } = body
    const { address } = evmRules.laneOf(target)
    const own = {
      number: ledger.nextNumber(),
      relayerNumber: store.relayers.get(relayerId)?.number ?? 0,
      origin: "request",
      generation: 0,
      versions: [requestOfBody(body)] as const,
      facts: {},
      priority,
      validUntil: deadlineOf(body, evmTermsOf(target), now)
    }
    const transaction: Transaction<Evm> = {
      ...beginning(own, now),
      ...(not_before === undefined ? {} : { notBefore: DateTime.toEpochMillis(not_before) }),
      ...(nonce === undefined ? {} : { requiredSequence: BigInt(nonce) })
    }
    const row: Row = {
      id: TransactionId.make(crypto.randomUUID()),
      relayerId,
      from: address,
      externalId: external_id,
      body: text,
      confirmedAt: undefined,
      transaction,
      raws: new Map()
    }
    ledger.insert(target, row)
    return row
  }

  const namesAreUsedOnce = (bodies: ReadonlyArray<SendEvmTransaction>): boolean => {
    const names = bodies.flatMap(({ external_id }) => external_id ?? [])
    return new Set(names).size === names.length
  }

  /** Accepts all bodies, or none. */
  const accept = Effect.fnUntraced(function* (
    relayerId: RelayerId,
    bodies: ReadonlyArray<SendEvmTransaction>,
    pathOf: (index: number) => string
  ) {
    const target = yield* targetOf(relayerId)
    if (!namesAreUsedOnce(bodies)) {
      return yield* new TransactionConflict({ error: "external_id: is used twice in this request" })
    }
    const all = yield* Effect.forEach(bodies, (body, index) => check(relayerId, body, target, pathOf(index)))
    const now = yield* Clock.currentTimeMillis
    return all.map((one) => one.known ?? insert(relayerId, one, target, now))
  })

  return { accept, checkBody, targetOf }
})

const makeTransactions = Effect.gen(function* () {
  const ledger = yield* makeLedger
  const { network } = yield* TestChain
  const store = yield* Store
  const { faults } = yield* AnswerFaults
  const sending = yield* makeSending(ledger)
  const value = [...store.networks.values()][0]?.value
  const interval = value?.network_type === "evm" ? pollInterval(networkNumbers(value)) : network.blockTime
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
    const cancellation = yield* Effect.fromResult(cancel(row.transaction))
    const now = yield* Clock.currentTimeMillis
    return ledger.write(row, withCancellation(row.transaction, cancellation, now), now)
  })

  const isNewest = ({ transaction }: Row, replacement: ReplaceEvmTransaction): boolean => {
    const { validUntil, versions } = transaction
    const { max_value: _, wait_for_funds, ...newest } = { max_value: undefined, ...newestRequest(transaction) }
    const textOf = (request: Request) => JSON.stringify(encodeRequest(request))
    const deadline = replacement.valid_until
    return (
      versions.length > 1 &&
      textOf({ ...newest, ...present("wait_for_funds", wait_for_funds) }) ===
        textOf({ ...present("wait_for_funds", wait_for_funds), ...requestOfBody(replacement) }) &&
      (deadline === undefined || DateTime.toEpochMillis(deadline) === validUntil)
    )
  }

  const replaceNew = Effect.fnUntraced(function* (relayerId: RelayerId, row: Row, replacement: ReplaceEvmTransaction) {
    yield* sending.checkBody(replacement, yield* sending.targetOf(relayerId), "")
    const { transaction } = row
    yield* Effect.fromResult(canReplace(transaction))
    const { valid_until } = replacement
    const validUntil = valid_until === undefined ? undefined : DateTime.toEpochMillis(valid_until)
    const violations = replacementViolations(transaction, requestOfBody(replacement), validUntil)
    if (violations.length > 0) return yield* BadRequest.of(violations)
    const now = yield* Clock.currentTimeMillis
    return ledger.write(row, replaced(transaction, requestOfBody(replacement), validUntil), now)
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
      ...evmRules.explain(why, isFinal(transaction)),
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
    byNonce: (relayerId: RelayerId, nonce: number | bigint) =>
      Effect.map(
        find(relayerId, ({ transaction }) => transaction.place?.sequence === BigInt(nonce)),
        (row) => ledger.show(row)
      ),
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
      const after = isNewest(row, replacement) ? row : yield* replaceNew(relayerId, row, replacement)
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
