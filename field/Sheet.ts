// The cases of one node: what was expected of the service, and what was seen.
import { Cause, Console, Effect, Exit } from "effect"
import type { Scope } from "effect"

export interface Row {
  readonly name: string
  readonly expected: string
  readonly seen: string
}

export const holds = ({ expected, seen }: Row): boolean => expected === seen

/** Characters of an error that a row shows. The whole of it is printed. */
const shownError = 200

export class Sheet {
  readonly rows: Array<Row> = []

  /**
   * Runs a case and writes its row. `see` describes what happened in the words of `expected` if all was well. A case that fails is
   * a row as well, so that the later ones run.
   */
  readonly check = Effect.fnUntraced(function* (
    this: Sheet,
    name: string,
    expected: string,
    see: Effect.Effect<string, never, Scope.Scope>
  ) {
    const exit = yield* Effect.exit(Effect.scoped(see))
    if (Exit.isFailure(exit)) yield* Console.log(Cause.pretty(exit.cause))
    const seen = Exit.isSuccess(exit)
      ? exit.value
      : `the case ended: ${Cause.pretty(exit.cause).replaceAll(/\s+/g, " ").slice(0, shownError)}`
    const row: Row = { name, expected, seen }
    this.rows.push(row)
    yield* Console.log(
      holds(row) ? `  as expected: ${name}` : `  DIFFERS: ${name}\n    expected: ${expected}\n    seen: ${seen}`
    )
  })

  /** Writes a row for a case that this node cannot have. */
  leaveOut(name: string, why: string): void {
    this.rows.push({ name, expected: why, seen: why })
  }
}
