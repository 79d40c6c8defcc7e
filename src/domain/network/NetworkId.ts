// What identifies a network: its type and its name.
import { Schema } from "effect"
import { field } from "../request/Field.ts"
import { text } from "../request/Text.ts"

export const NetworkType = Schema.Literals(["evm", "solana", "stellar"]).annotate({
  identifier: "NetworkType",
  message: "Expected evm, solana or stellar",
  description: "The family of chains.",
  examples: ["evm"]
})
export type NetworkType = typeof NetworkType.Type

/** `tag` of a network type, for the structs of one type. */
export const networkTag = <const T extends NetworkType>(type: T) =>
  field(Schema.tag(type), "The family of chains.", type)

/** A name may contain every character that an id may contain. */
export const NetworkName = text(1, 64)
  .check(Schema.isPattern(/^[^\s/]+$/u, { expected: "a name without white space and slashes" }))
  .annotate({ description: "Name of the network, unique for its type.", examples: ["sepolia"] })
  .pipe(Schema.brand("NetworkName"))
export type NetworkName = typeof NetworkName.Type

export const NetworkId = Schema.String.check(
  Schema.isPattern(/^(evm|solana|stellar):[^\s/\0]{1,64}$/u, { expected: "a network id such as evm:sepolia" })
)
  .annotate({ description: "Identifier of the network: its type and its name.", examples: ["evm:sepolia"] })
  .pipe(Schema.brand("NetworkId"))
export type NetworkId = typeof NetworkId.Type

export const networkId = (type: NetworkType, name: string) => NetworkId.make(`${type}:${name}`)

/** The id of the network of that name and the same type. */
export const siblingId = (id: NetworkId, name: string) => NetworkId.make(`${id.slice(0, id.indexOf(":"))}:${name}`)
