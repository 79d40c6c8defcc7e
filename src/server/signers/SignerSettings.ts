// The operator's settings for signers, with what the machine provides for the login to Azure.
import { Context, Effect } from "effect"
import type { Redacted } from "effect"

// What the machine of the service provides for the login to Azure. Only the operator can change it, not a request.

export interface AzureEnvironment {
  /** The metadata server of virtual machines and of the nodes of AKS. */
  readonly metadataUrl: string
  /** The identity endpoint of App Service and Container Apps, which replaces the metadata server. */
  readonly identityEndpoint?: { readonly url: string; readonly header: Redacted.Redacted }
  /** For workload identities whose requests have no `tenant_id` and `client_id`. */
  readonly tenantId?: string
  readonly clientId?: string
  /** Reads a token file. If `path` is undefined, it is the file that the operator names. Fails with the problem. */
  tokenFile(path: Redacted.Redacted | undefined): Effect.Effect<Redacted.Redacted, string>
}

/** A link-local address, which is the same in every cloud of Azure. */
export const azureMetadataUrl = "http://169.254.169.254"

export const noAzureEnvironment: AzureEnvironment = {
  metadataUrl: azureMetadataUrl,
  tokenFile: () => Effect.fail("the service reads no token files")
}

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
