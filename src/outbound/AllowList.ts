// The internal hosts and address ranges that URLs of users may point to.
import { Schema, SchemaTransformation } from "effect"
import * as Address from "./Address.ts"
import * as HostName from "./HostName.ts"

/** A list in a setting: `localhost,10.1.0.0/16`. White space and empty entries are ignored. */
export const CommaSeparated = Schema.String.pipe(
  Schema.decodeTo(
    Schema.Array(Schema.String),
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

/** As much of an entry as a message shows. */
const printable = (entry: string) => entry.slice(0, 64).replace(/\p{C}/gu, "?")

const isEntry = (text: string) => Address.parseRange(text) !== undefined || HostName.parse(text) !== undefined

const AllowList = Schema.Array(Schema.String)
  .check(
    Schema.makeFilter((entries: ReadonlyArray<string>) => {
      const wrong = entries.findIndex((entry) => !isEntry(entry))
      if (wrong === -1) return undefined
      return `entry ${wrong + 1}, "${printable(entries[wrong] ?? "")}", is not a host name, an IP address, or a range that starts at its first address`
    })
  )
  .pipe(Schema.brand("AllowList"))
export type AllowList = typeof AllowList.Type

/** `localhost,10.1.0.0/16`. */
export const FromText = CommaSeparated.pipe(Schema.decodeTo(AllowList))

/** Throws if an entry is invalid. */
export const make = (entries: ReadonlyArray<string>): AllowList => AllowList.make(entries)

/** A range allows the addresses in it and no names. A name allows itself, whatever it resolves to. */
export const compile = (list: AllowList) => {
  const names = new Set(list.map(HostName.parse))
  const ranges = list.flatMap((entry) => Address.parseRange(entry) ?? [])
  return {
    /** For a name that `HostName.parse` returned. */
    name: (name: string) => names.has(name),
    address: (address: Address.Address) => ranges.some((range) => Address.isWithin(address, range))
  }
}
