// The text of a search: what of it is searched for, and what it may be.
import { longestSearch, termsOf } from "../../../src/domain/search/Search.ts"

export interface Wanted {
  /** Empty: there is nothing to search for. */
  readonly text: string
  /** Whether the given text is longer than the service searches for. */
  readonly isCut: boolean
}

/** Pasted text may contain line breaks and other control characters, which no id has. */
const cleaned = (given: string): string => given.replace(/\p{Cc}+/gu, " ").trim()

/** Characters are code points, as the service counts them. */
export const wantedOf = (given: string): Wanted => {
  const characters = [...cleaned(given)]
  return { text: characters.slice(0, longestSearch).join("").trim(), isCut: characters.length > longestSearch }
}

/** The page of the search. The address keeps one character more than is searched for, so that the page says that text was cut. */
export const searchHref = (given: string): string =>
  `/console/search?q=${encodeURIComponent([...cleaned(given)].slice(0, longestSearch + 1).join(""))}`

export type SearchForm = "exact" | "uuid" | "hash" | "address" | "place"

/** What the text may be. */
export const formsOf = (text: string): ReadonlyArray<SearchForm> => {
  const { uuid, hashes, address, place } = termsOf(text)
  return [
    ...(uuid === undefined ? [] : ["uuid" as const]),
    ...(hashes.length === 0 ? [] : ["hash" as const]),
    ...(address === undefined ? [] : ["address" as const]),
    ...(place === undefined ? [] : ["place" as const]),
    "exact"
  ]
}

const hexadecimal = /^(0x)?[0-9a-f]+$/

/** Whether the text is a signature or an address in which upper and lower case are different characters. */
export const isCaseSensitive = (text: string): boolean => {
  const { hashes, address } = termsOf(text)
  return [...hashes, ...(address === undefined ? [] : [address])].some((wanted) => !hexadecimal.test(wanted))
}
