// Why a configuration is not planned or applied.
import { Schema } from "effect"
import * as Shown from "../request/Shown.ts"
import type { Violation } from "../request/Violations.ts"

/** Lines that an answer has. A caller that solves them sees the others. */
const maxLines = 50

/** The service cannot become what the document says. */
export class PlanRefused extends Schema.TaggedError<PlanRefused>()("PlanRefused", {
  /** One line for each reason, with the path. */
  error: Shown.Words
}) {
  override readonly message = this.error

  static of(violations: ReadonlyArray<Violation>): PlanRefused {
    const lines = violations.slice(0, maxLines).map(({ field, message }) => `${field}: ${message}`)
    const more = violations.length - lines.length
    return new PlanRefused({ error: [...lines, ...(more > 0 ? [`and ${more} more`] : [])].join("\n") })
  }
}
