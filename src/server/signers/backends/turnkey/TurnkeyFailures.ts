// The failures of a key in Turnkey.
import * as Failures from "../remote/Failures.ts"

export const failures = Failures.make({
  forbidden: ["config", "the service may not call the address of Turnkey"],
  unreachable: ["config", "Turnkey does not answer"],
  unexpected: ["config", "the service cannot interpret the answer of Turnkey"],
  login: ["config.api_public_key", "Turnkey refuses the API key"],
  refused: ["config.private_key_id", "Turnkey refuses the signature: the policies of the organization do not allow it"],
  not_found: ["config.private_key_id", "Turnkey has no such key"],
  bad_key: ["config.private_key_id", "Turnkey cannot sign with this key: it does not exist, or is on another curve"],
  mismatch: ["config.public_key", "is not the public key of the key in Turnkey"],
  curve: ["config.public_key", "the key in Turnkey is not on this curve"],
  throttled: ["config", "Turnkey accepts no more requests now"],
  pending: ["config.private_key_id", "Turnkey waits for the approval of the signature"]
})

export const { fields, unavailable } = failures
