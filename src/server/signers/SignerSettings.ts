// What the operator decides about signers. A value for all instances.
import { Context } from "effect"

export interface SignerSettings {
  /**
   * Names of keys, or of what contains them, that signers may use by a login of the service itself: ARNs, resources of Google,
   * URLs of vaults. Absent: all that the login allows.
   */
  readonly keys?: ReadonlyArray<string>
}

export const SignerSettings = Context.Reference<SignerSettings>("effect-relayer/server/signers/SignerSettings", {
  defaultValue: () => ({})
})
