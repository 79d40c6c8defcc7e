// Runs `effect-relayer dev`: the service on a database of its own, beside local chains that are its only ones.
import { Console, Deferred, Effect, Layer, Option } from "effect"
import * as path from "node:path"
import * as AllowList from "../../outbound/AllowList.ts"
import type { DatabaseError } from "../../sql/DatabaseError.ts"
import * as Sql from "../../sql/Sql.ts"
import * as Logging from "../Logging.ts"
import * as Service from "../Service.ts"
import * as StartFailed from "../StartFailed.ts"
import * as Settings from "../settings/Settings.ts"
import { startApiKey, startMasterKey } from "../settings/StartKeys.ts"
import * as DevelopmentFolder from "./DevelopmentFolder.ts"
import { DevelopmentFailed } from "./DevelopmentNetwork.ts"
import type { DevelopmentNetwork } from "./DevelopmentNetwork.ts"
import * as DevelopmentText from "./DevelopmentText.ts"
import * as FirstTransaction from "./FirstTransaction.ts"
import * as JsonCalls from "./JsonCalls.ts"
import * as LocalEvm from "./LocalEvm.ts"
import * as LocalSolana from "./LocalSolana.ts"
import * as LocalStellar from "./LocalStellar.ts"

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
  yield* Console.log(DevelopmentText.warning(unused))
  const found = yield* findPrograms
  yield* DevelopmentFolder.open(folder, reset)
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
      { ...settings, OUTBOUND_ALLOW: AllowList.make(hosts) },
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
  const api = JsonCalls.api(baseUrl, apiKey)
  const prepared = yield* Effect.forEach(chains, ({ chain, network }) =>
    Effect.map(FirstTransaction.prepare(api, network, chain), (relayer) => ({ network, chain, relayer }))
  )
  yield* Console.log(DevelopmentText.started({ baseUrl, folder, prepared }))
  for (const { network, relayer } of prepared) yield* FirstTransaction.send(api, network, relayer.address)
  yield* Console.log(DevelopmentText.use({ baseUrl, folder, key: apiKey, prepared }))
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
    Effect.provide(Logging.layer(options.settings, options.isTerminal))
  )
