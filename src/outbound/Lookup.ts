// The resolver of the agents: hands out only addresses that the guard has checked.
import { lookup } from "node:dns/promises"
import { isIP, type LookupFunction } from "node:net"
import type { Guard } from "./Guard.ts"
import { OutboundRefused } from "./OutboundRefused.ts"

/** All addresses of a name, in the order in which they are tried. */
export type Resolve = (name: string) => Promise<ReadonlyArray<string>>

/** As the system does, so also by its hosts file. */
export const bySystem: Resolve = async (name) => {
  const found = await lookup(name, { all: true })
  return found.map(({ address }) => address)
}

/** Node connects to what this gives, and resolves nothing by itself. */
export const make = (guard: Guard, resolve: Resolve): LookupFunction => {
  const find = async (name: string) => {
    const addresses = await resolve(name)
    const message = guard.addresses(name, addresses)
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
