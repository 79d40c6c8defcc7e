// The forms of settings that are lists or keys.
import { Schema, SchemaTransformation } from "effect"
import { CommaSeparated } from "../../outbound/AllowList.ts"
import * as ClientAddress from "../../server/responses/ClientAddress.ts"

/** A master key: 32 bytes as base64. */
export const isMasterKey = (text: string): boolean =>
  /^[A-Za-z0-9+/]{43}=$/.test(text) && Buffer.from(text, "base64").length === 32

export const MasterKey = Schema.String.check(Schema.makeFilter(isMasterKey, { expected: "32 bytes as base64" }))

/** The keys of a list that separates them by commas. */
export const splitMasterKeys = (text: string): ReadonlyArray<string> => text.split(",").map((key) => key.trim())

export const MasterKeys = Schema.String.check(
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
export const Origins = Schema.String.pipe(
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
export const SignerKeys = CommaSeparated.pipe(Schema.decodeTo(KeyNames))

/** TRUSTED_PROXIES: the proxies whose `X-Forwarded-For` is believed, such as `10.1.0.0/16,::1`. */
export const TrustedProxies = CommaSeparated.pipe(Schema.decodeTo(ClientAddress.TrustedProxies))

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
