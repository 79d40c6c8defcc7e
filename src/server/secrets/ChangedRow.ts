// Recognizes that an effect died because a row was changed in the database, outside of the service.
import type { Cause } from "effect"
import { SecretUnreadable } from "./Keyring.ts"
import { RowChanged } from "./RowMacs.ts"

export type ChangedRow = SecretUnreadable | RowChanged

export const inCause = ({ reasons }: Cause.Cause<unknown>): ChangedRow | undefined => {
  for (const reason of reasons) {
    if (reason._tag !== "Die") continue
    const { defect } = reason
    if (defect instanceof SecretUnreadable || defect instanceof RowChanged) return defect
  }
  return undefined
}
