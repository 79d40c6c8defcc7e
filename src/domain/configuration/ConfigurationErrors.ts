// Why a configuration is not planned or applied.
import { Schema } from "effect"
import * as Shown from "../request/Shown.ts"
import type { Violation } from "../request/Violations.ts"

/** Lines that an answer has. A caller that solves them sees the others. */
const maxLines = 50

const lines = (violations: ReadonlyArray<Violation>): string => {
  const shown = violations.slice(0, maxLines).map(({ field, message }) => `${field}: ${message}`)
  const more = violations.length - shown.length
  return [...shown, ...(more > 0 ? [`and ${more} more`] : [])].join("\n")
}

/** The service cannot become what the document says. */
export class PlanRefused extends Schema.TaggedError<PlanRefused>()("PlanRefused", {
  /** One line for each reason, with the path. */
  error: Shown.Words
}) {
  override readonly message = this.error

  static of(violations: ReadonlyArray<Violation>): PlanRefused {
    return new PlanRefused({ error: lines(violations) })
  }
}

/** The plan is not that of the document, or the service has changed since it was made. */
export class PlanOutdated extends Schema.TaggedError<PlanOutdated>()("PlanOutdated", {
  /** One line for each object that has changed. */
  error: Shown.Words
}) {
  override readonly message = this.error

  static of(violations: ReadonlyArray<Violation>): PlanOutdated {
    return new PlanOutdated({ error: lines(violations) })
  }
}

/** Another apply of the configuration runs. */
export class ApplyRunning extends Schema.TaggedError<ApplyRunning>()("ApplyRunning", { error: Shown.Words }) {
  override readonly message = this.error
}

export class ConfigurationNotFound extends Schema.TaggedError<ConfigurationNotFound>()("ConfigurationNotFound", {}) {
  override readonly message = "no configuration of this name was applied"
}
