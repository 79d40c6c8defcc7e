// Whether the connection to the database uses TLS, and whom it trusts: what the `ssl…` parameters of a database URL say.
import { Effect, Redacted } from "effect"
import * as fs from "node:fs"
import type { ConnectionOptions } from "node:tls"
import * as Address from "./Address.ts"
import { DatabaseError } from "./DatabaseError.ts"

/** As libpq names them. Others that begin with `ssl` are refused, because ignoring one could weaken the connection. */
const known = new Set(["sslmode", "sslrootcert", "sslcert", "sslkey"])

const modes = ["disable", "require", "verify-ca", "verify-full"] as const

type Mode = (typeof modes)[number]

const refused = (reason: string) => DatabaseError.of("UrlInvalid", `the database URL is not usable: ${reason}`)

/** A Unix socket or a loopback address, whose traffic does not leave this machine. */
const isLocal = (url: Redacted.Redacted): boolean => {
  const address = Address.of({ url })
  return "path" in address || /^(localhost|127(\.\d{1,3}){3}|::1)$/.test(address.host)
}

const modeOf = (url: Redacted.Redacted, given: string | null): Mode | undefined => {
  if (given === null) return isLocal(url) ? "disable" : "require"
  return modes.find((mode) => mode === given)
}

const read = (name: string, file: string) =>
  Effect.try({
    try: () => fs.readFileSync(file),
    catch: (cause) => refused(`cannot read ${name} ${file}: ${cause instanceof Error ? cause.message : String(cause)}`)
  })

/**
 * `false`: plain text. Absent `sslmode` means `require`, except on a socket or a loopback address. `require` and `verify-full`
 * verify the certificate and its host name, `verify-ca` the certificate alone. `sslrootcert` is a file of trusted
 * certificates, or `system`; absent: those that Node trusts.
 */
export const of = Effect.fnUntraced(function* (
  url: Redacted.Redacted
): Effect.fn.Return<false | ConnectionOptions, DatabaseError> {
  const parameters = URL.parse(Redacted.value(url))?.searchParams ?? new URLSearchParams()
  const unknown = [...parameters.keys()].find((name) => /^ssl/i.test(name) && !known.has(name))
  if (unknown !== undefined) {
    return yield* refused(`${unknown} is not supported; supported are ${[...known].join(", ")}`)
  }
  const given = parameters.get("sslmode")
  const mode = modeOf(url, given)
  if (mode === undefined) {
    return yield* refused(
      given === "prefer" || given === "allow"
        ? `sslmode=${given} falls back to plain text; use require, or disable to permit plain text`
        : `sslmode must be one of ${modes.join(", ")}`
    )
  }
  if (mode === "disable") return false
  const file = (name: "sslrootcert" | "sslcert" | "sslkey") => {
    const value = parameters.get(name)
    return value === null || value === "system" ? Effect.undefined : read(name, value)
  }
  const [ca, cert, key] = [yield* file("sslrootcert"), yield* file("sslcert"), yield* file("sslkey")]
  return {
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
    ...(mode === "verify-ca" ? { checkServerIdentity: () => undefined } : {})
  }
})
