// Runs `effect-relayer dev`: the service on a database of its own beside local chains, and one transaction until it is final.
import { Console, Deferred, Effect, Layer, Option, Redacted, Schema } from "effect"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import { makeAllowList } from "../../outbound/Outbound.ts"
import type { DatabaseError } from "../../sql/Connection.ts"
import * as Sql from "../../sql/Sql.ts"
import * as DataFiles from "../../sql/embedded/DataFiles.ts"
import * as Durable from "../../sql/embedded/Durable.ts"
import { makeFolder } from "../../sql/embedded/Durable.ts"
import { running } from "../Running.ts"
import * as Service from "../Service.ts"
import * as StartFailed from "../StartFailed.ts"
import * as Telemetry from "../Telemetry.ts"
import * as Settings from "../settings/Settings.ts"
import { startApiKey, startMasterKey } from "../settings/StartKeys.ts"
import * as LocalEvm from "./LocalEvm.ts"
import { DevelopmentFailed, localApi, networkName } from "./LocalProcess.ts"
import type { DevelopmentNetwork, LocalApi, LocalChain } from "./LocalProcess.ts"
import * as LocalSolana from "./LocalSolana.ts"
import * as LocalStellar from "./LocalStellar.ts"

// What `effect-relayer dev` does with the API: a network, a signer, a funded relayer, and one transaction until it is final.

export const relayerId = ({ networkType }: DevelopmentNetwork): string => `dev-${networkType}`

const StoredNetwork = Schema.Struct({ rpc_urls: Schema.Array(Schema.Struct({ url: Schema.String })) })
const StoredSigner = Schema.Struct({ addresses: Schema.Record(Schema.String, Schema.String) })
const StoredRelayer = Schema.Struct({ id: Schema.String, address: Schema.String, paused: Schema.Boolean })

/** What has the path, or what a POST to `list` creates there. */
const findOrCreate = Effect.fnUntraced(function* <S extends Schema.ConstraintDecoder<unknown>>(
  api: LocalApi,
  list: string,
  id: string,
  schema: S,
  body: object
) {
  const { status } = yield* api.call("GET", `${list}/${id}`)
  return yield* status === 404 ? api.data("POST", list, schema, body) : api.data("GET", `${list}/${id}`, schema)
})

/** Creates what does not exist. What exists stays as it is, except the URL of the chain. */
export const prepareRelayer = Effect.fn("Development.prepare")(function* (
  api: LocalApi,
  network: DevelopmentNetwork,
  chain: LocalChain
) {
  const id = relayerId(network)
  const { networkType: network_type } = network
  const rpc_urls = [chain.url]
  const stored = yield* findOrCreate(api, "/networks", `${network_type}:${networkName}`, StoredNetwork, {
    ...network.network,
    name: networkName,
    network_type,
    rpc_urls
  })
  if (stored.rpc_urls.every(({ url }) => url !== chain.url)) {
    yield* api.data("PATCH", `/networks/${network_type}:${networkName}`, StoredNetwork, { rpc_urls })
  }
  const { addresses } = yield* findOrCreate(api, "/signers", id, StoredSigner, { id, type: "plain" })
  // A relayer without funds would be disabled until its next check.
  yield* chain.fund(addresses[network_type] ?? "")
  return yield* findOrCreate(api, "/relayers", id, StoredRelayer, {
    id,
    name: `Development, ${network_type}`,
    network: networkName,
    network_type,
    signer_id: id,
    paused: false,
    ...(network.policies === undefined ? {} : { policies: network.policies })
  })
})

const Sent = Schema.Struct({ id: Schema.String })

const Event = Schema.Struct({
  id: Schema.Int,
  at: Schema.String,
  data: Schema.Struct({
    status: Schema.String,
    status_reason: Schema.optionalKey(Schema.String),
    hash: Schema.optionalKey(Schema.NullOr(Schema.String)),
    signature: Schema.optionalKey(Schema.String)
  })
})
type Event = typeof Event.Type

const finalStatuses: ReadonlySet<string> = new Set(["confirmed", "failed", "canceled", "expired"])

/** Seconds that one request waits for the next event. */
const wait = 20

const lineOf = (start: number, { at, data }: Event): string => {
  const seconds = ((Date.parse(at) - start) / 1000).toFixed(1)
  return `  ${data.status.padEnd(10)}${seconds.padStart(5)} s  ${data.status_reason ?? ""}`.trimEnd()
}

const isSameState = ({ data }: Event, before: Event | undefined): boolean =>
  data.status === before?.data.status && data.status_reason === before.data.status_reason

/** Prints each state of the transaction, in the order of its events, until it is final. */
const follow = Effect.fnUntraced(function* (api: LocalApi, transactionId: string) {
  let after = 0
  let start: number | undefined
  let status = ""
  let shown: string | null | undefined
  let before: Event | undefined
  while (!finalStatuses.has(status)) {
    const path = `/events?resource_id=${transactionId}&after=${after}&wait=${wait}`
    for (const event of yield* api.data("GET", path, Schema.Array(Event))) {
      after = event.id
      start ??= Date.parse(event.at)
      status = event.data.status
      // Some events change nothing that a reader sees, such as a second send of the same bytes.
      if (!isSameState(event, before)) yield* Console.log(lineOf(start, event))
      before = event
      const { hash, signature = hash } = event.data
      if (signature === shown) continue
      shown = signature
      yield* Console.log(`${" ".repeat(20)}${hash === undefined ? "signature" : "hash"} ${shown}`)
    }
  }
})

/**
 * Sends the network's transaction and prints its states. A refusal is printed, too: the user may have paused the relayer, or
 * changed its policy, and the service goes on.
 */
export const sendFirst = Effect.fn("Development.send")(function* (
  api: LocalApi,
  network: DevelopmentNetwork,
  relayer: string
) {
  const id = relayerId(network)
  yield* Console.log(`\nSends ${network.effect} from the relayer ${id}:`)
  const { data, refusal } = yield* api.call("POST", `/relayers/${id}/transactions`, network.transaction(relayer))
  if (refusal !== undefined) return yield* Console.log(`  It is refused: ${refusal}`)
  const sent = yield* Effect.orDie(Schema.decodeUnknownEffect(Sent)(data))
  return yield* follow(api, sent.id)
})

// What `effect-relayer dev` prints.

interface Prepared {
  readonly network: DevelopmentNetwork
  readonly chain: LocalChain
  readonly relayer: { readonly address: string; readonly paused: boolean }
}

/** The pages of the service, and what they are for. */
const pages: ReadonlyArray<readonly [path: string, use: string]> = [
  ["/console", "the console; sign in with the API key"],
  ["/", "version and readiness"],
  ["/docs", "API documents"]
]

export const warningText = (unused: ReadonlyArray<string>): string => {
  const lines = [
    "effect-relayer dev is for development, NOT FOR PRODUCTION: its chains have no real money, and it prints its API key."
  ]
  if (unused.length > 0) lines.push(`effect-relayer dev does not use these settings: ${unused.join(", ")}.`)
  return lines.join("\n")
}

/** Commands of the documents have the usual port. Without this line, they would reach the program that has it. */
const otherPort = ({ url, usualPort }: LocalChain): ReadonlyArray<string> => {
  const { host, port } = new URL(url)
  return port === String(usualPort)
    ? []
    : [`           another program uses port ${usualPort}: in commands of the documents, write ${host} instead`]
}

interface Started {
  readonly baseUrl: string
  /** The data directory. */
  readonly folder: string
  readonly prepared: ReadonlyArray<Prepared>
}

export const startedText = ({ baseUrl, folder, prepared }: Started): string =>
  [
    `\neffect-relayer listens on ${baseUrl}   version ${running}   data in ${folder}`,
    ...prepared.flatMap(({ network, chain, relayer }) => [
      `  chain    ${chain.description}`,
      ...otherPort(chain),
      `  relayer  ${relayerId(network)}, ${relayer.address}${relayer.paused ? ", paused" : ""}`
    ])
  ].join("\n")

const curl = (baseUrl: string, key: Redacted.Redacted, { network, relayer }: Prepared): string =>
  [
    `  curl -X POST ${baseUrl}/api/v1/relayers/${relayerId(network)}/transactions \\`,
    `    -H "Authorization: Bearer ${Redacted.value(key)}" -H "Content-Type: application/json" \\`,
    `    -d '${JSON.stringify(network.transaction(relayer.address))}'`
  ].join("\n")

const width = Math.max(...pages.map(([page]) => page.length))

export const usageText = ({ baseUrl, folder, key, prepared }: Started & { readonly key: Redacted.Redacted }): string =>
  [
    `\nAPI key, also in ${path.join(folder, "api-key")}:\n\n  ${Redacted.value(key)}`,
    ...prepared.map((one) => `\nSend ${one.network.effect}:\n\n${curl(baseUrl, key, one)}`),
    `\nPages:\n\n${pages.map(([page, about]) => `  ${`${baseUrl}${page}`.padEnd(baseUrl.length + width)}  ${about}`).join("\n")}`,
    "\nThe service runs until Ctrl+C. The next start finds chains and relayers as they were; --reset begins anew."
  ].join("\n")

// The data directory of `effect-relayer dev`. It has a mark, so that the data of another service is neither used nor removed.

const mark = "development"

const markText = "This folder belongs to effect-relayer dev, which removes all of it with --reset."

const attempt = <A>(folder: string, run: () => Promise<A>) =>
  Effect.tryPromise({
    try: run,
    catch: (cause) =>
      new DevelopmentFailed({
        message: `cannot use the data directory ${folder}: ${cause instanceof Error ? cause.message : String(cause)}`
      })
  })

const entriesOf = async (folder: string): Promise<ReadonlyArray<string>> => {
  try {
    return await fs.readdir(folder)
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return []
    throw cause
  }
}

/** Creates the folder, or accepts one that an earlier start has created. With `reset`, it is empty afterwards. */
export const openFolder = Effect.fn("Development.open")(function* (folder: string, reset: boolean) {
  const entries = yield* attempt(folder, () => entriesOf(folder))
  if (entries.length > 0 && !entries.includes(mark)) {
    return yield* new DevelopmentFailed({
      message: `${folder} is not a data directory of effect-relayer dev, and is not used: choose another --data-dir`
    })
  }
  if (reset) {
    // Fails while a service uses the database.
    yield* DataFiles.remove(yield* DataFiles.find(folder))
    yield* attempt(folder, async () => {
      // The mark goes last: a reset that was killed can be repeated.
      for (const name of entries.filter((name) => name !== mark)) {
        await fs.rm(path.join(folder, name), { recursive: true, force: true })
      }
    })
  }
  yield* attempt(folder, async () => {
    await makeFolder(folder, process.getuid?.() === 0 ? 0o711 : 0o700)
    await Durable.add(path.join(folder, mark), markText)
  })
})

/** The local networks. One that is added here is started, prepared, used and explained like the others. */
const networks: ReadonlyArray<DevelopmentNetwork> = [LocalEvm.network, LocalSolana.network, LocalStellar.network]

export interface Options {
  /** Its HOST is a loopback address, and it has no DATABASE_URL. */
  readonly settings: Settings.Settings
  readonly reset: boolean
  readonly isTerminal: boolean
  /** Variables that are set and that this mode does not use. */
  readonly unused: ReadonlyArray<string>
}

/** The networks whose programs are installed. A missing program is an error if it leaves no network. */
const findPrograms = Effect.gen(function* () {
  const found = yield* Effect.forEach(networks, (network) =>
    network.find.pipe(
      Effect.map((start) => Option.some({ network, start })),
      Effect.catch(({ message }) => Effect.as(Console.log(`${message}\n`), Option.none()))
    )
  )
  const startable = found.flatMap((one) => Option.toArray(one))
  if (startable.length > 0) return startable
  return yield* new DevelopmentFailed({ message: "there is no local network to start: install a program named above" })
})

/** The text follows the name of a field. */
const onlyOwnChains = (urls: ReadonlyArray<string>) => (url: URL) =>
  urls.some((own) => new URL(own).origin === url.origin)
    ? undefined
    : "leads elsewhere than to the chains of effect-relayer dev, which reaches nothing else: use effect-relayer serve"

const run = Effect.fnUntraced(function* ({ settings, unused, reset }: Options) {
  const folder = path.resolve(settings.DATA_DIR)
  yield* Console.log(warningText(unused))
  const found = yield* findPrograms
  yield* openFolder(folder, reset)
  const { apiKey } = yield* startApiKey(settings)
  // The database is opened first: it refuses a folder that another process uses.
  const databaseOptions = Settings.databaseOptions(settings)
  const database = yield* Sql.open(databaseOptions)
  const chains = yield* Effect.forEach(found, ({ network, start }) =>
    Effect.map(start(path.join(folder, network.networkType)), (chain) => ({ network, chain }))
  )
  const urls = chains.map(({ chain }) => chain.url)
  const hosts = urls.map((url) => new URL(url).hostname)
  const listening = yield* Deferred.make<string>()
  yield* Layer.build(
    Service.layer(
      { ...settings, OUTBOUND_ALLOW: makeAllowList(hosts) },
      {
        apiKey,
        ...(yield* startMasterKey(settings, database)),
        auditHeadStore: Option.none(),
        database: Sql.layerOpen(database, databaseOptions.pool),
        outboundRule: onlyOwnChains(urls),
        listening: (baseUrl) => Effect.asVoid(Deferred.succeed(listening, baseUrl))
      }
    )
  )
  const baseUrl = yield* Deferred.await(listening)
  const api = localApi(baseUrl, apiKey)
  const prepared = yield* Effect.forEach(chains, ({ chain, network }) =>
    Effect.map(prepareRelayer(api, network, chain), (relayer) => ({ network, chain, relayer }))
  )
  yield* Console.log(startedText({ baseUrl, folder, prepared }))
  for (const { network, relayer } of prepared) yield* sendFirst(api, network, relayer.address)
  yield* Console.log(usageText({ baseUrl, folder, key: apiKey, prepared }))
  return yield* Effect.raceAllFirst(chains.map(({ chain }) => chain.ended))
}, Effect.scoped)

const fromDatabase = (error: DatabaseError) =>
  error.reason === "DirectoryInUse"
    ? new DevelopmentFailed({ message: `${error.message}: stop it first, or choose another --data-dir` })
    : StartFailed.fromDatabase(error)

/** Serves until a signal stops it. */
export const start = (options: Options) =>
  run(options).pipe(
    Effect.catchTags({
      ...StartFailed.handlers(options.settings),
      DatabaseError: (error) => Effect.fail(fromDatabase(error))
    }),
    Effect.catchDefect(StartFailed.onDefect),
    Effect.provide(Telemetry.layer(options.settings, options.isTerminal))
  )
