// The repair of rows that cannot be verified: lists them with the evidence, and gives a row a MAC of the present secret if an operator has
// decided so about this row, as it was listed.
import { Effect, Option, Schema } from "effect"
import { createHash } from "node:crypto"
import { Value } from "../../domain/request/ExactJson.ts"
import * as Transaction from "../../sql/Transaction.ts"
import { Audit } from "../audit/Audit.ts"
import { canonicalJson } from "../secrets/Envelope.ts"
import { RowMacs } from "../secrets/RowMacs.ts"
import * as AuthenticatedRepo from "./AuthenticatedRepo.ts"
import { authenticatedTables } from "./AuthenticatedRepo.ts"
import type { AuthenticatedTable, Detail } from "./AuthenticatedRepo.ts"
import * as RowEvidence from "./RowEvidence.ts"
import type { Evidence } from "./RowEvidence.ts"
import { batch } from "./UnreadableRows.ts"

export interface FoundRow {
  readonly table: string
  readonly id: string
  /** The columns that the MAC covers. They contain no secret. */
  readonly content: unknown
  /** Absent: the evidence contradicts the row, so that it is not accepted. */
  readonly fingerprint?: string
  readonly evidence: ReadonlyArray<Evidence>
}

export interface Found {
  /** How many rows have a MAC. */
  readonly total: number
  readonly unreadable: ReadonlyArray<FoundRow>
}

/** The decision of an operator about a row, as it was listed. */
export interface Decision {
  readonly table: string
  readonly id: string
  readonly fingerprint: string
}

/** Nothing was changed. */
export class RepairRefused extends Schema.TaggedError<RepairRefused>()("RepairRefused", { message: Schema.String }) {}

/** What the audit log has of an acceptance. */
const AcceptedRow = Schema.Struct({
  fingerprint: Schema.String,
  content: Value,
  evidence: Schema.Array(Schema.Struct({ about: Schema.String, verdict: Schema.String, text: Schema.String }))
})

const refused = (message: string) => new RepairRefused({ message })

/**
 * Covers everything that the operator has seen of the row, and its sealed value. It is the whole SHA-256: a program that can write the database
 * chooses both the row that is listed and the one that takes its place, so that it finds two rows with the same 64 bits in minutes.
 */
const fingerprintOf = (table: string, { id, content, mac, sealed }: Detail, evidence: ReadonlyArray<Evidence>) =>
  createHash("sha256")
    .update(canonicalJson([table, id, content, mac, evidence.map(({ about, verdict }) => [about, verdict])]))
    .update(sealed ?? new Uint8Array())
    .digest("hex")

export const make = Effect.gen(function* () {
  const repo = yield* AuthenticatedRepo.make
  const macs = yield* RowMacs
  const audit = yield* Audit
  const evidenceOf = yield* RowEvidence.make
  const transaction = yield* Transaction.make

  const found = Effect.fnUntraced(function* (authenticated: AuthenticatedTable, row: Detail) {
    const { table } = authenticated
    const { id, content } = row
    const evidence = yield* evidenceOf(authenticated, row)
    const isRefused = RowEvidence.contradiction(evidence) !== undefined
    const fingerprint = isRefused ? {} : { fingerprint: fingerprintOf(table, row, evidence) }
    const result: FoundRow = { table, id, content, evidence, ...fingerprint }
    return result
  })

  const isVerified = ({ table }: AuthenticatedTable, { id, content, mac }: AuthenticatedRepo.Row) =>
    macs.matches({ table, id, content }, mac)

  const ofTable = Effect.fnUntraced(function* (authenticated: AuthenticatedTable) {
    const ids: Array<string> = []
    let total = 0
    let last: AuthenticatedRepo.Row | undefined
    do {
      const rows = yield* repo.page(authenticated, last?.id ?? "", batch)
      for (const row of rows) if (!(yield* isVerified(authenticated, row))) ids.push(row.id)
      total += rows.length
      last = rows[batch - 1]
    } while (last !== undefined)
    const details = yield* Effect.forEach(ids, (id) => repo.detail(authenticated, id, false))
    const unreadable = yield* Effect.forEach(details.flatMap(Option.toArray), (row) => found(authenticated, row))
    return { total, unreadable }
  })

  /** Changes nothing. */
  const list = Effect.map(Effect.forEach(authenticatedTables, ofTable), (tables): Found => ({
    total: tables.reduce((sum, { total }) => sum + total, 0),
    unreadable: tables.flatMap(({ unreadable }) => unreadable)
  }))

  const acceptOne = Effect.fnUntraced(function* ({ table, id, fingerprint }: Decision) {
    const name = `${table}/${id}`
    const authenticated = authenticatedTables.find((one) => one.table === table)
    if (authenticated === undefined) {
      const tables = authenticatedTables.map((one) => one.table)
      return yield* refused(`${name}: the rows of these tables have a MAC: ${tables.join(", ")}`)
    }
    const row = Option.getOrUndefined(yield* repo.detail(authenticated, id, true))
    if (row === undefined) return yield* refused(`${name}: there is no such row`)
    if (yield* isVerified(authenticated, row))
      return yield* refused(`${name}: the row can be verified and needs no repair`)
    const { content, evidence, fingerprint: current } = yield* found(authenticated, row)
    const contradiction = RowEvidence.contradiction(evidence)
    if (contradiction !== undefined) return yield* refused(`${name}: ${contradiction.about}: ${contradiction.text}`)
    if (current !== fingerprint) {
      return yield* refused(
        `${name}: the row or the evidence is not as it was listed with ${fingerprint}; list it again`
      )
    }
    yield* repo.accept(authenticated, { id, mac: yield* macs.make({ table, id, content }) })
    const action = `${authenticated.resource}.repaired` as const
    yield* audit.record({ action, id, schema: AcceptedRow, after: { fingerprint, content, evidence } })
  })

  /** All of them or none, in one transaction with a record each. */
  const accept = (decisions: ReadonlyArray<Decision>) =>
    transaction(Effect.forEach(decisions, acceptOne, { discard: true }))

  return { list, accept }
})
