// Texts of responses that are one of a list, such as codes and types of events. A later version of the service may add to the
// list, so readers accept every text.
import { Schema } from "effect"
import * as Shown from "./Shown.ts"

/** Values that are generated for tests look like those of the lists. */
const Later = Shown.shaped(/^[a-z]{2,12}([._][a-z]{2,12}){0,3}$/)

/** The document and the typed clients show the list; every text is accepted. */
export const openList = <const Values extends ReadonlyArray<string>>(known: Schema.Literals<Values>) =>
  Schema.Union([known, Later])

/** The entry of a value of an open list in a table of the known ones. Undefined: the table has no entry for it. */
export const entryOf = <A>(table: Readonly<Record<string, A | undefined>>, value: string): A | undefined =>
  Object.hasOwn(table, value) ? table[value] : undefined
