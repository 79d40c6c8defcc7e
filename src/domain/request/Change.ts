// What a change of a field means: how its values are compared, and which changes allow more than before. The schema of a request says
// it as the annotation `change` of each field, and plans of configurations read it.

/** A change as a plan shows it. An absent text means that the field is absent. */
export interface ChangedText {
  readonly before?: string
  readonly after?: string
  /** Entries of a set. */
  readonly added?: ReadonlyArray<string>
  readonly removed?: ReadonlyArray<string>
}

export interface Meaning {
  /**
   * How values are compared. `set`: a list without an order. `tokens`: a list of objects, each of which has a mint or an asset.
   * `providers`: a list of RPC URLs. `url`: a URL that may contain a key. Absent: member by member, or as a whole.
   */
  readonly as?: "set" | "tokens" | "providers" | "url"
  /** Whether another value makes another object of it. */
  readonly identifies?: true
  /** Whether the change allows more than before, or cannot be undone: a plan marks it. It holds for parts that do not say their own. */
  readonly allowsMore: (change: ChangedText) => boolean
}

/** What a schema that is compared says about a field. */
export interface Judged {
  readonly change: Meaning
}

/** Integers are compared exactly, because amounts exceed 2^53. A value of a variable is not shown, and may be greater. */
const isGreater = (one: string, other: string): boolean => {
  const isExact = /^\d+$/.test(one) && /^\d+$/.test(other)
  return isExact ? BigInt(one) > BigInt(other) : !(Number(one) <= Number(other))
}

/** A list that is removed as a whole has the text before it and none after it. */
const isListGone = ({ before, after, added }: ChangedText): boolean =>
  before !== undefined && after === undefined && added === undefined

const isListNew = ({ before, after, added }: ChangedText): boolean =>
  before === undefined && after !== undefined && added === undefined

const isMore = ({ added }: ChangedText): boolean => added !== undefined && added.length > 0

/** No change of it allows more. */
export const harmless: Meaning = { allowsMore: () => false }

/** Every change of it decides about funds or rights. */
export const decisive: Meaning = { allowsMore: () => true }

/** It is part of what the object is. */
export const identity: Meaning = { ...harmless, identifies: true }

/** An upper limit: a higher one, or none, allows more. */
export const upperLimit: Meaning = {
  allowsMore: ({ before, after }) => before !== undefined && (after === undefined || isGreater(after, before))
}

/** A lower limit: a lower one allows more. */
export const lowerLimit: Meaning = {
  allowsMore: ({ before, after }) => after !== undefined && (before === undefined || isGreater(before, after))
}

/** Whether the object rests: to resume it allows more. */
export const pause: Meaning = { allowsMore: ({ before, after }) => before === "true" && after === "false" }

/** Whether something is kept from others: to give that up allows more. */
export const secrecy: Meaning = { allowsMore: ({ before, after }) => before === "true" && after !== "true" }

/** Who sees something, without a value the private ones: the normal ones are more. */
export const audience: Meaning = { allowsMore: ({ before, after }) => before !== "normal" && after === "normal" }

/** A list without an order, for people or about a chain. */
export const labels: Meaning = { ...harmless, as: "set" }

/** A list of what is allowed, without which everything is: a longer one, or none, allows more. */
export const onlyListed: Meaning = { as: "set", allowsMore: (change) => isMore(change) || isListGone(change) }

/** A list of what is allowed, without which nothing is: a longer one allows more. */
export const alsoListed: Meaning = { as: "set", allowsMore: (change) => isMore(change) || isListNew(change) }

/** A list of what is allowed, without which only a few things are: a longer one, a new one, and none are marked. */
export const besidesListed: Meaning = {
  as: "set",
  allowsMore: (change) => isMore(change) || isListGone(change) || isListNew(change)
}

/** The tokens that users may pay with. */
export const payableTokens: Meaning = { ...besidesListed, as: "tokens" }

/** An entry of a list of tokens: a new one allows more. */
export const tokenEntry: Meaning = { allowsMore: ({ before }) => before === undefined }

/** A list of what is forbidden: a shorter one, or none, allows more. */
export const exceptListed: Meaning = {
  as: "set",
  allowsMore: (change) => isListGone(change) || (change.removed !== undefined && change.removed.length > 0)
}

/** The RPC URLs that are believed. A URL with another host is marked. */
export const providerUrls: Meaning = { ...harmless, as: "providers" }

/** A URL that gets the data of the service, and may contain a key. */
export const receiverUrl: Meaning = { ...decisive, as: "url" }
