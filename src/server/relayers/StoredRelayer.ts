// Relayers as they are stored: JSON text in the form of the API, with a MAC of the account that the relayer is.
import { Context, Effect, Layer, Option, Schema } from "effect"
import * as Json from "../../api/Json.ts"
import { Relayer, RelayerNotFound } from "../../domain/relayer/Relayer.ts"
import type { RelayerId, RelayerUrls } from "../../domain/relayer/Relayer.ts"
import type { SqlClient, Statement } from "effect/sql"
import type { Page, PageRequest, Unreadable } from "../../domain/request/Page.ts"
import type { Versioned } from "../../domain/request/Request.ts"
import { advancingCodes } from "../../networks/core/Cause.ts"
import type { KnownCode } from "../../networks/core/Cause.ts"
import { seqOf } from "../../sql/Rows.ts"
import { RowMacs } from "../secrets/Secrets.ts"

const decodeOne = Schema.decodeSync(Json.fromText(Relayer))
const decodeMany = Schema.decodeSync(Json.fromText(Schema.Array(Relayer)))

export interface StoredRow {
  readonly id: RelayerId
  readonly json: string
  readonly mac: string | null
  readonly version: string
  /** What `rowState` says of the row, to notice a change of it. Absent: it was not read. */
  readonly state?: string
}

export interface HeldRow extends StoredRow {
  readonly custom_rpc_urls_sealed: Uint8Array | null
  readonly custom_private_rpc_urls_sealed: Uint8Array | null
}

/**
 * What was decoded of stored texts. It is no member of the classes: another implementation of `Relayers`, such as that of the test kit, returns
 * objects of the same shape.
 */
const decoded = new WeakMap<object, Relayer>()
const decodedItems = new WeakMap<object, ReadonlyArray<Relayer>>()

/** The value of the text, which is decoded once. */
const onceOf = <A>(known: WeakMap<object, A>, holder: object, decode: () => A): A => {
  const found = known.get(holder) ?? decode()
  known.set(holder, found)
  return found
}

export class StoredRelayer implements Versioned<Relayer> {
  readonly id: RelayerId
  readonly json: string
  readonly mac: string | null
  readonly version: string
  /** What `rowState` says of the row, to notice a change of it. Undefined: it was not read. */
  readonly state: string | undefined

  constructor({ id, json, mac, version, state }: StoredRow) {
    this.id = id
    this.json = json
    this.mac = mac
    this.version = version
    this.state = state
  }

  /** Identifies it among all relayers that there were: an id can be used again, a number cannot. */
  get number(): number {
    return seqOf(this.version)
  }

  get value(): Relayer {
    return onceOf(decoded, this, () => decodeOne(this.json))
  }
}

/** A relayer with the URLs that its chain is called by. */
export class HeldRelayer extends StoredRelayer {
  /** Sealed JSON of the unmasked lists. */
  readonly urlsSealed: { readonly [List in keyof RelayerUrls]-?: Uint8Array | undefined }

  constructor(row: HeldRow) {
    super(row)
    this.urlsSealed = {
      custom_rpc_urls: row.custom_rpc_urls_sealed ?? undefined,
      custom_private_rpc_urls: row.custom_private_rpc_urls_sealed ?? undefined
    }
  }
}

export const orNotFound = Option.match({
  onNone: () => Effect.fail(new RelayerNotFound({})),
  onSome: <A>(found: A) => Effect.succeed(found)
})

export class StoredPage implements Page<Relayer> {
  /** The JSON of the relayers, separated by commas. */
  readonly json: string
  readonly total: number
  readonly request: PageRequest
  readonly next?: string
  readonly unreadable: ReadonlyArray<Unreadable>

  constructor(page: Pick<StoredPage, "json" | "total" | "request" | "next" | "unreadable">) {
    this.json = page.json
    this.total = page.total
    this.request = page.request
    this.unreadable = page.unreadable
    if (page.next !== undefined) this.next = page.next
  }

  get items(): ReadonlyArray<Relayer> {
    return onceOf(decodedItems, this, () => decodeMany(`[${this.json}]`))
  }
}

// Authenticates which account a relayer is: callers send money to its address, and its signer signs for it.

/** The fields of a relayer that no request changes. */
interface RelayerIdentity {
  readonly id: string
  readonly network_type: string
  readonly network: string
  readonly signer_id: string
  readonly address: string
}

interface AuthenticatedRelayer {
  readonly id: string
  /** The relayer as responses show it. */
  readonly json: string
  readonly mac: string | null
}

/** UTF-16 code units of JSON whose MAC was verified, which are remembered: about ten thousand relayers. */
const maxRemembered = 4_000_000

const rowOfMac = ({ id, network_type, network, signer_id, address }: RelayerIdentity) => ({
  table: "relayers",
  id,
  content: { network_type, network, signer_id, address }
})

const makeRelayerMacs = Effect.gen(function* () {
  const macs = yield* RowMacs

  /** The verified JSON by id. It is remembered, because a verification costs as much as reading the relayer. */
  const verified = new Map<string, AuthenticatedRelayer>()
  let size = 0

  const remember = ({ id, json, mac }: AuthenticatedRelayer) => {
    size += json.length - (verified.get(id)?.json.length ?? 0)
    if (size > maxRemembered) {
      verified.clear()
      size = json.length
    }
    verified.set(id, { id, json, mac })
  }

  const isUnknown = ({ id, json, mac }: AuthenticatedRelayer) => {
    const known = verified.get(id)
    return known === undefined || known.json !== json || known.mac !== mac
  }

  const verifyOne = (relayer: AuthenticatedRelayer) =>
    Effect.map(
      macs.verify(rowOfMac({ ...(JSON.parse(relayer.json) as RelayerIdentity), id: relayer.id }), relayer.mac),
      () => remember(relayer)
    )

  /** Dies with `RowChanged` if a MAC does not belong to what the JSON shows. */
  const verify = (relayers: ReadonlyArray<AuthenticatedRelayer>) =>
    Effect.suspend(() => {
      const unknown = relayers.filter(isUnknown)
      return unknown.length === 0 ? Effect.void : Effect.forEach(unknown, verifyOne, { discard: true })
    })

  return { make: (identity: RelayerIdentity) => macs.make(rowOfMac(identity)), verify }
})

export class RelayerMacs extends Context.Service<RelayerMacs, Effect.Success<typeof makeRelayerMacs>>()(
  "effect-relayer/server/relayers/StoredRelayer/RelayerMacs"
) {
  static readonly layer = Layer.effect(RelayerMacs, makeRelayerMacs)
}

// A text of the statement and no parameter: an order that is selected too is then one expression, which PostgreSQL evaluates once.
const advancing = `ARRAY[${advancingCodes.map((code) => `'${code}'`).join(", ")}]`

/** Whether the open transaction `o` waits for something that is missing. */
export const isWaiting = (sql: SqlClient.SqlClient) => sql`o.code <> ALL(${sql.literal(advancing)})`

/** Relayers with such a transaction. Two parts, so that each one uses its partial index. */
export const waitingRelayers = (sql: SqlClient.SqlClient) => {
  const part = (states: Statement.Fragment) =>
    sql`SELECT o.relayer_number FROM transactions o WHERE ${states} AND ${isWaiting(sql)} AND o.relayer_number IS NOT NULL`
  return sql`${part(sql`o.state = 'pending'`)} UNION ALL ${part(sql`o.state IN ('signed', 'submitted', 'mined')`)}`
}

/** Codes of pending transactions that wait for their turn, or for those in front of them. */
const followingCodes = [
  "queued",
  "lane_window_full",
  "waits_for_predecessors"
] as const satisfies ReadonlyArray<KnownCode>

/**
 * The open transactions of the relayers. `held`: it waits by itself, as the condition about `o` says. `follows`: it is queued behind a
 * held one of its relayer: behind a pending one by their turns, behind one in flight once the window of its lane is full.
 */
// Of each relayer alone, by its index: a join with all transactions could read every one of them.
export const withFollowing = (
  sql: SqlClient.SqlClient,
  relayers: Statement.Fragment,
  isHeld: Statement.Fragment
) => sql`
  SELECT r.relayer_number, s.*, s.is_pending AND s.may_follow AND bool_or(s.is_pending AND (s.held OR s.is_stopped))
    OVER (PARTITION BY r.relayer_number ORDER BY -s.priority, greatest(s.created_at, s.not_before), s.number) AS follows
  FROM (SELECT DISTINCT relayer_number FROM (${relayers}) given) r CROSS JOIN LATERAL (
    SELECT o.relayer_id, o.code, o.figures, o.priority, o.created_at, o.not_before, o.number,
      o.state = 'pending' AS is_pending, ${isHeld} AS held, o.code = ANY(${followingCodes}::text[]) AS may_follow,
      o.code = 'lane_window_full' AND bool_or(o.state <> 'pending' AND ${isHeld}) OVER () AS is_stopped
    FROM transactions o WHERE o.relayer_number = r.relayer_number AND o.state BETWEEN 'mined' AND 'submitted'
  ) s`

/** Of each of the relayers that has any: how many of its open transactions wait, with those that are queued behind them. */
export const waitingCounts = (sql: SqlClient.SqlClient, relayers: Statement.Fragment) => sql`
  SELECT f.relayer_number, count(*) AS count FROM (${withFollowing(sql, relayers, isWaiting(sql))}) f
  WHERE f.held OR f.follows GROUP BY f.relayer_number`
