// Hosts that the service only calls if OUTBOUND_ALLOW names them.
import { classifyAddress, classifyHostName, parseAddress, parseHostName } from "../../outbound/Outbound.ts"

/** Names without a dot, and names inside a cluster. */
const localName = /^[^.]+$|\.(svc|cluster)$/i

const isPrivate = (host: string): boolean => {
  const address = parseAddress(host)
  if (address !== undefined) return classifyAddress(address) !== undefined
  const name = parseHostName(host)
  return localName.test(host) || (name !== undefined && classifyHostName(name) !== undefined)
}

/** What the operator has to do so that the service calls a URL. `httpsOnly`: also for http to a public host. Undefined: nothing. */
export const needOf = (url: string, httpsOnly = false): string | undefined => {
  const host = privateHostOf(url)
  if (host !== undefined) return `its host is not public: start the service with OUTBOUND_ALLOW=${host}`
  const plain = httpsOnly && /^http:/iu.test(url) ? hostOf(url) : undefined
  return plain === undefined
    ? undefined
    : `is called by http: start the service with OUTBOUND_ALLOW=${plain}, or use https`
}

/** Stands for a variable, which has no characters that a host may not have. */
const someName = "a-variable.example"

/** The host of the URL. Undefined if there is none, or if a variable names it. */
const hostOf = (url: string): string | undefined => {
  const host = URL.parse(url.replaceAll(/\$\{[^}]+\}/gu, someName))?.hostname.replace(/^\[|\]$/g, "")
  return host === undefined || host === "" || host.includes(someName) ? undefined : host
}

/** The host of the URL, if it is not public as far as its text says. */
export const privateHostOf = (url: string): string | undefined => {
  const host = hostOf(url)
  return host !== undefined && isPrivate(host) ? host : undefined
}
