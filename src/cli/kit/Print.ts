// Prints the `data` of a response as JSON or as a table: one resource, a page, or all pages of a list.
import { Console, Effect, Option, Predicate, Schema } from "effect"
import { Flag } from "effect/cli"
import { units } from "../../domain/chain/Amount.ts"
import * as WholeUnits from "../../domain/chain/WholeUnits.ts"
import type { NetworkType } from "../../domain/network/Network.ts"
import { rawInteger } from "../../domain/request/ExactJson.ts"
import * as Call from "./Call.ts"
import { connectionFlags } from "./Call.ts"
import type { ConnectionFlags } from "./Call.ts"
import { fieldRows, printable, tableLines } from "./Terminal.ts"

/** Flags of every command that calls the service. */
export const flags = {
  ...connectionFlags,
  output: Flag.Literals("output", ["table", "json"]).pipe(
    Flag.withAlias("o"),
    Flag.withDescription("Output format (default table)"),
    Flag.withDefault("table")
  )
}

export interface OutputFlags extends ConnectionFlags {
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
  Console.log(tableLines(rows).join("\n"))

// Amounts in tables, by the last part of their path, or the last two: in decimal digits with their unit. The API has the value of an evm transaction in hex.

const natives: ReadonlySet<string> = new Set([
  "value",
  "fee_paid",
  "max_fee",
  "balance",
  "min_balance",
  "missing",
  "reserved",
  "max_cost",
  "max_value",
  "max_fee_per_day",
  "max_allowed_fee_lamports",
  "max_lamports_out",
  "priority_fee_max_lamports",
  "swap_config.min_balance_threshold",
  "top_up.below",
  "top_up.to",
  "top_up.max_per_day",
  "top_up.used",
  "top_up.left",
  "top_up_out_per_day"
])

/** Only relayers of evm have prices of gas, which people compare in gwei. */
const prices: ReadonlySet<string> = new Set([
  "gas_price",
  "gas_price_cap",
  "max_fee_per_gas",
  "max_priority_fee_per_gas",
  "effective_gas_price",
  "base_fee",
  "minimum_priority_fee",
  "tip_cap"
])

/** Texts of the service, whose amounts are in the smallest unit. */
const sentences: ReadonlySet<string> = new Set(["reason", "next", "status_reason"])

const gwei = 9

const isUnit = (type: unknown): type is NetworkType => typeof type === "string" && type in units

/** `ether` is 10^18 wei on every evm network, whatever the symbol of its token is. */
const wholeUnits: Readonly<Record<NetworkType, string>> = {
  evm: "ether",
  solana: WholeUnits.native.solana.symbol,
  stellar: WholeUnits.native.stellar.symbol
}

/** Smaller amounts have no more meaning in whole units: a millionth of one. */
const smallestWhole = (decimals: number): bigint => 10n ** BigInt(decimals - 6)

/** In parentheses, and empty if the amount is small. */
const inWholeUnits = (value: bigint, type: NetworkType): string => {
  const { decimals } = WholeUnits.native[type]
  return value < smallestWhole(decimals) ? "" : ` (${WholeUnits.exact(value, decimals)} ${wholeUnits[type]})`
}

/** An amount as people and programs read it: `1000000000000000 wei (0.001 ether)`. */
export const amount = (value: bigint, type: NetworkType): string =>
  `${value} ${units[type]}${inWholeUnits(value, type)}`

const typeOfUnit: Readonly<Record<string, NetworkType>> = { wei: "evm", lamport: "solana", stroop: "stellar" }

/** Adds whole units to the amounts of a sentence of the service. */
export const withWholeUnits = (sentence: string): string =>
  sentence.replace(
    /\b(\d+) (wei|lamport|stroop)s?( per gas)?\b/g,
    (all, digits: string, unit: string, price?: string) => {
      if (price !== undefined) return `${WholeUnits.exact(BigInt(digits), gwei)} gwei${price}`
      const type = typeOfUnit[unit]
      return type === undefined ? all : `${all}${inWholeUnits(BigInt(digits), type)}`
    }
  )

/** The network type that a path names. The limits of a key for evm have no name, beside those of the other types. */
const typeIn = (parts: ReadonlyArray<string>): NetworkType | undefined =>
  parts.find(isUnit) ?? (parts.includes("transaction_limits") ? "evm" : undefined)

/** `type`: of the network, unless the path names it. An amount without it stays as it is. */
const withUnit = (type: unknown) => {
  return ([path, value]: readonly [path: string, value: string]): ReadonlyArray<string> => {
    const parts = path.split(".")
    const name = parts.at(-1) ?? ""
    if (sentences.has(name)) return [path, withWholeUnits(value)]
    const own = typeIn(parts) ?? type
    if (!isUnit(own) || !/^(\d+|0x[0-9a-f]+)$/.test(value)) return [path, value]
    if (natives.has(name) || natives.has(parts.slice(-2).join("."))) return [path, amount(BigInt(value), own)]
    return prices.has(name) ? [path, `${WholeUnits.exact(BigInt(value), gwei)} gwei`] : [path, value]
  }
}

/** The network type that a response names. An explanation names none, but the unit of the amount that its account lacks. */
const typeOf = (data: unknown): unknown => {
  if (Predicate.hasProperty(data, "network_type")) return data.network_type
  const funding = Predicate.hasProperty(data, "funding") ? data.funding : undefined
  const unit = Predicate.hasProperty(funding, "unit") ? String(funding.unit) : ""
  return typeOfUnit[unit.replace(/s$/, "")]
}

/** One field per row, and the entity tag if there is one. A `data` that is text is one row. `type`: of the network if `data` does not say it. */
export const rowsOf = (data: unknown, etag?: string, type?: NetworkType): ReadonlyArray<ReadonlyArray<string>> => {
  if (typeof data === "string") return [[data]]
  return [...fieldRows(data).map(withUnit(typeOf(data) ?? type)), ...(etag === undefined ? [] : [["(etag)", etag]])]
}

/** What the next apply of the configuration that owns a resource does to a change of it. */
type Fate = "reverted" | "reverted if its files say paused"

const fates: Readonly<Record<Fate, string>> = {
  reverted: "its next apply reverts this",
  "reverted if its files say paused": "its next apply reverts this if its files say `paused`"
}

/** If a configuration owns the resource that was changed, a line says so. */
const managedBy = (data: unknown, fate: Fate): ReadonlyArray<string> =>
  Predicate.hasProperty(data, "managed_by") && Predicate.hasProperty(data, "id")
    ? [`${String(data.id)} is managed by ${String(data.managed_by)}; ${fates[fate]}`]
    : []

export interface How<A> {
  /** The rows of the table if the fields are not enough. */
  readonly rows?: (value: A) => ReadonlyArray<ReadonlyArray<string | undefined>>
  /** Undefined: the call changes nothing. */
  readonly fate?: Fate | undefined
  /** The network type that the amounts of the response are of, if the response does not say it. */
  readonly amountsOf?: NetworkType
  /** A second call, about what the first one made. If it fails, the command does not. */
  readonly notices?: (client: Call.Client, made: A) => Effect.Effect<ReadonlyArray<string>, unknown>
}

/** Makes one call, prints its response and returns it. What is worth knowing about it goes to stderr. */
export const one = Effect.fnUntraced(function* <A, E>(
  given: OutputFlags,
  call: (client: Call.Client) => Effect.Effect<A, E>,
  { amountsOf, fate, notices, rows }: How<A> = {}
) {
  const run = yield* Call.open(given)
  const { value, answer } = yield* run(call)
  const data = dataOf(answer)
  yield* given.output === "json" ? json(data) : table(rows?.(value) ?? rowsOf(data, answer.headers.etag, amountsOf))
  const lines = fate === undefined ? [] : [...managedBy(data, fate)]
  if (notices !== undefined) {
    const more = run((client) => notices(client, value)).pipe(
      Effect.map(({ value }) => value),
      Effect.catch(({ message }) => Effect.succeed([`This was created, but its check failed: ${message}`]))
    )
    lines.push(...(yield* more))
  }
  for (const line of lines) yield* Console.error(printable(withWholeUnits(line)))
  return value
})

// Prints lists: one page, or all following pages.

/** The parameters of the query of a page. */
export type ListPlace = Readonly<Record<string, unknown>>

export const listFlags = {
  ...flags,
  all: Flag.Boolean("all").pipe(
    Flag.withoutNegation,
    Flag.withDescription("Fetch all pages, each as large as the service allows"),
    Flag.withDefault(false)
  )
}

export interface ListFlags extends OutputFlags {
  readonly all: boolean
}

export interface Listed<Row> {
  readonly data: ReadonlyArray<Row>
  readonly pagination?: { readonly current_page: number; readonly per_page: number; readonly total_items: number }
}

/** Uses the cursor of the `Link` header. Lists without cursors continue by page number. */
export const nextPlace = (
  place: ListPlace,
  { pagination }: Listed<unknown>,
  link: string | undefined
): ListPlace | undefined => {
  const { page: _, cursor: __, ...rest } = place
  const target = /<([^>]*)>;\s*rel="next"/.exec(link ?? "")?.[1]
  const cursor = target === undefined ? null : URL.parse(target, "http://localhost")?.searchParams.get("cursor")
  if (typeof cursor === "string") return { ...rest, cursor }
  if (pagination === undefined || pagination.per_page === 0) return undefined
  const { current_page, per_page, total_items } = pagination
  return current_page * per_page < total_items ? { ...rest, page: current_page + 1 } : undefined
}

/** Title and cell of each column. */
export type ListColumns<Row> = Readonly<Record<string, (row: Row) => string | undefined>>

const Unread = Schema.Struct({
  metadata: Schema.Struct({ unreadable: Schema.Array(Schema.Struct({ id: Schema.String, reason: Schema.String })) })
})

const readUnread = Schema.decodeUnknownOption(Unread)

/** Rows of the page that the service cannot read. */
export const unreadableOf = ({ json }: Pick<Call.Answer, "json">): Unreadable =>
  Option.match(readUnread(json), { onNone: () => [], onSome: ({ metadata }) => metadata.unreadable })

type Unreadable = (typeof Unread.Type)["metadata"]["unreadable"]

/** The cells of a row that the service cannot read, beside those of the others. */
export const unreadableCells = (id: string, titles: ReadonlyArray<string>) => {
  const state = titles.includes("STATE") ? "STATE" : titles[1]
  return titles.map((title) => (title === "ID" ? id : title === state ? "unreadable" : undefined))
}

/** `complete` makes a further call for each row of a table, for what the list does not have. */
export const printList = Effect.fnUntraced(function* <Row, E, E2 = never>(
  given: ListFlags,
  columns: ListColumns<Row>,
  start: ListPlace,
  call: (client: Call.Client, place: ListPlace) => Effect.Effect<Listed<Row>, E>,
  complete?: (client: Call.Client, row: Row) => Effect.Effect<Row, E2>
) {
  const run = yield* Call.open(given)
  const rows: Array<Row> = []
  const raw: Array<unknown> = []
  const unreadable: Array<Unreadable[number]> = []
  let place: ListPlace | undefined = start
  do {
    const from: ListPlace = place
    const { value, answer } = yield* run((client) => call(client, from))
    const data = dataOf(answer)
    rows.push(...value.data)
    if (Array.isArray(data)) raw.push(...data)
    unreadable.push(...unreadableOf(answer))
    place = nextPlace(from, value, answer.headers.link)
  } while (given.all && place !== undefined)
  const named = Effect.forEach(unreadable, ({ reason }) => Console.error(printable(`unreadable: ${reason}`)))
  if (given.output === "json") return yield* Effect.andThen(json(raw), named)
  if (complete !== undefined) {
    for (const [index, row] of rows.entries()) rows[index] = (yield* run((client) => complete(client, row))).value
  }
  const titles = Object.keys(columns)
  yield* table([
    titles,
    ...rows.map((row) => Object.values(columns).map((cell) => cell(row))),
    ...unreadable.map(({ id }) => unreadableCells(id, titles))
  ])
  yield* named
  if (place !== undefined) yield* Console.error("There are more items: use --all to fetch all pages.")
})
