// The failures of a key in Google Cloud KMS.
import * as Failures from "../remote/Failures.ts"

export const failures = Failures.make({
  forbidden: ["config.key", "the service may not call the address of Google"],
  unreachable: ["config.key", "Google does not answer"],
  unexpected: ["config.key", "Google does not answer as Cloud KMS does"],
  login: ["config.service_account", "Google refuses the login"],
  refused: [
    "config.key",
    "Google does not let this account use the key (cloudkms.cryptoKeyVersions.useToSign, .viewPublicKey)"
  ],
  not_found: ["config.key", "Google has no such key version"],
  bad_key: ["config.key", "Google has no usable key there: it is disabled, destroyed, or has another algorithm"],
  mismatch: ["config.key", "is not the key that the signer was created with"],
  curve: ["config.key", "the key in Google is not on this curve"],
  throttled: ["config.key", "Google accepts no more requests now"],
  pending: ["config.key", "Google is still generating the key; try again in a few minutes"]
})

export const { fields, unavailable } = failures
