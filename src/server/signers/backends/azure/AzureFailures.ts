// The failures of a key in Azure.
import * as Failures from "../remote/Failures.ts"

export const failures = Failures.make({
  forbidden: ["config.vault_url", "the service may not call this address"],
  unreachable: ["config.vault_url", "Azure does not answer"],
  unexpected: ["config.vault_url", "does not answer as Azure does"],
  login: ["config.auth_type", "Azure refuses the login"],
  refused: ["config.key_name", "Azure does not let this identity use the key (get and sign)"],
  not_found: ["config.key_name", "Azure has no such key"],
  bad_key: ["config.key_name", "Azure has no usable key there"],
  mismatch: ["config.key_name", "is not the key that the signer was created with"],
  curve: ["config.key_name", "the key in Azure is not on this curve"],
  throttled: ["config.vault_url", "Azure accepts no more requests now"],
  pending: ["config.key_name", "the signature waits in Azure"]
})

export const { fields, unavailable } = failures
