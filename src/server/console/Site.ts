// What a browser calls the service, and whether a request comes from the console's own pages. Pure functions over header fields.
import { createHash } from "node:crypto"

/** The header fields of a request, with names in lower case. */
type Fields = Readonly<Record<string, string | undefined>>

export interface Site {
  /** The origin of the console's pages, as browsers write it. */
  readonly origin: string
  /** Whether browsers reach the console through TLS. */
  readonly isSecure: boolean
  readonly isLoopback: boolean
  readonly cookie: { readonly name: string; readonly attributes: string }
}

const withoutFinalDot = (host: string): string => host.replace(/\.(?=:\d+$|$)/, "")

/** A host with a port, if it is not the scheme's own. `undefined` if the text is no host. */
const hostOf = (protocol: string, given: string): string | undefined => {
  if (!/^[^\s/?#@\\]+$/.test(given)) return undefined
  const parsed = URL.parse(`${protocol}//${withoutFinalDot(given)}`)
  return parsed === null ? undefined : parsed.host
}

const isLoopbackName = (name: string): boolean =>
  name === "localhost" || name.endsWith(".localhost") || /^127(\.\d+){3}$/.test(name) || name === "[::1]"

/** Whether the setting HOST is reached from this machine only. */
export const isLoopbackAddress = (host: string): boolean => isLoopbackName(host.includes(":") ? `[${host}]` : host)

/** Enough that two origins have different names. */
const originDigits = 8

/**
 * Browsers send a cookie to every port of its host, so the name differs by the port or, behind TLS, by the origin: two services of
 * one host do not end each other's sessions.
 */
const cookieOf = (origin: string, isSecure: boolean): Site["cookie"] => {
  const always = "HttpOnly; SameSite=Strict"
  if (!isSecure) {
    const { port } = new URL(origin)
    return { name: `relayer-console-${port === "" ? "80" : port}`, attributes: `Path=/console; ${always}` }
  }
  const digits = createHash("sha256").update(origin).digest("hex").slice(0, originDigits)
  return { name: `__Host-relayer-console-${digits}`, attributes: `Path=/; Secure; ${always}` }
}

const siteOf = (origin: string): Site => {
  const { protocol, hostname } = new URL(origin)
  const isSecure = protocol === "https:"
  return { origin, isSecure, isLoopback: isLoopbackName(hostname), cookie: cookieOf(origin, isSecure) }
}

/**
 * The site that the field `Host` names: an origin of the configuration, or a name of this machine with any port. `undefined`: the
 * request is for another host, as after DNS rebinding. The scheme of the connection decides nothing, because a proxy may end TLS.
 */
export const named = (host: string | undefined, origins: ReadonlyArray<string>): Site | undefined => {
  if (host === undefined) return undefined
  const origin = origins.find((origin) => {
    const url = new URL(origin)
    return hostOf(url.protocol, host) === url.host
  })
  if (origin !== undefined) return siteOf(origin)
  const plain = hostOf("http:", host)
  if (plain === undefined) return undefined
  const site = siteOf(`http://${plain}`)
  return site.isLoopback ? site : undefined
}

/**
 * Whether a page of this site made the request. `Sec-Fetch-Site` and `Origin` are written by browsers, and scripts cannot change them.
 * Pages of another port of the same host are `same-site`, not `same-origin`.
 */
export const isSameOrigin = (headers: Fields, { origin }: Site): boolean => {
  const fetchSite = headers["sec-fetch-site"]
  return fetchSite === undefined ? headers["origin"] === origin : fetchSite === "same-origin"
}

/** The values of a cookie. A browser sends one, unless another server of the host has set a second one. */
export const cookieValues = (header: string | undefined, name: string): ReadonlyArray<string> =>
  (header ?? "").split(";").flatMap((pair) => {
    const [key = "", ...value] = pair.split("=")
    return key.trim() === name ? [value.join("=").trim()] : []
  })

/** `undefined` ends the cookie. */
export const setCookie = ({ cookie: { name, attributes } }: Site, value: string | undefined): string =>
  `${name}=${value ?? ""}; ${attributes}${value === undefined ? "; Max-Age=0" : ""}`
