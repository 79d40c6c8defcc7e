// A fault, the promise that the service keeps under it, and the result of a run.
import type { Duration, Effect, Scope } from "effect"
import type { Random } from "./Random.ts"

export interface Case {
  readonly name: string
  /** Holds at whatever moment the fault happens. */
  readonly promise: string
  /** Whether `--short` runs it too, with fewer faults. */
  readonly isShort?: true
  /** The names that `--part` chooses from. Absent if the case runs as a whole. */
  readonly parts?: ReadonlyArray<string>
  /** How long the case may take, if it is longer than what others may. */
  readonly patience?: Duration.Input
  readonly run: (context: Context) => Effect.Effect<void, never, Scope.Scope>
}

export interface Context {
  readonly random: Random
  readonly tally: Tally
  /** Whether the part with this name is to run, in a case that has parts. */
  readonly isChosen: (part: string) => boolean
  /** The first value, or the second with `--short`. */
  readonly amount: <A>(full: A, short: A) => A
}

/** The counts of a case, and its broken promises. */
export class Tally {
  readonly #counts = new Map<string, number | string>()
  readonly broken: Array<string> = []
  skipped: string | undefined

  add(name: string, count = 1): void {
    this.#counts.set(name, Number(this.#counts.get(name) ?? 0) + count)
  }

  set(name: string, value: number | string): void {
    this.#counts.set(name, value)
  }

  /** Keeps the largest value of a name. */
  max(name: string, value: number): void {
    this.#counts.set(name, Math.max(Number(this.#counts.get(name) ?? 0), Math.round(value)))
  }

  expect(holds: boolean, promise: string): void {
    if (!holds) this.broken.push(promise)
  }

  get text(): string {
    return [...this.#counts]
      .map(([name, value]) => `${name} ${typeof value === "number" ? value.toLocaleString("en") : value}`)
      .join(", ")
  }
}
