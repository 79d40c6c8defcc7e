// A change as the audit log stores it: the resource is JSON text, and the origin is known.
import { Schema } from "effect"
import type { KnownAction, Change } from "../../domain/audit/Change.ts"
import type { Origin } from "../responses/Origin.ts"

export interface EncodedChange<A extends KnownAction = KnownAction> {
  readonly action: A
  readonly id: string
  /** JSON text. Absent if the resource was created. */
  readonly before?: string
  /** JSON text. Absent if the resource was deleted. */
  readonly after?: string
  readonly origin: Origin
}

/** `JSON.stringify` keeps the digits of amounts: they are encoded as raw JSON numbers. */
const textOf = <S extends Schema.ConstraintEncoder<unknown>>(schema: S, value: S["Type"] | undefined) =>
  value === undefined ? undefined : JSON.stringify(Schema.encodeSync(schema)(value))

export const encode = <A extends KnownAction, S extends Schema.ConstraintEncoder<unknown>>(
  change: Change<S> & { readonly action: A },
  origin: Origin
): EncodedChange<A> => {
  const before = textOf(change.schema, change.before)
  const after = textOf(change.schema, change.after)
  return {
    action: change.action,
    id: change.id,
    ...(before === undefined ? {} : { before }),
    ...(after === undefined ? {} : { after }),
    origin
  }
}

/** The resource after the change, or before it if it was deleted. */
export const resourceText = ({ before, after }: EncodedChange): string => after ?? before ?? "null"
