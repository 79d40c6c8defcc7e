// The repair of rows that cannot be verified: lists them with the evidence, and gives a row a MAC of the present secret if an operator has
// decided so about this row, as it was listed.
import { Effect, Option, Redacted, Schema } from "effect"
import { createHash } from "node:crypto"
import { maskRpc, RpcConfig } from "../../domain/chain/Rpc.ts"
import { Value } from "../../domain/request/ExactJson.ts"
import { Audit } from "../audit/Audit.ts"
import type { LastChange } from "../audit/Audit.ts"
import * as Transaction from "../../sql/Transaction.ts"
import { canonicalJson, RowMacs, Secrets } from "../secrets/Secrets.ts"
import { authenticatedTables, makeAuthenticatedRepo } from "./ProtectedRowsRepo.ts"
import type { AuthenticatedRow, AuthenticatedTable, RowDetail } from "./ProtectedRowsRepo.ts"
import { batch } from "./UnreadableRows.ts"

// What shows whether a row that cannot be verified is as the service wrote it. Only a seal proves something: a program that can write the
// database can also write what the audit log and the other rows say.

/**
 * `proves`: the row is as the service wrote it. `fits`: nothing contradicts it. `differs`: a person has to judge it. `contradicts`: the row
 * is not as the service wrote it. `open`: nothing can be said.
 */
type Verdict = "proves" | "fits" | "differs" | "contradicts" | "open"

export interface Evidence {
  readonly about: "seal" | "signer" | "RPC URLs" | "private RPC URLs" | "audit log" | "order"
  readonly verdict: Verdict
  readonly text: string
}

type Fields = Readonly<Record<string, unknown>>

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const fieldsOf = (value: unknown): Fields => (isFields(value) ? value : {})

const isEqual = (one: unknown, other: unknown) => canonicalJson(one ?? null) === canonicalJson(other ?? null)

/** Networks inherit the labels of their parents, so that records have more of them than the row. */
const isAmong = (some: unknown, all: unknown) =>
  Array.isArray(some) && Array.isArray(all) && some.every((label) => all.includes(label))

const labels: ReadonlySet<string> = new Set(["tags", "features"])

const signedFields = ({ table, content }: { readonly table: string; readonly content: unknown }) =>
  table === "networks" ? fieldsOf(fieldsOf(content)["definition"]) : fieldsOf(content)

/** What a network defines itself is all of its record if it inherits nothing: from a parent, or from what is built in. */
const inherits = (own: Fields, record: Fields) => own["from"] !== undefined || record["source"] !== "own"

/** Fields of a record that no row has. */
const isAdded = (name: string, value: unknown) =>
  name === "id" || name === "source" || (name === "is_testnet" && value === false)

interface Comparison {
  /** The fields in which a record differs from a row. */
  readonly differing: ReadonlyArray<string>
  /** What only the record has: the row inherits it, or another program removed it. */
  readonly absent: ReadonlyArray<string>
}

const ofNetwork = (own: Fields, record: Fields): Comparison => {
  const isHeir = inherits(own, record)
  const differing = Object.entries(own).flatMap(([name, value]) => {
    // Records have the inherited fields instead of the parent.
    if (name === "from") return []
    const isSame = isHeir && labels.has(name) ? isAmong(value, record[name]) : isEqual(value, record[name])
    return isSame ? [] : [name]
  })
  const absent = Object.entries(record).flatMap(([name, value]) => (name in own || isAdded(name, value) ? [] : [name]))
  return isHeir ? { differing, absent } : { differing: [...differing, ...absent], absent: [] }
}

const comparisonOf = (table: string, content: unknown, record: Fields): Comparison => {
  const own = signedFields({ table, content })
  if (table === "networks") return ofNetwork(own, record)
  const differing = Object.entries(own).flatMap(([name, value]) => (isEqual(value, record[name]) ? [] : [name]))
  return { differing, absent: [] }
}

const decodeUrls = Schema.decodeUnknownEffect(Schema.fromJsonString(Schema.Array(RpcConfig)))

const signersTable = authenticatedTables.find(({ table }) => table === "signers")

const tellsNothing = "the audit log has no record of it: records may have been pruned"

export const makeRowEvidence = Effect.gen(function* () {
  const repo = yield* makeAuthenticatedRepo
  const secrets = yield* Secrets
  const audit = yield* Audit

  /** `index`: of a sealed value. */
  const open = ({ table }: AuthenticatedTable, { id, content, sealed, columns }: RowDetail, index: number) => {
    const value = sealed[index] ?? null
    const place = { table, id, column: columns[index] ?? "" }
    // Signers are bound to their columns. URLs are bound to their place alone.
    const bound = table === "signers" ? { ...place, context: content } : place
    return value === null ? Effect.succeedNone : Effect.option(secrets.open(value, bound))
  }

  /** The seal of a signer covers its type, configuration, addresses, curve and public key: the columns that its MAC covers. */
  const sealOf = Effect.fnUntraced(function* (authenticated: AuthenticatedTable, row: RowDetail) {
    const secret = yield* open(authenticated, row, 0)
    const found: Evidence = Option.isSome(secret)
      ? {
          about: "seal",
          verdict: "proves",
          text: "its sealed secret opens, and it only opens with these columns: they are as the service sealed them under this id"
        }
      : {
          about: "seal",
          verdict: "contradicts",
          text: "its sealed secret does not open with these columns: another program or a person changed the row. Restore it from a backup"
        }
    return found
  })

  const signerOf = Effect.fnUntraced(function* ({ content }: RowDetail) {
    const { signer_id, network_type, address } = fieldsOf(content)
    const contradicts = (text: string): Evidence => ({ about: "signer", verdict: "contradicts", text })
    const found =
      signersTable === undefined ? Option.none() : yield* repo.detail(signersTable, String(signer_id), false)
    if (signersTable === undefined || Option.isNone(found))
      return contradicts(`there is no signer ${String(signer_id)}`)
    if ((yield* sealOf(signersTable, found.value)).verdict !== "proves") {
      return contradicts(`the row of its signer ${String(signer_id)} was changed: repair that one first`)
    }
    const addresses = fieldsOf(fieldsOf(found.value.content)["addresses"])
    return isEqual(addresses[String(network_type)], address)
      ? ({
          about: "signer",
          verdict: "fits",
          text: `its address is that of the signer ${String(signer_id)}, whose own columns are as the service sealed them. Nothing proves that the relayer is to use this signer and network`
        } satisfies Evidence)
      : contradicts(`its address is not that of the signer ${String(signer_id)} on ${String(network_type)}`)
  })

  const urlsAt = Effect.fnUntraced(function* (authenticated: AuthenticatedTable, row: RowDetail, index: number) {
    const shown = row.shown[index] ?? null
    if (shown === null && (row.sealed[index] ?? null) === null) return []
    const about = row.columns[index]?.includes("private") === true ? "private RPC URLs" : "RPC URLs"
    const contradicts: Evidence = {
      about,
      verdict: "contradicts",
      text: "they are not the masked form of the sealed ones: another program or a person changed the row"
    }
    const secret = yield* open(authenticated, row, index)
    if (Option.isNone(secret)) return [contradicts]
    const urls = yield* Effect.orDie(decodeUrls(Redacted.value(secret.value)))
    const isSame = isEqual(urls.map(maskRpc), shown)
    const fits: Evidence = {
      about,
      verdict: "fits",
      text: `they are the masked form of URLs that the service sealed for this ${authenticated.resource}, now or earlier`
    }
    return [isSame ? fits : contradicts]
  })

  /** The URLs, and the private ones. */
  const urlsOf = (authenticated: AuthenticatedTable, row: RowDetail) =>
    Effect.map(
      Effect.forEach(row.sealed, (_, index) => urlsAt(authenticated, row, index)),
      (found) => found.flat()
    )

  const recordOf = (table: string, { content }: RowDetail, change: LastChange | undefined): Evidence => {
    if (change === undefined) return { about: "audit log", verdict: "open", text: tellsNothing }
    const by = `the newest change of it, on ${change.at} by ${change.keyId}`
    if (change.after === null) return { about: "audit log", verdict: "contradicts", text: `${by}, was its deletion` }
    const { absent, differing } = comparisonOf(table, content, fieldsOf(JSON.parse(change.after)))
    if (differing.length > 0) {
      return { about: "audit log", verdict: "differs", text: `${by}, has other values of ${differing.join(", ")}` }
    }
    const heir = `. It also has ${absent.join(", ")}, which the row does not have: the network inherits these fields, or another program removed them. It does not say from which network`
    return { about: "audit log", verdict: "fits", text: `${by}, has the same values${absent.length === 0 ? "" : heir}` }
  }

  const orderOf = ({ is_older }: RowDetail): Evidence => {
    if (is_older === null) {
      return { about: "order", verdict: "open", text: "the database has no secret of MACs" }
    }
    return is_older
      ? {
          about: "order",
          verdict: "fits",
          text: "the row was written before the secret of MACs that the database has, as after the loss of an earlier secret"
        }
      : {
          about: "order",
          verdict: "differs",
          text: "the row was written after the secret of MACs that the database has, as by another program. An instance that ran on with a lost secret looks the same, and so does a row that was restored from a backup"
        }
  }

  /** In the order in which a person reads it. */
  return Effect.fnUntraced(function* (authenticated: AuthenticatedTable, row: RowDetail) {
    const { table, resource } = authenticated
    const [change] = yield* audit.lastChanges([{ resource, id: row.id }])
    const own =
      table === "signers"
        ? [yield* sealOf(authenticated, row)]
        : table === "relayers"
          ? [yield* signerOf(row), ...(yield* urlsOf(authenticated, row))]
          : yield* urlsOf(authenticated, row)
    const evidence: ReadonlyArray<Evidence> = [...own, recordOf(table, row, change), orderOf(row)]
    return evidence
  })
})

/** Whether the row is not as the service wrote it. Where a seal proves that it is, other values in the audit log are only shown. */
export const contradictionIn = (evidence: ReadonlyArray<Evidence>): Evidence | undefined => {
  const isProved = evidence.some(({ verdict }) => verdict === "proves")
  return evidence.find(
    ({ about, verdict }) => verdict === "contradicts" || (verdict === "differs" && about === "audit log" && !isProved)
  )
}

export interface FoundRow {
  readonly table: string
  readonly id: string
  /** The columns that the MAC covers. They contain no secret. */
  readonly content: unknown
  /** Absent: the evidence contradicts the row, so that it is not accepted. */
  readonly fingerprint?: string
  readonly evidence: ReadonlyArray<Evidence>
}

export interface FoundRows {
  /** How many rows have a MAC. */
  readonly total: number
  readonly unreadable: ReadonlyArray<FoundRow>
}

/** The decision of an operator about a row, as it was listed. */
export interface RepairDecision {
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
 * Covers everything that the operator has seen of the row, and its sealed values. It is the whole SHA-256: a program that can write the database
 * chooses both the row that is listed and the one that takes its place, so that it finds two rows with the same 64 bits in minutes.
 */
const fingerprintOf = (table: string, { id, content, mac, sealed }: RowDetail, evidence: ReadonlyArray<Evidence>) =>
  createHash("sha256")
    .update(canonicalJson([table, id, content, mac, evidence.map(({ about, verdict }) => [about, verdict])]))
    .update(canonicalJson(sealed.map((value) => value && Buffer.from(value).toString("base64"))))
    .digest("hex")

export const make = Effect.gen(function* () {
  const repo = yield* makeAuthenticatedRepo
  const macs = yield* RowMacs
  const audit = yield* Audit
  const evidenceOf = yield* makeRowEvidence
  const transaction = yield* Transaction.make

  const found = Effect.fnUntraced(function* (authenticated: AuthenticatedTable, row: RowDetail) {
    const { table } = authenticated
    const { id, content } = row
    const evidence = yield* evidenceOf(authenticated, row)
    const isRefused = contradictionIn(evidence) !== undefined
    const fingerprint = isRefused ? {} : { fingerprint: fingerprintOf(table, row, evidence) }
    const result: FoundRow = { table, id, content, evidence, ...fingerprint }
    return result
  })

  const isVerified = ({ table }: AuthenticatedTable, { id, content, mac }: AuthenticatedRow) =>
    macs.matches({ table, id, content }, mac)

  const ofTable = Effect.fnUntraced(function* (authenticated: AuthenticatedTable) {
    const ids: Array<string> = []
    let total = 0
    let last: AuthenticatedRow | undefined
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
  const list = Effect.map(Effect.forEach(authenticatedTables, ofTable), (tables): FoundRows => ({
    total: tables.reduce((sum, { total }) => sum + total, 0),
    unreadable: tables.flatMap(({ unreadable }) => unreadable)
  }))

  const acceptOne = Effect.fnUntraced(function* ({ table, id, fingerprint }: RepairDecision) {
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
    const contradiction = contradictionIn(evidence)
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
  const accept = (decisions: ReadonlyArray<RepairDecision>) =>
    transaction(Effect.forEach(decisions, acceptOne, { discard: true }))

  return { list, accept }
})
