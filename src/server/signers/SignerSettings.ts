// What the operator decides about signers. A value for all instances.
import { Context } from "effect"
import type { AzureEnvironment } from "./backends/azure/AzureEnvironment.ts"

export interface SignerSettings {
  /**
   * Names of keys, or of what contains them, that signers may use by a login of the service itself: ARNs, resources of Google,
   * URLs of vaults. Absent: all that the login allows.
   */
  readonly keys?: ReadonlyArray<string>
  /** What the machine provides for the login to Azure. Absent: its metadata server. */
  readonly azure?: AzureEnvironment
  /** Paths of the libraries of PKCS#11 modules, by the name that signers give. Absent: there are none. */
  readonly pkcs11Modules?: ReadonlyMap<string, string>
}

export const SignerSettings = Context.Reference<SignerSettings>("effect-relayer/server/signers/SignerSettings", {
  defaultValue: () => ({})
})
