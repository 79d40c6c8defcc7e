// Decides whether a destination may be reached: by its URL, and by the addresses of its name.
import * as Address from "./Address.ts"
import * as AllowList from "./AllowList.ts"
import * as HostName from "./HostName.ts"
import type { Refusal } from "./OutboundRefused.ts"

export interface Guard {
  /** Checks a URL before its name is resolved. `httpsOnly`: http only leads to hosts that are allowed by name. `undefined`: it may be reached. */
  url(url: string, httpsOnly?: boolean): Refusal | undefined
  /** Checks the addresses that a name resolved to. One internal address is enough to refuse it. */
  addresses(name: string, addresses: ReadonlyArray<string>): Refusal | undefined
}

export const make = (list: AllowList.AllowList): Guard => {
  const allowed = AllowList.compile(list)

  const kindOf = (text: string): Address.Special | undefined => {
    const address = Address.parse(text)
    if (address === undefined) return "reserved"
    return allowed.address(address) ? undefined : Address.classify(address)
  }

  return {
    url: (url, httpsOnly = false) => {
      const parsed = URL.parse(url)
      if (parsed === null || !/^https?:$/u.test(parsed.protocol)) return { _tag: "NotHttp" }
      const isWrongScheme = httpsOnly && parsed.protocol === "http:"
      const address = Address.parse(parsed.hostname)
      if (address !== undefined) {
        const kind = kindOf(parsed.hostname)
        if (kind !== undefined) return { _tag: "NotPublic", source: "url", kind, what: "address" }
        return isWrongScheme && !allowed.address(address) ? { _tag: "NotHttps" } : undefined
      }
      const name = HostName.parse(parsed.hostname)
      if (name === undefined) return { _tag: "InvalidHostName" }
      if (allowed.name(name)) return undefined
      const kind = HostName.classify(name)
      if (kind !== undefined) return { _tag: "NotPublic", source: "url", kind, what: "host" }
      return isWrongScheme ? { _tag: "NotHttps" } : undefined
    },
    addresses: (text, addresses) => {
      const name = HostName.parse(text)
      if (name !== undefined && allowed.name(name)) return undefined
      const kind = addresses.map(kindOf).find((kind) => kind !== undefined)
      return kind === undefined ? undefined : { _tag: "NotPublic", source: "lookup", kind, what: "address" }
    }
  }
}
