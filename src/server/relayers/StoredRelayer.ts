// Relayers as they are stored: the JSON that the wire shows, which is a relayer when somebody asks for one.
import { Schema } from "effect"
import * as Json from "../../api/Json.ts"
import type { Page, PageRequest } from "../../domain/request/Page.ts"
import { Relayer } from "../../domain/relayer/Relayer.ts"
import type { RelayerId } from "../../domain/relayer/Relayer.ts"
import type { Versioned } from "../../domain/request/Version.ts"

const decodeOne = Schema.decodeSync(Json.fromText(Relayer))
const decodeMany = Schema.decodeSync(Json.fromText(Schema.Array(Relayer)))

export interface StoredRow {
  readonly id: RelayerId
  readonly json: string
  readonly version: number
}

export interface HeldRow extends StoredRow {
  readonly custom_rpc_urls_sealed: Uint8Array | null
}

export class StoredRelayer implements Versioned<Relayer> {
  readonly id: RelayerId
  readonly json: string
  readonly version: number
  #value: Relayer | undefined

  constructor({ id, json, version }: StoredRow) {
    this.id = id
    this.json = json
    this.version = version
  }

  get value(): Relayer {
    return (this.#value ??= decodeOne(this.json))
  }
}

/** A relayer that is about to be changed, or called for. */
export class HeldRelayer extends StoredRelayer {
  /** JSON of the true `custom_rpc_urls`. */
  readonly urlsSealed: Uint8Array | undefined

  constructor(row: HeldRow) {
    super(row)
    this.urlsSealed = row.custom_rpc_urls_sealed ?? undefined
  }
}

export class StoredPage implements Page<Relayer> {
  /** The relayers' JSON, with commas between. */
  readonly json: string
  readonly total: number
  readonly request: PageRequest
  readonly next?: string
  #items: ReadonlyArray<Relayer> | undefined

  constructor(page: {
    readonly json: string
    readonly total: number
    readonly request: PageRequest
    readonly next?: string
  }) {
    this.json = page.json
    this.total = page.total
    this.request = page.request
    if (page.next !== undefined) this.next = page.next
  }

  get items(): ReadonlyArray<Relayer> {
    return (this.#items ??= decodeMany(`[${this.json}]`))
  }
}
