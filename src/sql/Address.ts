// Where a database listens.
import type { PgClient } from "@effect/sql-pg"
import { Redacted } from "effect"

export type Address = { readonly path: string } | { readonly host: string; readonly port: number }

/** A URL says it as libpq has it, also as `?host=` and `?port=`; a host that begins with a slash is a socket's folder. */
export const of = (config: PgClient.PgClientConfig): Address => {
  if (config.path !== undefined) return { path: config.path }
  const url = config.url === undefined ? null : URL.parse(Redacted.value(config.url))
  const named = url?.searchParams.get("host") ?? decodeURIComponent(url?.hostname ?? "").replace(/^\[(.*)\]$/, "$1")
  const host = config.host ?? (named || "localhost")
  const port = config.port ?? Number(url?.searchParams.get("port") ?? (url?.port || 5432))
  return host.startsWith("/") ? { path: `${host}/.s.PGSQL.${port}` } : { host, port }
}
