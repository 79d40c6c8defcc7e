// Hosts that the service only calls if OUTBOUND_ALLOW names them.
import * as Address from "../../outbound/Address.ts"
import * as HostName from "../../outbound/HostName.ts"

/** Names without a dot, and names inside a cluster. */
const localName = /^[^.]+$|\.(svc|cluster)$/i

const isPrivate = (host: string): boolean => {
  const address = Address.parse(host)
  if (address !== undefined) return Address.classify(address) !== undefined
  const name = HostName.parse(host)
  return localName.test(host) || (name !== undefined && HostName.classify(name) !== undefined)
}

/** What the operator has to do for a URL whose host is not public. Undefined: nothing. */
export const needOf = (url: string): string | undefined => {
  const host = privateHostOf(url)
  return host === undefined ? undefined : `its host is not public: start the service with OUTBOUND_ALLOW=${host}`
}

/** The host of the URL, if it is not public as far as its text says. */
export const privateHostOf = (url: string): string | undefined => {
  const host = URL.parse(url)?.hostname.replace(/^\[|\]$/g, "")
  return host !== undefined && host !== "" && isPrivate(host) ? host : undefined
}
