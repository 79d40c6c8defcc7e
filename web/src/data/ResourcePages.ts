// Which page shows what an event or an audit record is about.
import { formsOf } from "./SearchText.ts"

/** Pages by the first part of the name of an event or of an action, such as `relayer.disabled`. */
const places: Readonly<Record<string, string>> = {
  relayer: "relayers",
  transaction: "transactions",
  signer: "signers",
  network: "networks",
  notification: "webhooks",
  claim: "claims",
  key: "keys"
}

export interface Subject {
  /** The type of the event, or the action of the record. */
  readonly type: string
  readonly id: string
}

/** The record of a signature that a caller got has its hash as the id. The service has no transaction for it. */
const isHash = (kind: string, id: string): boolean => kind === "transaction" && !formsOf(id).includes("uuid")

/** Undefined: it has no page, or none any more, because it was deleted. */
export const pageOf = ({ type, id }: Subject): string | undefined => {
  const [kind = ""] = type.split(".")
  const place = places[kind]
  if (place === undefined || isHash(kind, id) || type.endsWith(".deleted")) return undefined
  return `/console/${place}/${encodeURIComponent(id)}`
}
