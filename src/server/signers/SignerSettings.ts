// The operator's settings for signers.
import { Context } from "effect"
import type { AzureEnvironment } from "./backends/azure/AzureEnvironment.ts"

export interface SignerSettings {
  /**
   * The keys that signers may use with the service's own login. An entry is the ARN, resource name or URL of a key, or of a
   * container of keys such as a vault. If absent, signers may use all keys that the login allows.
   */
  readonly keys?: ReadonlyArray<string>
  /** What the machine provides for the login to Azure. If absent, the service uses the metadata server. */
  readonly azure?: AzureEnvironment
  /** Paths of the libraries of PKCS#11 modules, by the name that signers give. If absent, there are no modules. */
  readonly pkcs11Modules?: ReadonlyMap<string, string>
}

export const SignerSettings = Context.Reference<SignerSettings>("effect-relayer/server/signers/SignerSettings", {
  defaultValue: () => ({})
})
