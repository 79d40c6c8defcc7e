// The DNS lookup of the HTTP agent: it returns only addresses that the guard has checked.
import { lookup } from "node:dns/promises"
import { isIP, type LookupFunction } from "node:net"
import { OutboundRefused } from "./OutboundRefused.ts"

/** Returns all addresses of a name, in the order in which they are tried. */
export type Resolve = (name: string) => Promise<ReadonlyArray<string>>

/** Returns the message of the refusal. `undefined`: the addresses may be reached. */
export type Check = (name: string, addresses: ReadonlyArray<string>) => string | undefined

/** Resolves as the operating system does, which includes its hosts file. */
export const bySystem: Resolve = async (name) => {
  const found = await lookup(name, { all: true })
  return found.map(({ address }) => address)
}

/** Node connects to the addresses that this returns, and does not resolve the name again. */
export const make = (check: Check, resolve: Resolve): LookupFunction => {
  const find = async (name: string) => {
    const addresses = await resolve(name)
    const message = check(name, addresses)
    if (message !== undefined) throw new OutboundRefused({ message })
    const [first, ...others] = addresses.map((address) => ({ address, family: isIP(address) }))
    if (first === undefined) throw new Error("the name has no address")
    return { first, others }
  }
  return (name, { all }, callback) => {
    find(name).then(
      ({ first, others }) => {
        if (all === true) callback(null, [first, ...others])
        else callback(null, first.address, first.family)
      },
      (error: NodeJS.ErrnoException) => callback(error, [])
    )
  }
}
