// A plan: what an apply does to each object, and how many objects it creates, changes, deletes and leaves alone.
import type { Change } from "./Comparison.ts"
import type { Kind } from "./Kinds.ts"

/** `keep`: not in the document, and not deleted. `none`: equal. */
export type Action = "create" | "adopt" | "update" | "replace" | "delete" | "keep" | "none"

export interface Step {
  readonly kind: Kind
  readonly id: string
  readonly action: Action
  readonly changes: ReadonlyArray<Change>
  /** Describes a new object in parts, such as its network and its signer. */
  readonly summary?: ReadonlyArray<string>
  /** Why the object is kept, or what the deletion does. */
  readonly reason?: string
  /** When and by which caller the object was changed outside of the file, as far as the audit log says. */
  readonly drift?: Drift
  readonly isWarning: boolean
}

export interface Drift {
  /** In ISO 8601. */
  readonly at?: string
  readonly by?: string
}

export interface Plan {
  readonly name: string
  /** In the order of execution: creations and updates, parents first; then deletions, in the reverse order. */
  readonly steps: ReadonlyArray<Step>
}

/** Whether the step changes the object itself. A step that only sets the owner does not. */
const isChange = ({ action, changes }: Step): boolean =>
  action !== "none" && action !== "keep" && (action !== "adopt" || changes.length > 0)

/** How many objects a plan creates, changes, deletes and leaves alone. */
export const countsOf = ({ steps }: Plan) => {
  const count = (...actions: ReadonlyArray<Action>) =>
    steps.filter((step) => isChange(step) && actions.includes(step.action)).length
  return {
    create: count("create"),
    change: count("adopt", "update", "replace"),
    delete: count("delete"),
    unchanged: steps.filter((step) => !isChange(step)).length
  }
}

export const hasChanges = ({ steps }: Plan): boolean => steps.some(isChange)
