// What an import could not carry over, or carried over with another meaning.

/**
 * `note`: carried with a difference. `dropped`: has no counterpart. `needs`: something has to be done outside of the file.
 * `invalid`: the old service or this one refuses it.
 */
export type Code = "note" | "dropped" | "needs" | "invalid"

export interface Entry {
  /** Path in the input, such as `relayers.0.policies`. */
  readonly at: string
  readonly code: Code
  readonly message: string
}

export interface Report {
  readonly entries: ReadonlyArray<Entry>
  /** A second entry of the same place and code is not added. */
  readonly add: (at: string, code: Code, message: string) => void
  /** Reports a field that the old service refuses, and with it the object that has it. */
  readonly refuse: (at: string, message: string) => void
  /** Whether a field of the object at the place is refused. */
  readonly isRefused: (at: string) => boolean
}

export const make = (): Report => {
  const entries: Array<Entry> = []
  const seen = new Set<string>()
  const refused: Array<string> = []
  const add = (at: string, code: Code, message: string) => {
    const key = JSON.stringify([at, code])
    if (seen.has(key)) return
    seen.add(key)
    entries.push({ at, code, message })
  }
  return {
    entries,
    add,
    refuse: (at, message) => {
      refused.push(at)
      add(at, "invalid", message)
    },
    isRefused: (at) => refused.some((field) => field.startsWith(`${at}.`))
  }
}
