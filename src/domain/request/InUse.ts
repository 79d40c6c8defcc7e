// The error text of a delete that is refused because the resource is in use.
import { hasScope, mayUseRelayer } from "../access/Caller.ts"
import type { Caller } from "../access/Caller.ts"

/** At most this many users are named. */
export const maxNamed = 10

type Kind = "relayers" | "networks"

const maySee = (caller: Caller, kind: Kind, id: string): boolean =>
  hasScope(caller, `${kind}:read`) && (kind !== "relayers" || mayUseRelayer(caller, id))

/**
 * Such as `used by relayers: a, b`. Only users that the caller may read are named. With more than `maxNamed` users, it ends in
 * `and more`.
 */
export const usedBy = (caller: Caller, kind: Kind, ids: ReadonlyArray<string>): string => {
  const visible = ids.filter((id) => maySee(caller, kind, id))
  const named = visible.slice(0, maxNamed).join(", ")
  if (visible.length === 0) return `used by ${kind} that this API key may not read`
  if (visible.length < ids.length) return `used by ${kind}: ${named}, and others that this API key may not read`
  return `used by ${kind}: ${named}${ids.length > maxNamed ? ", and more" : ""}`
}
