// Runs the service in this process until a signal stops it, and prints where it listens.
import { Console, Effect, Layer, Option, Redacted } from "effect"
import * as path from "node:path"
import * as Examples from "../api/Examples.ts"
import * as Sql from "../sql/Sql.ts"
import type { Database } from "../sql/Sql.ts"
import * as AuditHeadFile from "./AuditHeadFile.ts"
import { running } from "./Running.ts"
import * as Service from "./Service.ts"
import { consoleSettingsOf } from "./Service.ts"
import * as StartFailed from "./StartFailed.ts"
import * as Telemetry from "./Telemetry.ts"
import * as NodeServer from "./http/NodeServer.ts"
import type { Kept } from "./settings/Keys.ts"
import * as Settings from "./settings/Settings.ts"
import { shareApiKey, startApiKey, startMasterKey } from "./settings/StartKeys.ts"
import type { Misspelled } from "./settings/Variables.ts"

// The text that the command prints when it listens: its address and database, and first steps on the first start.

const post = (base: string, path: string, body: object) =>
  [
    `  curl -X POST ${base}${path} \\`,
    `    -H "Authorization: Bearer $API_KEY" -H "Content-Type: application/json" \\`,
    `    -d '${JSON.stringify(body)}'`
  ].join("\n")

const get = (base: string, path: string) => `  curl -H "Authorization: Bearer $API_KEY" ${base}${path}`

const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`

const { id, name, network, network_type, paused, signer_id } = Examples.requests["post /api/v1/relayers"]

const firstSteps = (base: string, file: string) => `
  To try everything on this machine, with a local chain and a relayer that sends: npm run dev   (of a package: npx effect-relayer dev)

  First steps on a public test network: create a signer with a new key, create a relayer on ${network} that uses it, list the relayers,
  and read what it needs. The relayer is disabled until a check reaches ${network} and finds funds at its address: the last command
  says which of them is missing, and what to send where. "rpc_urls" of the network evm:${network} replaces the built-in public RPC URLs.

  export API_KEY=$(cat ${quoted(file)})
${post(base, "/api/v1/signers", Examples.requests["post /api/v1/signers"])}
${post(base, "/api/v1/relayers", { id, name, network, network_type, paused, signer_id })}
${get(base, "/api/v1/relayers")}
${get(base, `/api/v1/relayers/${id}/explain`)}
`

/** Elsewhere than on a terminal, such as in a log that is kept, only the file is named. */
const keyLines = (key: Redacted.Redacted) => `
  API key, printed on the first start only:

    ${Redacted.value(key)}`

interface BannerContent {
  readonly baseUrl: string
  readonly database: Pick<Database, "embedded" | "files" | "place" | "socketUrl">
  /** Absent: the operator set an API key. */
  readonly keptApiKey: Kept | undefined
  readonly isTerminal: boolean
  readonly hasConsole: boolean
}

const databaseOf = ({ embedded, files, place }: BannerContent["database"]): string => {
  if (!embedded) return `PostgreSQL at ${place}`
  const folder = path.resolve(place)
  const isElsewhere = files !== undefined && files !== path.join(folder, "postgres")
  return isElsewhere ? `embedded PostgreSQL of ${folder} in ${files}` : `embedded PostgreSQL in ${folder}`
}

export const bannerText = ({ baseUrl, database, hasConsole, isTerminal, keptApiKey }: BannerContent): string => {
  const lines = [
    `effect-relayer listens on ${baseUrl}   version ${running}   ${databaseOf(database)}`,
    ...(hasConsole ? [`  Console: ${baseUrl}/console   sign in with the API key`] : []),
    `  API documents: ${baseUrl}/docs`
  ]
  if (keptApiKey?.made === true) {
    if (isTerminal) lines.push(keyLines(keptApiKey.key))
    lines.push(firstSteps(baseUrl, keptApiKey.file))
  }
  if (database.socketUrl !== undefined) {
    lines.push(`  DATABASE_URL for another instance on this machine: ${database.socketUrl}`)
  }
  if (keptApiKey !== undefined) lines.push(`  The API key is kept in ${keptApiKey.file}`)
  return lines.join("\n")
}

export interface Started {
  readonly isTerminal: boolean
  /** Variables that have no effect, and probably should have one. */
  readonly misspelled: ReadonlyArray<Misspelled>
}

const application = Effect.fn("application")(function* (
  settings: Settings.Settings,
  { isTerminal, misspelled }: Started
) {
  for (const { variable, setting } of misspelled) {
    yield* Effect.annotateLogs(Effect.logWarning("a variable resembles a setting, but is none"), {
      variable,
      setting
    })
  }
  yield* NodeServer.probe(settings)
  const own = yield* startApiKey(settings)
  const database = yield* Sql.open(Settings.databaseOptions(settings))
  const masterKeys = yield* startMasterKey(settings, database)
  const keptApiKey =
    own.keptApiKey === undefined || settings.DATABASE_URL === undefined
      ? own.keptApiKey
      : yield* shareApiKey(own.keptApiKey, masterKeys, settings, database)
  return Service.layer(settings, {
    apiKey: keptApiKey?.key ?? own.apiKey,
    ...masterKeys,
    // The database of a URL may be restored by others than this machine.
    auditHeadStore:
      settings.DATABASE_URL === undefined ? Option.some(AuditHeadFile.store(settings.DATA_DIR)) : Option.none(),
    database: Sql.layerOpen(database, Settings.databaseOptions(settings).pool),
    listening: (baseUrl) =>
      Console.log(
        bannerText({
          baseUrl,
          database,
          keptApiKey,
          isTerminal,
          hasConsole: consoleSettingsOf(settings) !== undefined
        })
      )
  })
})

/** The service with its database and keys, without its log. */
export const layer = (settings: Settings.Settings, started: Started) => Layer.unwrap(application(settings, started))

export const serve = (settings: Settings.Settings, started: Started) =>
  Layer.launch(layer(settings, started)).pipe(
    Effect.catchTags(StartFailed.handlers(settings)),
    Effect.catchDefect(StartFailed.onDefect),
    Effect.provide(Telemetry.layer(settings, started.isTerminal))
  )
