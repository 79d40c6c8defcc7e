// The key of the configuration. Its holder, the administrator, may do everything.
import { Schema } from "effect"

/** Characters. A key of 32 random hexadecimal digits has 128 bits. */
export const minAdministratorKeyLength = 32

export const isAdministratorKey = (text: string): boolean => text.length >= minAdministratorKeyLength

/** A host program gave `Services.layer` an administrator's key that is too short. */
export class AdministratorKeyTooShort extends Schema.TaggedError<AdministratorKeyTooShort>()(
  "AdministratorKeyTooShort",
  {}
) {
  override readonly message = `administratorKey: expected at least ${minAdministratorKeyLength} characters; generate one with openssl rand -hex 32`
}
