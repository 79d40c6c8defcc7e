// What an import of OpenZeppelin Relayer is given: its options, its paths, and its environment file.
import * as fs from "node:fs"
import * as path from "node:path"
import type * as Imported from "../Imported.ts"
import type { Code } from "../Source.ts"

export interface Options {
  /** The working directory of the old service, which its paths are relative to. */
  readonly folder: string
  /** Folder of the written file, which its references to files are relative to. Absent: the same folder. */
  readonly outFolder?: string
  /** The folder of its networks. Absent: the one that the configuration names. */
  readonly networksFolder?: string
  readonly allNetworks: boolean
  readonly keepPausedState: boolean
  /** The lines of its environment file. */
  readonly dotEnv?: Readonly<Record<string, string | undefined>>
}

export interface Input extends Imported.Context, Options {
  /** The names of all variables that the configuration reads, also for what is left out. */
  readonly named: ReadonlySet<string>
  /** The first signer of each keystore, by its path. */
  readonly keystores: Map<string, string>
}

/** The working directory of the old service in its container. */
const containerFolder = "/app/"

/**
 * A path of the configuration, from the working directory. A path of the container that does not exist here is looked for below the working
 * directory, which is usually mounted there.
 */
export const pathHere = (folder: string, given: string): string => {
  const below = given.startsWith(containerFolder) ? given.slice(containerFolder.length) : undefined
  if (below === undefined || fs.existsSync(given) || !fs.existsSync(path.resolve(folder, below))) return given
  return below
}

type Variables = Readonly<Record<string, string | undefined>>

/** Settings with the same name and meaning. */
const same: ReadonlySet<string> = new Set([
  "API_KEY",
  "LOG_LEVEL",
  "RATE_LIMIT_REQUESTS_PER_SECOND",
  "RATE_LIMIT_BURST_SIZE",
  "AZURE_FEDERATED_TOKEN_FILE",
  "CONFIG_DIR",
  "CONFIG_FILE_NAME"
])

const hoursPerDay = 24

/** The shortest API key of the service. */
const minApiKeyLength = 32

type Remark = readonly [code: Code, message: string]

const remarks: Readonly<Record<string, (value: string) => Remark | undefined>> = {
  HOST: (value) => ["note", `the default is 0.0.0.0 there and 127.0.0.1 here: set HOST=${value} to keep it`],
  APP_PORT: () => ["note", "is PORT here"],
  REQUEST_TIMEOUT_SECONDS: (value) => ["note", `is REQUEST_TIMEOUT_MS here: ${Number(value) * 1000}`],
  TRANSACTION_EXPIRATION_HOURS: (value) => [
    "note",
    `is RETENTION_DAYS here, in days: ${Math.ceil(Number(value) / hoursPerDay)}`
  ],
  METRICS_ENABLED: () => ["note", "metrics are always at /metrics here"],
  METRICS_PORT: () => ["note", "metrics are at /metrics of the same port here"],
  LOG_FORMAT: (value) =>
    value === "json" || value === "pretty" ? undefined : ["dropped", `${value} does not exist here: json or pretty`],
  STORAGE_ENCRYPTION_KEY: () => ["note", "has the same form here; make a new one"],
  REDIS_URL: () => ["note", "is only needed for shared rate limits here"],
  REPOSITORY_STORAGE_TYPE: (value) =>
    value === "redis"
      ? [
          "note",
          "the old service reads config.json only at its first start with Redis; compare with its API: --live URL"
        ]
      : ["note", "everything is in PostgreSQL here"],
  RESET_STORAGE_ON_START: () => ["note", "the database is never reset here"],
  RPC_BLOCK_PRIVATE_IPS: () => ["dropped", "private addresses are always refused here, except those in OUTBOUND_ALLOW"],
  RPC_ALLOWED_HOSTS: () => [
    "dropped",
    "a list of allowed public hosts does not exist here; OUTBOUND_ALLOW names private ones"
  ]
}

/** Reports the settings. Variables that the configuration reads are no settings. */
export const importDotEnv = (variables: Variables, { named, report, secrets }: Input) => {
  const others: Array<string> = []
  for (const [name, value = ""] of Object.entries(variables)) {
    if (named.has(name) || secrets.needed.has(name)) continue
    if (name === "API_KEY" && value.length < minApiKeyLength) {
      report.add(".env.API_KEY", "note", `has at least ${minApiKeyLength} characters here: make a new one`)
    }
    if (same.has(name)) continue
    const remark = remarks[name]
    if (remark === undefined) {
      others.push(name)
      continue
    }
    const found = remark(value)
    if (found !== undefined) report.add(`.env.${name}`, ...found)
  }
  if (others.length > 0) report.add(".env", "dropped", `these have no counterpart: ${others.toSorted().join(", ")}`)
}
