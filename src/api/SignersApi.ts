// The endpoints of signers: create, list, read, verify, replace the login, delete. The key of a signer does not change, and no secret is
// ever returned.
import { Schema } from "effect"
import { CreateSigner, ReplaceSignerCredentials } from "../domain/signer/CreateSigner.ts"
import * as Endpoint from "./Endpoint.ts"
import * as Envelope from "./Envelope.ts"
import { Idempotency, RequestBody } from "./Middleware.ts"
import { PageQuery } from "../domain/request/Page.ts"
import { Signer, SignerId, Verification } from "../domain/signer/Signer.ts"
import * as Errors from "./Errors.ts"
import * as Json from "./Json.ts"

const params = Schema.Struct({ signer_id: SignerId })

export class SignersApi extends Endpoint.group(
  "signers",
  "/api/v1/signers",
  {
    title: "Signers",
    description: "Private keys, or references to them, that relayers sign with."
  },
  Endpoint.post("create", "/", {
    scope: "signers:write",
    summary: "Create a signer",
    description:
      "`plain` stores the given 32-byte key, or generates one if `config.key` is left out. `local` stores the key of a keystore (Web3 Secret Storage version 3). `vault` reads the key from the key-value store of HashiCorp Vault for each use. `vault_transit` signs in Vault with an ed25519 key that never leaves it. `aws_kms` signs in AWS KMS with a key that never leaves it; its curve is found when the signer is created. `google_cloud_kms` does the same in Google Cloud KMS, with a service account or the login of the environment. `azure_key_vault` signs for evm in Azure Key Vault or Managed HSM. `turnkey` signs in Turnkey, whose policies may refuse a signature or wait for an approval. Secrets are encrypted at rest and never returned.",
    through: [Idempotency, RequestBody],
    payload: Json.body(CreateSigner),
    success: Envelope.created(Signer),
    error: [Errors.SignerIdTakenError, Errors.SignerKeyTakenError]
  }),
  Endpoint.get("list", "/", {
    scope: "signers:read",
    summary: "List signers",
    description: "In creation order.",
    query: PageQuery,
    success: Envelope.pageOf(Signer)
  }),
  Endpoint.get("get", "/:signer_id", {
    scope: "signers:read",
    summary: "Get a signer",
    description: "Secrets are not returned.",
    params,
    success: Envelope.of(Signer),
    error: Errors.SignerNotFoundError
  }),
  Endpoint.remove("delete", "/:signer_id", {
    scope: "signers:write",
    summary: "Delete a signer",
    description: "Refused while relayers use it; `error` names them. A stored key is lost forever.",
    params,
    success: Envelope.deleted("Signer deleted successfully"),
    error: [Errors.SignerNotFoundError, Errors.SignerInUseError]
  }),
  Endpoint.put("replaceCredentials", "/:signer_id/credentials", {
    scope: "signers:write",
    summary: "Replace the login of a signer",
    description:
      "For a login that was rotated: another secret id of Vault, client secret of Azure, PIN, service account or API key. The body has the type and the whole configuration, as at the creation. The service reads the public key with the new login, which must be the key of the signer, and verifies a probe. If that fails, the response is 400 and the signer keeps its login. Otherwise the next signature uses the new one. Signers of type `plain`, `local` and `aws_kms` have no login. A key with `transaction_limits` may not replace it.",
    through: [RequestBody],
    params,
    payload: Json.body(ReplaceSignerCredentials),
    success: Envelope.of(Signer),
    error: [Errors.SignerNotFoundError, Errors.TransactionLimitExceededError]
  }),
  Endpoint.post("verify", "/:signer_id/verify", {
    scope: "signers:write",
    summary: "Verify a signer",
    description:
      "Tests each curve of the signer: reads the public key, which must match the addresses, signs random data, and verifies the signature. A failed step also answers 200: see `verified` and `steps`. If a key service has another key than `public_key`, the signer is disabled; a later verification that succeeds enables it.",
    through: [Idempotency],
    params,
    success: Envelope.of(Verification),
    error: Errors.SignerNotFoundError
  })
) {}
