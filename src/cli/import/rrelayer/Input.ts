// What the parts of an import of rrelayer share.
import type * as Imported from "../Imported.ts"

export interface Options {
  readonly keepPausedState: boolean
  /** Environment variables of this machine. They are only compared with the list, and never written. */
  readonly variables: Readonly<Record<string, string | undefined>>
}

export interface Input extends Imported.Context, Options {
  /** Names that the document uses once per thing, such as a variable per public key, with what each stands for. */
  readonly names: Map<string, string>
}
