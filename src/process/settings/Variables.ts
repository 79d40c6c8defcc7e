// The table of environment variables, with the forms of lists and keys. Only the process and the CLI know their names.
import { Schema, SchemaTransformation } from "effect"
import { isAdministratorKey, minAdministratorKeyLength } from "../../domain/access/ApiKey.ts"
import { mistakes } from "../../domain/request/Violations.ts"
import { AllowListFromText, CommaSeparated } from "../../outbound/Outbound.ts"
import { TrustedProxies } from "../../server/responses/CurrentRequest.ts"

// The forms of settings that are lists or keys.

/** A master key: 32 bytes as base64. */
export const isMasterKey = (text: string): boolean =>
  /^[A-Za-z0-9+/]{43}=$/.test(text) && Buffer.from(text, "base64").length === 32

const MasterKey = Schema.String.check(Schema.makeFilter(isMasterKey, { expected: "32 bytes as base64" }))

/** The keys of a list that separates them by commas. */
export const splitMasterKeys = (text: string): ReadonlyArray<string> => text.split(",").map((key) => key.trim())

const MasterKeys = Schema.String.check(
  Schema.makeFilter((text: string) => splitMasterKeys(text).every(isMasterKey), {
    expected: "keys of 32 bytes as base64, separated by commas"
  })
)

/** As a browser sends it: without a path, and without a port that is the scheme's own. */
const isOrigin = (text: string): boolean => /^https?:/.test(text) && URL.parse(text)?.origin === text

const Origin = Schema.String.check(
  Schema.makeFilter(isOrigin, { expected: "origins such as https://console.example.com, with commas between them" })
)

/** CORS_ORIGINS and CONSOLE_ORIGINS. */
const Origins = Schema.String.pipe(
  Schema.decodeTo(
    Schema.Array(Origin),
    SchemaTransformation.transform({
      decode: (text: string): ReadonlyArray<string> => text.split(",").map((origin) => origin.trim()),
      encode: (origins) => origins.join(",")
    })
  )
)

/** An entry names a key, or what contains it. There are no patterns: an asterisk would be a part of no name. */
const isEntry = (text: string) => /^[^\s*,]+$/u.test(text) && /[:/]/u.test(text)

const KeyNames = Schema.Array(Schema.String).check(
  Schema.makeFilter((entries: ReadonlyArray<string>) => {
    const wrong = entries.findIndex((entry) => !isEntry(entry))
    if (wrong === -1) return undefined
    return `entry ${wrong + 1}: expected an ARN, a resource name of Google or the URL of a vault, without an asterisk`
  })
)

/** SIGNER_KEYS: the keys that signers may use by a login of the service itself, such as `arn:aws:kms:eu-west-1:111122223333,projects/payments/locations/europe-west1`. */
const SignerKeys = CommaSeparated.pipe(Schema.decodeTo(KeyNames))

/** TRUSTED_PROXIES: the proxies whose `X-Forwarded-For` is believed, such as `10.1.0.0/16,::1`. */
const TrustedProxiesFromText = CommaSeparated.pipe(Schema.decodeTo(TrustedProxies))

const decodePercent = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/**
 * OTEL_EXPORTER_OTLP_HEADERS: the header fields of OTLP requests, such as `api-key=secret,tenant=relayers`, with values in
 * percent-encoding (W3C Baggage). `undefined` if the text is no such list. White space and empty entries are ignored.
 */
export const otlpHeaders = (text: string): Readonly<Record<string, string>> | undefined => {
  const entries = text
    .split(",")
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "")
    .map((entry) => /^([\w!#$%&'*+.^`|~-]+)\s*=\s*(.*)$/.exec(entry))
    .map((found) => [found?.[1], decodePercent(found?.[2] ?? "")] as const)
  return entries.every(([name, value]) => name !== undefined && value !== undefined && /^[\x20-\x7e]*$/.test(value))
    ? Object.fromEntries(entries)
    : undefined
}

// The libraries of PKCS#11 that signers may use, as the setting PKCS11_MODULES lists them. A request gives a name, never a path,
// because the service runs the code of the library.

const expectedModules =
  "names with absolute paths, such as hsm=/usr/lib/softhsm/libsofthsm2.so, with commas between them"

const Pkcs11Entry = Schema.String.check(
  Schema.isPattern(/^[a-z0-9][a-z0-9_-]{0,31}=\/[^,=]+$/u, { expected: expectedModules })
)

const moduleNameOf = (entry: string) => entry.slice(0, entry.indexOf("="))

const Pkcs11Entries = Schema.Array(Pkcs11Entry).check(
  Schema.makeFilter((entries) => new Set(entries.map(moduleNameOf)).size === entries.length, {
    expected: "each name once"
  })
)

const Pkcs11List = Schema.String.pipe(
  Schema.decodeTo(
    Pkcs11Entries,
    SchemaTransformation.transform({
      decode: (text: string): ReadonlyArray<string> => text.split(",").map((entry) => entry.trim()),
      encode: (entries) => entries.join(",")
    })
  )
)

/** Paths by name. */
const Pkcs11Modules = Pkcs11List.pipe(
  Schema.decodeTo(
    Schema.ReadonlyMap(Schema.String, Schema.String),
    SchemaTransformation.transform({
      decode: (entries: ReadonlyArray<string>): ReadonlyMap<string, string> =>
        new Map(entries.map((entry) => [moduleNameOf(entry), entry.slice(entry.indexOf("=") + 1)])),
      encode: (paths): ReadonlyArray<string> => [...paths].map(([name, path]) => `${name}=${path}`)
    })
  )
)

const integer = (minimum: number, maximum: number) =>
  Schema.String.check(Schema.isPattern(/^\d{1,15}$/u, { expected: `an integer from ${minimum} to ${maximum}` })).pipe(
    Schema.decodeTo(
      Schema.Int.check(
        Schema.isBetween({ minimum, maximum }, { expected: `an integer from ${minimum} to ${maximum}` })
      ),
      SchemaTransformation.transform({ decode: Number, encode: String })
    )
  )

const url = (protocols: ReadonlyArray<string>) => {
  const expected = `a URL that starts with ${protocols.map((protocol) => `${protocol}//`).join(" or ")}`
  return Schema.String.check(
    Schema.makeFilter(
      (text: string) => {
        const parsed = URL.parse(text)
        return parsed !== null && protocols.includes(parsed.protocol)
      },
      { expected }
    )
  )
}

/** Each variable: its form, its default, an example, and the help of its flag. */
export const variables = {
  HOST: { schema: Schema.NonEmptyString, default: "127.0.0.1", example: "0.0.0.0", help: "Address to listen on" },
  PORT: { schema: integer(0, 65535), default: "8080", example: "8080", help: "Port to listen on; 0: a free port" },
  API_KEY: {
    schema: Schema.optionalKey(
      Schema.RedactedFromValue(
        Schema.String.check(
          Schema.makeFilter(isAdministratorKey, { expected: `at least ${minAdministratorKeyLength} characters` })
        )
      )
    ),
    example: "the output of: openssl rand -hex 32",
    help: "Key of the administrator; if unset, created on the first start and kept in DATA_DIR"
  },
  DATABASE_URL: {
    schema: Schema.optionalKey(Schema.RedactedFromValue(url(["postgres:", "postgresql:"]))),
    example: "postgres://relayer:password@db:5432/relayer",
    help: "URL of PostgreSQL 15 or later; if unset, the embedded PostgreSQL"
  },
  DATABASE_FAILOVER: {
    schema: Schema.Literals(["unknown", "synchronous"]),
    default: "unknown",
    example: "synchronous",
    help: "synchronous: a promoted replica has every commit; unknown: open transactions then wait for an operator"
  },
  DATA_DIR: {
    schema: Schema.NonEmptyString,
    default: "./data",
    example: "/var/lib/relayer",
    help: "Folder for the embedded database and for keys that the service creates"
  },
  POSTGRES_BIN: {
    schema: Schema.optionalKey(Schema.NonEmptyString),
    example: "/usr/lib/postgresql/18/bin",
    help: "Folder with initdb and postgres, to use instead of the npm binaries"
  },
  STORAGE_ENCRYPTION_KEY: {
    schema: Schema.optionalKey(Schema.RedactedFromValue(MasterKey)),
    example: "the output of: openssl rand -base64 32",
    help: "Encrypts the secrets in the database; required with DATABASE_URL, otherwise created and kept in DATA_DIR"
  },
  STORAGE_DECRYPTION_KEYS: {
    schema: Schema.optionalKey(Schema.RedactedFromValue(MasterKeys)),
    example: "the previous STORAGE_ENCRYPTION_KEY",
    help: "Previous keys that can still decrypt stored secrets, separated by commas, for a rotation"
  },
  RATE_LIMIT_REQUESTS_PER_SECOND: {
    schema: integer(1, 1_000_000),
    default: "100",
    example: "100",
    help: "Requests per second for each API key"
  },
  RATE_LIMIT_BURST_SIZE: {
    schema: integer(1, 1_000_000),
    default: "300",
    example: "300",
    help: "Requests that an idle API key may send at once"
  },
  REDIS_URL: {
    schema: Schema.optionalKey(Schema.RedactedFromValue(url(["redis:", "rediss:"]))),
    example: "redis://redis:6379",
    help: "Redis that counts requests across instances; if unset, each instance counts by itself"
  },
  REQUEST_TIMEOUT_MS: {
    schema: integer(1, 3_600_000),
    default: "30000",
    example: "30000",
    help: "Milliseconds after which a request is answered with 503; it must arrive within half of this time"
  },
  MAX_BODY_BYTES: {
    schema: integer(1, 67_108_864),
    default: "1048576",
    example: "1048576",
    help: "Largest request body in bytes"
  },
  SHUTDOWN_GRACE_MS: {
    schema: integer(0, 3_600_000),
    default: "10000",
    example: "10000",
    help: "Milliseconds for requests to finish after SIGTERM"
  },
  OUTBOUND_ALLOW: {
    schema: Schema.optionalKey(AllowListFromText),
    example: "localhost,127.0.0.0/8,::1,vault.internal,10.1.0.0/16",
    help: "Internal hosts and ranges that URLs of users may point to, and hosts of webhooks by http; if unset, none"
  },
  AZURE_TENANT_ID: {
    schema: Schema.optionalKey(Schema.NonEmptyString),
    example: "72f988bf-86f1-41af-91ab-2d7cd011db47",
    help: "Directory of the workload identity, for azure_key_vault signers that name none; AKS sets it"
  },
  AZURE_CLIENT_ID: {
    schema: Schema.optionalKey(Schema.NonEmptyString),
    example: "3d1e6a0f-6d0f-4c4c-9d1c-6f7d2f6d8a11",
    help: "Client id of the workload identity, for azure_key_vault signers that name none; AKS sets it"
  },
  AZURE_FEDERATED_TOKEN_FILE: {
    schema: Schema.optionalKey(Schema.NonEmptyString),
    example: "/var/run/secrets/azure/tokens/azure-identity-token",
    help: "Token file of the workload identity, for azure_key_vault signers that name none; AKS sets it"
  },
  AZURE_TOKEN_DIRECTORY: {
    schema: Schema.optionalKey(Schema.NonEmptyString),
    example: "/var/run/secrets/azure/tokens",
    help: "Folder with the token files that azure_key_vault signers may name; if unset, they may name none"
  },
  IDENTITY_ENDPOINT: {
    schema: Schema.optionalKey(url(["http:"])),
    example: "http://127.0.0.1:41741/msi/token",
    help: "URL that logs managed identities in, instead of the metadata server; App Service and Container Apps set it"
  },
  IDENTITY_HEADER: {
    schema: Schema.optionalKey(Schema.RedactedFromValue(Schema.NonEmptyString)),
    example: "853b9a84-5bfa-4b22-a3f3-0b9a43d9ad8a",
    help: "Secret of IDENTITY_ENDPOINT; App Service and Container Apps set it"
  },
  PKCS11_MODULES: {
    schema: Schema.optionalKey(Pkcs11Modules),
    example: "hsm=/usr/lib/softhsm/libsofthsm2.so",
    help: "Libraries of PKCS#11 that signers may use, by name; if unset, none"
  },
  SIGNER_KEYS: {
    schema: Schema.optionalKey(SignerKeys),
    example: "arn:aws:kms:eu-west-1:111122223333,projects/payments/locations/europe-west1",
    help: "Keys, accounts or regions that signers may use with the service's own cloud login; if unset, all that this login may use"
  },
  CORS_ORIGINS: {
    schema: Schema.optionalKey(Origins),
    example: "https://console.example.com,http://localhost:5173",
    help: "Origins from which browsers may call the API; if unset, none"
  },
  CONSOLE: {
    schema: Schema.optionalKey(Schema.Literals(["on", "off", "read-only"])),
    example: "read-only",
    help: "Web console at /console; read-only: it changes nothing. If unset, on for a loopback HOST or with CONSOLE_ORIGINS, else off"
  },
  CONSOLE_ORIGINS: {
    schema: Schema.optionalKey(Origins),
    example: "https://relayers.example.com",
    help: "Origins at which browsers reach the console, beside loopback addresses; people sign in only at those with https"
  },
  CONSOLE_SESSION_HOURS: {
    schema: integer(1, 24),
    default: "8",
    example: "8",
    help: "Hours after which a session of the console ends"
  },
  CONSOLE_IDLE_MINUTES: {
    schema: integer(2, 1440),
    default: "30",
    example: "30",
    help: "Minutes without use by a person after which a session of the console ends"
  },
  TRUSTED_PROXIES: {
    schema: Schema.optionalKey(TrustedProxiesFromText),
    example: "10.1.0.0/16,fd00:1::/64",
    help: "Addresses and ranges of proxies that name the client in X-Forwarded-For; if unset, the client is the sender"
  },
  METRICS_TOKEN: {
    schema: Schema.optionalKey(Schema.RedactedFromValue(Schema.NonEmptyString)),
    example: "the output of: openssl rand -hex 32",
    help: "Bearer token that readers of /metrics need; if unset, everybody may read it"
  },
  METRICS_PER_RELAYER: {
    schema: Schema.Literals(["on", "off"]),
    default: "off",
    example: "on",
    help: "on: metrics have the state and the balance of each relayer, for at most 5,000 relayers"
  },
  DOCS: {
    schema: Schema.Literals(["on", "off"]),
    default: "on",
    example: "off",
    help: "off: /, /docs and /openapi.* are not served"
  },
  WATCH: {
    schema: Schema.Literals(["on", "off"]),
    default: "on",
    example: "off",
    help: "off: only serves requests; other instances on the database send transactions and webhooks and check relayers"
  },
  HEALTH_CHECK_INTERVAL_MS: {
    schema: integer(1000, 86_400_000),
    default: "60000",
    example: "60000",
    help: "Milliseconds between two checks of a healthy relayer"
  },
  LANE_LEASE_MS: {
    schema: integer(3000, 600_000),
    default: "30000",
    example: "30000",
    help: "Milliseconds after which other instances send the transactions of an instance that hangs"
  },
  RETENTION_DAYS: {
    schema: integer(0, 36_500),
    default: "365",
    example: "365",
    help: "Days after which events and final transactions are deleted; 0: never"
  },
  LOG_LEVEL: {
    schema: Schema.Literals(["trace", "debug", "info", "warn", "error", "fatal", "none"]),
    default: "info",
    example: "info",
    help: "Lowest level that is logged"
  },
  LOG_FORMAT: {
    schema: Schema.optionalKey(Schema.Literals(["pretty", "json"])),
    example: "json",
    help: "Format of log records; if unset, pretty on a terminal and json elsewhere"
  },
  ACCESS_LOG: {
    schema: Schema.Literals(["on", "off"]),
    default: "on",
    example: "off",
    help: "off: requests are logged at LOG_LEVEL debug only"
  },
  OTEL_EXPORTER_OTLP_ENDPOINT: {
    schema: Schema.optionalKey(url(["http:", "https:"])),
    example: "http://localhost:4318",
    help: "Collector that gets traces, metrics and logs by OTLP over HTTP"
  },
  OTEL_EXPORTER_OTLP_HEADERS: {
    schema: Schema.optionalKey(
      Schema.RedactedFromValue(
        Schema.String.check(
          Schema.makeFilter((text: string) => otlpHeaders(text) !== undefined, {
            expected: "names and values such as api-key=secret, with commas between them"
          })
        )
      )
    ),
    example: "api-key=secret",
    help: "Header fields for the collector"
  },
  OTEL_EXPORTER_OTLP_PROTOCOL: {
    schema: Schema.Literals(["http/json", "http/protobuf"]),
    default: "http/json",
    example: "http/protobuf",
    help: "Encoding of OTLP"
  },
  OTEL_SERVICE_NAME: {
    schema: Schema.NonEmptyString,
    default: "effect-relayer",
    example: "relayer-production",
    help: "Name of the service in traces, metrics and logs"
  }
} as const

// Finds environment variables that are probably misspelled settings: they would have no effect, and nobody would notice.

const variableNames: ReadonlyArray<string> = Object.keys(variables)

/** Shorter names resemble too many variables of other programs, such as HOST and HOME: of them, only two letters may be swapped. */
const minLength = 7

/** Letters that are missing, added, replaced or swapped. */
const maxMistakes = ({ length }: string): number => (length < 10 ? 1 : 2)

const lettersOf = (name: string): string => [...name].sort().join("")

const isMisspelled = (given: string, name: string): boolean => {
  if (name.length < minLength && lettersOf(given) !== lettersOf(name)) return false
  return Math.abs(name.length - given.length) <= maxMistakes(name) && mistakes(given, name) <= maxMistakes(name)
}

export interface Misspelled {
  readonly variable: string
  readonly setting: string
}

type Source = Readonly<Record<string, string | undefined>>

/** Of `sources`, the names only: values may be secret. A setting that is set under its own name is not missing. */
export const findMisspelled = (...sources: ReadonlyArray<Source>): ReadonlyArray<Misspelled> => {
  const given = new Set(sources.flatMap((source) => Object.keys(source)))
  const missing = variableNames.filter((name) => !given.has(name))
  return [...given]
    .filter((variable) => !variableNames.includes(variable))
    .flatMap((variable) => {
      const upper = variable.toUpperCase()
      const setting = missing.find((name) => isMisspelled(upper, name))
      return setting === undefined ? [] : [{ variable, setting }]
    })
}
