// What the machine of the service provides for the login to Azure. Only the operator can change it, not a request.
import { Effect } from "effect"
import type { Redacted } from "effect"

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
export const metadataUrl = "http://169.254.169.254"

export const none: AzureEnvironment = {
  metadataUrl,
  tokenFile: () => Effect.fail("the service reads no token files")
}
