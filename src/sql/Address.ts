// The address that a database configuration points to.
import type { PgClient } from "@effect/sql-pg"
import { Redacted } from "effect"

export type Address = { readonly path: string } | { readonly host: string; readonly port: number }

/**
 * Reads a URL as libpq does: `?host=` and `?port=` take precedence over the authority, and a host that starts with a slash
 * is the folder of a Unix socket.
 */
export const of = (config: PgClient.PgClientConfig): Address => {
  if (config.path !== undefined) return { path: config.path }
  const url = config.url === undefined ? null : URL.parse(Redacted.value(config.url))
  const named = url?.searchParams.get("host") ?? decodeURIComponent(url?.hostname ?? "").replace(/^\[(.*)\]$/, "$1")
  const host = config.host ?? (named || "localhost")
  const port = config.port ?? Number(url?.searchParams.get("port") ?? (url?.port || 5432))
  return host.startsWith("/") ? { path: socketFile(host, port) } : { host, port }
}

/** The socket that PostgreSQL makes in `folder`; its name contains the port also if there is no TCP. */
export const socketFile = (folder: string, port: number): string => `${folder}/.s.PGSQL.${port}`

/**
 * The URL of a socket in `folder`, for our code and for libpq. The host in the authority is a placeholder, because a URL with a user
 * needs one. A space is `%20`: libpq does not read `+` as a space.
 */
export const socketUrl = (username: string, database: string, folder: string, port: number): string =>
  `postgres://${username}@localhost:${port}/${database}?host=${encodeURIComponent(folder)}`
