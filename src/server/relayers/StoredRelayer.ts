// Relayers as they are stored: JSON text in the form of the API, which is decoded when a value is needed.
import { Effect, Option, Schema } from "effect"
import * as Json from "../../api/Json.ts"
import { Relayer, RelayerNotFound } from "../../domain/relayer/Relayer.ts"
import type { RelayerId } from "../../domain/relayer/Relayer.ts"
import type { Page, PageRequest, Unreadable } from "../../domain/request/Page.ts"
import type { Versioned } from "../../domain/request/Request.ts"
import { seqOf } from "../../sql/Rows.ts"

const decodeOne = Schema.decodeSync(Json.fromText(Relayer))
const decodeMany = Schema.decodeSync(Json.fromText(Schema.Array(Relayer)))

export interface StoredRow {
  readonly id: RelayerId
  readonly json: string
  readonly mac: string | null
  readonly version: string
}

export interface HeldRow extends StoredRow {
  readonly custom_rpc_urls_sealed: Uint8Array | null
}

export class StoredRelayer implements Versioned<Relayer> {
  readonly id: RelayerId
  readonly json: string
  readonly mac: string | null
  readonly version: string
  #value: Relayer | undefined

  constructor({ id, json, mac, version }: StoredRow) {
    this.id = id
    this.json = json
    this.mac = mac
    this.version = version
  }

  /** Identifies it among all relayers that there were: an id can be used again, a number cannot. */
  get number(): number {
    return seqOf(this.version)
  }

  get value(): Relayer {
    return (this.#value ??= decodeOne(this.json))
  }
}

/** A relayer with the URLs that its chain is called by. */
export class HeldRelayer extends StoredRelayer {
  /** Sealed JSON of the unmasked `custom_rpc_urls`. */
  readonly urlsSealed: Uint8Array | undefined

  constructor(row: HeldRow) {
    super(row)
    this.urlsSealed = row.custom_rpc_urls_sealed ?? undefined
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
  #items: ReadonlyArray<Relayer> | undefined

  constructor(page: Pick<StoredPage, "json" | "total" | "request" | "next" | "unreadable">) {
    this.json = page.json
    this.total = page.total
    this.request = page.request
    this.unreadable = page.unreadable
    if (page.next !== undefined) this.next = page.next
  }

  get items(): ReadonlyArray<Relayer> {
    return (this.#items ??= decodeMany(`[${this.json}]`))
  }
}
