// The hosts and ranges inside that URLs of users may point to.
import { Schema, SchemaTransformation } from "effect"
import * as Address from "./Address.ts"
import * as HostName from "./HostName.ts"

const isEntry = (text: string) => Address.parseRange(text) !== undefined || HostName.parse(text) !== undefined

const AllowList = Schema.Array(Schema.String)
  .check(
    Schema.makeFilter((entries: ReadonlyArray<string>) => {
      const wrong = entries.findIndex((entry) => !isEntry(entry))
      if (wrong === -1) return undefined
      return `entry ${wrong + 1} is no host name, no IP address and no range that starts at its first address`
    })
  )
  .pipe(Schema.brand("AllowList"))
export type AllowList = typeof AllowList.Type

/** `localhost,10.1.0.0/16`; white space and empty entries do not count. */
export const FromText = Schema.String.pipe(
  Schema.decodeTo(
    AllowList,
    SchemaTransformation.transform({
      decode: (text: string): ReadonlyArray<string> =>
        text
          .split(",")
          .map((entry) => entry.trim())
          .filter((entry) => entry !== ""),
      encode: (entries) => entries.join(",")
    })
  )
)

/** Throws at an entry that is none. */
export const make = (entries: ReadonlyArray<string>): AllowList => AllowList.make(entries)

/** A range allows the addresses in it, a name whatever it resolves to, a range no name. */
export const compile = (list: AllowList) => {
  const names = new Set(list.map(HostName.parse))
  const ranges = list.flatMap((entry) => Address.parseRange(entry) ?? [])
  return {
    /** Of a name as `HostName.parse` gives it. */
    name: (name: string) => names.has(name),
    address: (address: Address.Address) => ranges.some((range) => Address.isWithin(address, range))
  }
}
