// `events`: lists events in their order, and follows new ones.
import { Console, DateTime, Effect, Option } from "effect"
import { Command } from "effect/cli"
import { KnownEventType, maxEvents, maxWait } from "../../domain/event/Event.ts"
import type { Event } from "../../domain/event/Event.ts"
import * as Call from "../kit/Call.ts"
import * as Contract from "../kit/Contract.ts"
import * as Field from "../kit/Field.ts"
import * as Print from "../kit/Print.ts"
import { listFlags } from "../kit/Print.ts"
import type { ListColumns } from "../kit/Print.ts"
import { exitCodes, tableLines } from "../kit/Terminal.ts"
import type { CommandFailed } from "../kit/Terminal.ts"
import * as Verb from "../kit/Verb.ts"

const columns: ListColumns<Event> = {
  ID: ({ id }) => String(id),
  AT: ({ at }) => DateTime.formatIso(at),
  TYPE: ({ type }) => type,
  RESOURCE: ({ resource_id }) => resource_id
}

const rowOf = (event: Event) => Object.values(columns).map((cell) => cell(event))

const listed = Contract.call<{ readonly data: ReadonlyArray<Event> }>("events.list", {
  hidden: ["before", "wait"],
  flags: { relayer_id: "relayer" }
})

const { limit: _, ...filter } = listed.config.query

type Query = Readonly<Record<string, unknown>>

/** The decoded events, and the JSON of the response, which has every digit. */
interface Batch {
  readonly events: ReadonlyArray<Event>
  readonly raw: ReadonlyArray<unknown>
}

const open = Effect.fnUntraced(function* (given: Print.OutputFlags) {
  const run = yield* Call.open(given)
  return (query: Query) =>
    Effect.map(
      run((client) => Effect.flatMap(listed.query(query), (query) => listed.send(client, { query, headers: {} }))),
      ({ value, answer }): Batch => {
        const raw = Print.dataOf(answer)
        return { events: value.data, raw: Array.isArray(raw) ? raw : [] }
      }
    )
})

const continueAfter = (query: Query, { events }: Batch): Query => {
  const last = events.at(-1)
  return last === undefined ? query : { ...query, after: last.id }
}

const list = Command.make(
  "list",
  { given: listFlags, query: listed.config.query },
  Effect.fnUntraced(function* ({ given, query: asked }) {
    const next = yield* open(given)
    let query: Query = { ...(given.all ? { limit: maxEvents } : {}), ...Field.given(asked) }
    const all: { events: Array<Event>; raw: Array<unknown> } = { events: [], raw: [] }
    let batch: Batch
    do {
      batch = yield* next(query)
      query = continueAfter(query, batch)
      all.events.push(...batch.events)
      all.raw.push(...batch.raw)
    } while (given.all && batch.events.length > 0)
    if (given.output === "json") return yield* Print.json(all.raw)
    yield* Print.table([Object.keys(columns), ...all.events.map(rowOf)])
    if (!given.all && query.after !== undefined) yield* Console.error(`Continue with --after ${query.after}.`)
  })
).pipe(
  Verb.about(
    "List events in their order, which is complete and never changes.",
    "events list --after 4711",
    "events list --all --resource-id payouts --type relayer.disabled --output json"
  )
)

/** The usual widths of the columns: later rows are not known yet. */
const widths = [
  "0".repeat(8),
  "0".repeat(24),
  "0".repeat(Math.max(...KnownEventType.literals.map(({ length }) => length)))
]

const lines = (rows: ReadonlyArray<ReadonlyArray<string | undefined>>) => tableLines([widths, ...rows]).slice(1)

const print = (output: "table" | "json", { events, raw }: Batch) =>
  Effect.forEach(output === "json" ? raw.map(Print.jsonLine) : lines(events.map(rowOf)), (line) => Console.log(line), {
    discard: true
  })

/** The pause before the next request while the service cannot be reached or refuses requests. */
const retryDelay = "2 seconds"

const isTemporary = ({ exitCode, status = 0 }: CommandFailed) =>
  exitCode === exitCodes.unreachable || status === 429 || status >= 500

/** A service that drains responds at once without events. */
const pause = "200 millis"

const follow = Command.make(
  "follow",
  { given: Print.flags, filter },
  Effect.fnUntraced(function* ({ given, filter }) {
    const next = yield* open(given)
    if (given.output === "table") for (const line of lines([Object.keys(columns)])) yield* Console.log(line)
    let query: Query = { limit: maxEvents, wait: maxWait, ...Field.given(filter) }
    let reached = false
    while (true) {
      const found = yield* Effect.catchIf(
        Effect.asSome(next(query)),
        (error) => reached && isTemporary(error),
        ({ message }) =>
          Console.error(`${message}; retrying`).pipe(Effect.andThen(Effect.sleep(retryDelay)), Effect.as(Option.none()))
      )
      if (Option.isNone(found)) continue
      reached = true
      if (found.value.events.length === 0) yield* Effect.sleep(pause)
      yield* print(given.output, found.value)
      query = continueAfter(query, found.value)
    }
  })
).pipe(
  Verb.about(
    "Print past events, then new ones as they are published. Continues after an interruption of the service. --output json prints one event per line.",
    "events follow --after 4711",
    "events follow --type relayer.disabled --output json"
  )
)

export const EventsCommand = Command.make("events").pipe(
  Verb.about("Events that the service publishes.", "events list --after 4711", "events follow"),
  Command.withSubcommands([list, follow])
)
