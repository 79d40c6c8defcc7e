// Prints the `data` of a response as JSON or as a table.
import { Console, Effect, Predicate } from "effect"
import { Flag } from "effect/cli"
import { rawInteger } from "../../domain/request/ExactJson.ts"
import * as Call from "./Call.ts"
import * as Connection from "./Connection.ts"
import * as Table from "./Table.ts"

/** Flags of every command that calls the service. */
export const flags = {
  ...Connection.flags,
  output: Flag.Literals("output", ["table", "json"]).pipe(
    Flag.withAlias("o"),
    Flag.withDescription("Output format (default table)"),
    Flag.withDefault("table")
  )
}

export interface OutputFlags extends Connection.ConnectionFlags {
  readonly output: "table" | "json"
}

/** The `data` of an envelope. */
export const dataOf = ({ json }: Call.Answer): unknown => (Predicate.hasProperty(json, "data") ? json.data : undefined)

const text = (value: unknown, indentation?: number) =>
  JSON.stringify(value, (_, child) => (typeof child === "bigint" ? rawInteger(child) : child), indentation)

/** Prints every digit of numbers. */
export const json = (value: unknown) => Console.log(text(value, 2))

/** The same on one line. */
export const jsonLine = (value: unknown): string => text(value)

export const table = (rows: ReadonlyArray<ReadonlyArray<string | undefined>>) =>
  Console.log(Table.lines(rows).join("\n"))

/** The API has the value of an evm transaction in hex, and every other amount in decimal digits. */
const inDecimal = ([path, value]: readonly [path: string, value: string]) =>
  path === "value" && /^0x[0-9a-f]+$/.test(value) ? [path, String(BigInt(value))] : [path, value]

/** One field per row, and the entity tag if there is one. A `data` that is text is one row. */
const rowsOf = (data: unknown, etag: string | undefined) =>
  typeof data === "string"
    ? [[data]]
    : [...Table.fields(data).map(inDecimal), ...(etag === undefined ? [] : [["(etag)", etag]])]

type Run = Effect.Success<ReturnType<typeof Call.open>>

type Rows<A> = (value: A) => ReadonlyArray<ReadonlyArray<string | undefined>>

const printed = Effect.fnUntraced(function* <A, E>(
  run: Run,
  given: OutputFlags,
  call: (client: Call.Client) => Effect.Effect<A, E>,
  rows?: Rows<A>
) {
  const { value, answer } = yield* run(call)
  const data = dataOf(answer)
  yield* given.output === "json" ? json(data) : table(rows?.(value) ?? rowsOf(data, answer.headers.etag))
  return { value, answer }
})

/** Makes one call, prints its response and returns it. `rows` makes the table if the fields are not enough. */
export const one = Effect.fnUntraced(function* <A, E>(
  given: OutputFlags,
  call: (client: Call.Client) => Effect.Effect<A, E>,
  rows?: Rows<A>
) {
  const { value } = yield* printed(yield* Call.open(given), given, call, rows)
  return value
})

/** What the next apply of the configuration that owns a resource does to a change of it. */
export type Fate = "reverted" | "reverted if its files say paused"

const fates: Readonly<Record<Fate, string>> = {
  reverted: "its next apply reverts this",
  "reverted if its files say paused": "its next apply reverts this if its files say `paused`"
}

/** The same for a change. If a configuration owns the resource, a line on stderr says so. */
export const changed = Effect.fnUntraced(function* <A, E>(
  given: OutputFlags,
  call: (client: Call.Client) => Effect.Effect<A, E>,
  fate: Fate = "reverted"
) {
  const run = yield* Call.open(given)
  const { value, answer } = yield* printed(run, given, call)
  const data = dataOf(answer)
  if (!Predicate.hasProperty(data, "managed_by") || !Predicate.hasProperty(data, "id")) return value
  const line = `${String(data.id)} is managed by ${String(data.managed_by)}; ${fates[fate]}`
  yield* Console.error(Table.printable(line))
  return value
})

/** The same, and a second call about what the first one made. Its lines go to stderr. If it fails, the command does not. */
export const withNotices = Effect.fnUntraced(function* <A, E, E2>(
  given: OutputFlags,
  call: (client: Call.Client) => Effect.Effect<A, E>,
  notices: (client: Call.Client, made: A) => Effect.Effect<ReadonlyArray<string>, E2>
) {
  const run = yield* Call.open(given)
  const { value: made } = yield* printed(run, given, call)
  const lines = yield* run((client) => notices(client, made)).pipe(
    Effect.map(({ value }) => value),
    Effect.catch(({ message }) => Effect.succeed([`This was created, but its check failed: ${message}`]))
  )
  for (const line of lines) yield* Console.error(Table.printable(line))
  return made
})
