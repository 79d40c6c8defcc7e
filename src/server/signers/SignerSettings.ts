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

/** The characters that end a part of a name. A colon is a part of the names of some projects of Google, and of URLs. */
const separatorsOf = (name: string) => (name.startsWith("arn:") ? [":", "/"] : ["/"])

/** Whether `container` is `name`, or contains it: `arn:a` contains `arn:a:b` and `arn:a/b`, but not `arn:ab`. */
const contains = (container: string, name: string) => {
  const separators = separatorsOf(name)
  return (
    name === container ||
    (name.startsWith(container) &&
      (separators.some((separator) => container.endsWith(separator)) ||
        separators.includes(name.charAt(container.length))))
  )
}

/** Whether `SignerSettings.keys` lets signers use a key. */
export const isAllowed = (entries: ReadonlyArray<string> | undefined, key: string): boolean =>
  entries === undefined || entries.some((entry) => contains(entry, key))

/** Whether a key may be allowed of whose name only the first parts are known. They are empty if nothing is known. */
export const mayBeAllowed = (entries: ReadonlyArray<string> | undefined, firstParts: string): boolean =>
  isAllowed(entries, firstParts) || (entries ?? []).some((entry) => firstParts === "" || contains(firstParts, entry))
