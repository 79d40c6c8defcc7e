// What the benchmark of transactions runs on, whatever the type of the network: a service that only accepts, with the database,
// and relayers with funds. A second service on the same database sends.
import { Effect, Schema } from "effect"
import * as fs from "node:fs"
import * as path from "node:path"
import * as Folder from "../harness/Folder.ts"
import * as Installation from "../harness/Installation.ts"
import * as Confirmations from "./Confirmations.ts"
import type { Heads } from "./Heads.ts"
import * as Http from "./Http.ts"

/** Connections of a client that sends a burst. */
const connections = 64

/** Neither service may call anything but the chain. Relayers are checked once: calls that follow are about transactions. */
export const environment = { OUTBOUND_ALLOW: "127.0.0.1", HEALTH_CHECK_INTERVAL_MS: "86400000" }

const Created = Schema.fromJsonString(
  Schema.Struct({ data: Schema.Struct({ id: Schema.String, address: Schema.optionalKey(Schema.String) }) })
)

/** Creates a resource, such as one of `relayers`. */
export const create = Effect.fnUntraced(function* (client: Http.Http, resource: string, body: object) {
  const text = yield* client.post(`/api/v1/${resource}`, JSON.stringify(body))
  return (yield* Schema.decodeEffect(Created)(text)).data
})

export interface Relayer {
  readonly id: string
  readonly address: string
}

/** The id of its signer differs from those that the creation of relayers uses while acceptance is measured. */
export const createRelayer = Effect.fnUntraced(function* (client: Http.Http, fields: RelayerFields, index: number) {
  const signer = yield* create(client, "signers", { id: `${fields.network}-${index}`, type: "plain" })
  const body = { name: "R", paused: false, signer_id: signer.id, ...fields }
  const { id, address = "" } = yield* create(client, "relayers", body)
  const relayer: Relayer = { id, address }
  return relayer
})

/** What the relayers of a group share. */
export interface RelayerFields {
  readonly network: string
  readonly network_type: "evm" | "solana" | "stellar"
  readonly policies?: object
}

/** Relayers of one network. */
export interface Group {
  readonly relayers: ReadonlyArray<Relayer>
  /** Blocks from that of a transaction to the one that confirms it. */
  readonly confirmations: number
}

export type Version = "now" | "before"

export interface World {
  /** `now`, or `before` for an earlier checkout. */
  readonly version: Version
  /** The folder of a built checkout of the service. */
  readonly checkout: string
  /** Accepts, and sends nothing. */
  readonly installation: Installation.Installation
  /** The arrivals of blocks, on stellar of ledgers. */
  readonly heads: Heads
  /** Seconds between two blocks. */
  readonly blockTime: number
  /** The JSON text of the next request. */
  readonly body: () => string
  /** How many of these requests have had their effect on the chain. */
  readonly effects: Effect.Effect<number>
  /** What is sent while acceptance is measured. */
  readonly accepting: {
    /** A file with the ids of the relayers, one per line. */
    readonly ids: string
    /** The JSON text of a transaction. `@N@` stands for nine digits that no two requests share. */
    readonly transaction: string
    /** Fields of the relayers that are created beside it. */
    readonly relayer: RelayerFields
  }
}

/** Writes the file of `accepting`. */
export const writeIds = ({ folder }: Installation.Installation, { relayers }: Group): string => {
  const file = path.join(folder, "relayers")
  fs.writeFileSync(file, relayers.map(({ id }) => id).join("\n"))
  return file
}

/** A running service that sends, and what is seen of it. */
export type Sender<W extends World = World> = W & {
  readonly pid: number
  readonly url: string
  readonly client: Http.Http
  readonly confirmations: Confirmations.Confirmations
}

/** Starts the service that sends. It ends with the scope. */
export const startSender = Effect.fnUntraced(function* <W extends World>(world: W) {
  const { pid, url } = yield* Installation.startService({
    contender: `sender ${world.version}`,
    checkout: world.checkout,
    dataDir: yield* Folder.temporary,
    env: { ...Installation.databaseOf(world.installation), ...environment, WATCH: "on" }
  })
  const client = yield* Http.make(url, connections, Installation.key)
  const sender: Sender<W> = { ...world, pid, url, client, confirmations: yield* Confirmations.follow(url) }
  return sender
})
