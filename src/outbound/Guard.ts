// What is wrong with a destination: by its URL, and by the addresses of its name.
import * as Address from "./Address.ts"
import * as AllowList from "./AllowList.ts"
import * as HostName from "./HostName.ts"

const named = "which OUTBOUND_ALLOW does not name"

const phrase = (kind: string) => `${kind === "unspecified" ? "an" : "a"} ${kind}`

export interface Guard {
  /** What is wrong with the URL before its name is resolved: nothing of the URL is in the text. */
  url(url: string): string | undefined
  /** What is wrong with the addresses that the name resolved to: one is enough. */
  addresses(name: string, addresses: ReadonlyArray<string>): string | undefined
}

export const make = (list: AllowList.AllowList): Guard => {
  const allowed = AllowList.compile(list)

  const kindOf = (text: string): Address.Special | undefined => {
    const address = Address.parse(text)
    if (address === undefined) return "reserved"
    return allowed.address(address) ? undefined : Address.classify(address)
  }

  return {
    url: (url) => {
      const parsed = URL.parse(url)
      if (parsed === null || !/^https?:$/u.test(parsed.protocol)) return "is not an http or https URL"
      if (Address.parse(parsed.hostname) !== undefined) {
        const kind = kindOf(parsed.hostname)
        return kind === undefined ? undefined : `points to ${phrase(kind)} address, ${named}`
      }
      const name = HostName.parse(parsed.hostname)
      if (name === undefined) return "does not have a valid host name"
      const kind = allowed.name(name) ? undefined : HostName.classify(name)
      return kind === undefined ? undefined : `points to ${phrase(kind)} host, ${named}`
    },
    addresses: (text, addresses) => {
      const name = HostName.parse(text)
      if (name !== undefined && allowed.name(name)) return undefined
      const kind = addresses.map(kindOf).find((kind) => kind !== undefined)
      return kind === undefined ? undefined : `resolves to ${phrase(kind)} address, ${named}`
    }
  }
}
